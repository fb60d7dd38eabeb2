import { operationDocuments } from "../../generated/operation-documents.ts";
import { from, group, key, type Probe } from "./probe.ts";

/** With both tokens; the SDK uses the workspace's only. */
export const exchange = `mutation ExchangeApiKey($refreshToken: String!, $expiresInSeconds: Int) {
  exchangeSurfaceRefreshTokenForAccessTokens(
    refreshToken: $refreshToken
    expiresInSeconds: $expiresInSeconds
  ) {
    userToken
    workspaceToken
  }
}`;
const me = operationDocuments.Me.text;
const whoAmI = "{ me { __typename } }";
const tokens = "exchangeSurfaceRefreshTokenForAccessTokens";

const exchangeOf = (sends: string, refreshToken: Parameters<typeof key>[0], expiresInSeconds?: number) => ({
  sends,
  request: {
    document: expiresInSeconds === undefined ? exchange : operationDocuments.ExchangeApiKey.text,
    variables: {
      refreshToken: key(refreshToken),
      ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    },
  },
});

/** Lifetime of the token whose end is awaited. */
export const shortLifetimeSeconds = 3;

const exchanges = group(
  "exchange",
  { permission: "read", router: "base", token: "none" },
  {
    default: { ...exchangeOf("the exchange of the administrator's key, without a Bearer token", "admin") },
    shorter: { ...exchangeOf("the exchange with expiresInSeconds 60", "admin", 60) },
    longer: { ...exchangeOf("the exchange with expiresInSeconds 86400", "admin", 86_400) },
    zero: { ...exchangeOf("the exchange with expiresInSeconds 0", "admin", 0) },
    negative: { ...exchangeOf("the exchange with expiresInSeconds -1", "admin", -1) },
    "wrong-key": { ...exchangeOf("the exchange of a key that was never issued", "wrong") },
    "revoked-key": { ...exchangeOf("the exchange of a revoked key", "revoked") },
    "expired-key": { ...exchangeOf("the exchange of an expired key", "expired") },
    "partner-key": { ...exchangeOf("the exchange of a partner key", "partner") },
  },
);

const expiry = group(
  "expiry",
  { permission: "read", router: "base", token: "none" },
  {
    exchange: exchangeOf(
      `the exchange with expiresInSeconds ${shortLifetimeSeconds}`,
      "admin",
      shortLifetimeSeconds,
    ),
    first: exchangeOf("an exchange", "admin"),
    again: exchangeOf("a second exchange of the same key", "admin"),
    before: {
      sends: "me with the first of two valid tokens",
      token: from("expiry.first", `${tokens}.workspaceToken`),
      request: { document: whoAmI },
    },
    after: {
      sends: "me with a token that expired 2 s ago",
      waitMs: (shortLifetimeSeconds + 2) * 1_000,
      token: from("expiry.exchange", `${tokens}.workspaceToken`),
      request: { document: whoAmI },
    },
    renewed: {
      sends: "me with the token of the second exchange",
      token: from("expiry.again", `${tokens}.workspaceToken`),
      request: { document: whoAmI },
    },
  },
);

const identity = group(
  "me",
  { permission: "read", router: "base", token: "reader" },
  {
    workspace: { sends: "me with a workspaceToken", request: { document: me } },
    user: { sends: "me with a userToken", token: "user", request: { document: me } },
    "no-token": { sends: "me without a token", token: "none", request: { document: whoAmI } },
    "invalid-token": {
      sends: "me with a token that was never issued",
      token: "invalid",
      request: { document: whoAmI },
    },
    "read-only": { sends: "me with a read-only key", token: "readOnly", request: { document: whoAmI } },
  },
);

export const identityProbes: readonly Probe[] = [...exchanges, ...expiry, ...identity];

const login = operationDocuments.LoginPartner.text;

export const gatewayProbes: readonly Probe[] = [
  ...group(
    "login",
    { permission: "read", router: "gateway", token: "none" },
    {
      default: {
        sends: "the partner's login",
        request: { document: login, variables: { token: key("partner") } },
      },
      "wrong-key": {
        sends: "the login with a key that was never issued",
        request: { document: login, variables: { token: key("wrong") } },
      },
      "workspace-key": {
        sends: "the login with a workspace's key",
        request: { document: login, variables: { token: key("admin") } },
      },
    },
  ),
  ...group(
    "gateway-me",
    { permission: "read", router: "gateway", token: "reader" },
    {
      workspace: { sends: "me on the gateway with a workspaceToken", request: { document: whoAmI } },
      platform: {
        sends: "me on the gateway with the header source-platform",
        headers: { "source-platform": "workspace-tasks" },
        request: { document: whoAmI },
      },
      partner: {
        sends: "me on the gateway with a partner's token",
        token: "partner",
        request: { document: me },
      },
      "no-token": {
        sends: "me on the gateway without a token",
        token: "none",
        request: { document: whoAmI },
      },
      catalog: {
        sends: "an operation of the base router on the gateway",
        request: { document: "{ webhookEventCatalog { name } }" },
      },
    },
  ),
];
