import { valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import {
  accepted,
  badInput,
  type Fact,
  forbidden,
  isNotAccepted,
  isRejected,
  outcomeOf,
  type Rule,
  rejected,
  rejectionOf,
  rule,
  sameOf,
  toErrorSetting,
  unauthenticated,
} from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import {
  type AskOptions,
  claimsOf,
  exchangeText,
  type KeyName,
  type Service,
  type ServiceResponse,
  type TokenName,
} from "../ask/service.ts";

const whoAmI = "{ me { __typename } }";
const me = (service: Service, options: AskOptions = {}) => service.graphql(whoAmI, {}, options);

/** Asks for both tokens. */
const exchange = (service: Service, name: KeyName | "wrong" = "admin", expiresInSeconds?: number) =>
  service.graphql(
    exchangeText,
    { refreshToken: service.key(name), ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }) },
    { token: "none" },
  );
const login = (service: Service, name: KeyName | "wrong" = "partner") =>
  service.operation("LoginPartner", { token: service.key(name) }, { token: "none" });

const issuedBy = ({ data }: ServiceResponse, name: string) => valueAt(Object.values(data ?? {})[0], name);

/** Seconds; unknown without a JWT that says it. */
function lifetimeOf(response: ServiceResponse, name: string): number | null {
  const { exp, iat = Math.round(response.timeMs / 1_000) } = claimsOf(issuedBy(response, name)) ?? {};
  return typeof exp === "number" && typeof iat === "number" ? Math.round(exp - iat) : null;
}

const lifetime = (
  title: string,
  seconds: number,
  ask: (service: Service) => Promise<ServiceResponse>,
  setting?: Rule["setting"],
  name = "workspaceToken",
): Rule =>
  rule(
    title,
    seconds,
    async (service) => {
      const found = lifetimeOf(accepted(await ask(service)), name);
      if (found === null) throw new Untestable("the token does not show when it expires");
      return found;
    },
    // Lifetimes that differ by rounding are equal.
    { agrees: (expected, found) => Math.abs(Number(expected) - Number(found)) <= 2, setting },
  );

/** A rule that `me` is accepted, with its type. */
const works = (title: string, type: string, ask: (service: Service) => Promise<ServiceResponse>): Rule =>
  rule(title, { outcome: "accepted", type }, async (service) => typeOf(await ask(service)));

const typeOf = (response: ServiceResponse): Fact => ({
  outcome: outcomeOf(response),
  type: response.errors.length > 0 ? null : String(valueAt(response.data, "me", "__typename") ?? null),
});

/** `me` with a token of an exchange; it may have expired while a slow or limited run went on. */
async function meInTime(service: Service, issued: ServiceResponse): Promise<Fact> {
  const bearer = issuedBy(issued, "workspaceToken");
  if (typeof bearer !== "string") throw new Untestable("there is no token");
  const response = await me(service, { token: { bearer } });
  const lifetimeMs = (lifetimeOf(issued, "workspaceToken") ?? 60) * 1_000;
  if (response.receivedTicks - issued.sentTicks > lifetimeMs)
    throw new Untestable("the token had expired by then");
  return typeOf(response);
}

const shortSeconds = 3;

/** A token that has expired, and one of a later exchange. */
const expiry = (service: Service) =>
  service.once("expiry", async () => {
    const short = await exchange(service, "admin", shortSeconds);
    const later = await exchange(service);
    await service.sender.wait((shortSeconds + 2) * 1_000, "for the end of a token");
    return { short, later };
  });

const expired = async (service: Service): Promise<Fact> => {
  const { short } = await expiry(service);
  const bearer = issuedBy(short, "workspaceToken");
  const seconds = lifetimeOf(short, "workspaceToken");
  if (typeof bearer !== "string" || seconds === null)
    throw new Untestable("the token does not show when it expires");
  const response = await me(service, { token: { bearer } });
  // A service that issues longer tokens than asked for shows nothing about expired ones.
  if (response.sentTicks - short.receivedTicks < seconds * 1_000)
    throw new Untestable("the service issued a longer token than asked for");
  return rejectionOf(response);
};

const wrongKey = unauthenticated("Invalid refresh token");
const wrongPartnerKey = unauthenticated("Invalid personal API token");

const onGateway =
  (token: TokenName, headers = {}) =>
  (service: Service) =>
    me(service, { router: "gateway", token, headers });

export const tokenRules: readonly Rule[] = [
  rule(
    "K1 A-36 tokens.exchange: the exchange needs no Bearer token and returns two JWTs that expire",
    { outcome: "accepted", kinds: ["jwt", "jwt"], expire: [true, true] },
    async (service) => {
      const response = await exchange(service);
      const tokens = ["userToken", "workspaceToken"].map((name) => issuedBy(response, name));
      return {
        outcome: outcomeOf(response),
        kinds: tokens.map((token) =>
          claimsOf(token) ? "jwt" : typeof token === "string" ? "opaque" : "none",
        ),
        expire: tokens.map((token) => claimsOf(token)?.["exp"] !== undefined),
      };
    },
    { keeps: sameOf("outcome") },
  ),
  rule(
    "K1 A-36 tokens.workspace-claim: a workspaceToken names its workspace in the claim workspaceId, a userToken does not",
    [true, false],
    async (service) => {
      const response = accepted(await exchange(service));
      return ["workspaceToken", "userToken"].map(
        (name) => claimsOf(issuedBy(response, name))?.["workspaceId"] !== undefined,
      );
    },
  ),
  lifetime("K2 tokens.lifetime: a token lives 180 s", 180, exchange, (found) =>
    Number(found) > 0 ? { tokenLifetimeSeconds: Number(found) } : null,
  ),
  // With the document of the SDK, too.
  lifetime("K2 tokens.shorter: expiresInSeconds shortens the life of a token", 60, (service) =>
    service.operation(
      "ExchangeApiKey",
      { refreshToken: service.key("admin"), expiresInSeconds: 60 },
      { token: "none" },
    ),
  ),
  lifetime("K2 tokens.clamped: a longer expiresInSeconds is clamped", 180, (service) =>
    exchange(service, "admin", 86_400),
  ),
  ...(
    [
      ["zero", 0],
      ["a negative", -1],
    ] as const
  ).map(([which, seconds]) =>
    rejected(
      `K2 A-2 tokens.${which.replace("a ", "")}-lifetime: ${which} expiresInSeconds is rejected`,
      badInput("expiresInSeconds must be at least 1"),
      (service) => exchange(service, "admin", seconds),
    ),
  ),
  rejected(
    "K4 A-3 A-21 tokens.partner-key: a partner's key is rejected by the exchange",
    wrongKey,
    (service) => exchange(service, "partner"),
  ),
  ...(
    [
      ["K4 A-3", "wrong"],
      ["K4 A-3 A-22", "revoked"],
      ["K5 A-3", "expired"],
    ] as const
  ).map(([from, key]) =>
    rejected(
      `${from} tokens.${key}-key: the exchange of a ${key} key is rejected`,
      wrongKey,
      (service) => exchange(service, key),
      { keeps: isRejected },
    ),
  ),
  rule(
    "K3 tokens.several: a token stays valid after a second exchange",
    { outcome: "accepted", type: "WorkspaceUser" },
    async (service) => {
      const first = await exchange(service);
      await exchange(service);
      return meInTime(service, first);
    },
  ),
  rule("K3 A-4 tokens.expired: an expired token is rejected", unauthenticated(), expired, {
    keeps: isNotAccepted,
    setting: toErrorSetting,
  }),
  rule(
    "K3 tokens.renewed: the token of a later exchange outlives that of an earlier one",
    { outcome: "accepted", type: "WorkspaceUser" },
    async (service) => meInTime(service, (await expiry(service)).later),
  ),
  rule(
    "K9 me.workspace: me is a WorkspaceUser for a workspaceToken",
    { outcome: "accepted", type: "WorkspaceUser" },
    async (service) => typeOf(await meWithRole(service)),
  ),
  works("K9 me.user: me is a User for a userToken", "User", (service) => me(service, { token: "user" })),
  works("K7 me.read-only: a read-only key may query", "WorkspaceUser", (service) =>
    me(service, { token: "readOnly" }),
  ),
  ...(["none", "invalid"] as const).map((token) =>
    rejected(
      `K9 A-4 me.${token === "none" ? "no" : token}-token: me ${token === "none" ? "without a token" : "with an invalid token"} is rejected`,
      unauthenticated(),
      (service) => me(service, { token }),
      { keeps: isNotAccepted },
    ),
  ),
  rule(
    "T5 A-4 errors.null-field: a field that fails is null, and its error has a path",
    { data: { me: null }, paths: [["me"]] },
    async (service) => {
      const { data, errors } = await me(service, { token: "none" });
      const isNull = JSON.stringify(data) === '{"me":null}';
      const paths = errors.map(({ path }) => (JSON.stringify(path) === '["me"]' ? ["me"] : "another"));
      return {
        data: isNull ? { me: null } : data === null ? null : data === undefined ? "absent" : "another",
        paths,
      };
    },
  ),
];

/** Who the key's user is, with the role. */
const meWithRole = (service: Service) =>
  service.graphql("{ me { __typename ... on WorkspaceUser { role } } }");

/** The role of the key's user in the workspace, as `me` says it. */
export async function roleOf(service: Service): Promise<string | null> {
  const role = valueAt((await meWithRole(service)).data, "me", "role");
  return typeof role === "string" ? role : null;
}

export const gatewayRules: readonly Rule[] = [
  rule(
    "P2 A-19 partner.login: the partner's login returns a JWT",
    { outcome: "accepted", kind: "jwt" },
    async (service) => {
      const response = await login(service);
      const kind = claimsOf(issuedBy(response, "accessToken")) ? "jwt" : "opaque";
      return { outcome: outcomeOf(response), kind };
    },
  ),
  lifetime("K2 A-19 partner.lifetime: a partner's token lives 180 s", 180, login, undefined, "accessToken"),
  rejected("P2 A-3 partner.wrong-key: the login with a wrong key is rejected", wrongPartnerKey, (service) =>
    login(service, "wrong"),
  ),
  rejected(
    "P2 A-3 A-19 partner.workspace-key: the login with a workspace's key is rejected",
    wrongPartnerKey,
    (service) => login(service, "admin"),
  ),
  rejected(
    "K9 A-4 gateway.no-token: the gateway rejects me without a token",
    unauthenticated(),
    onGateway("none"),
  ),
  works(
    "T2 A-19 A-21 A-1 gateway.workspace-token: the gateway takes a workspaceToken, and me is on both routers",
    "WorkspaceUser",
    onGateway("reader"),
  ),
  works(
    "T7 A-1 gateway.source-platform: the header source-platform is accepted",
    "WorkspaceUser",
    onGateway("reader", { "source-platform": "workspace-tasks" }),
  ),
  works("K9 A-19 gateway.partner-token: me is a User for a partner's token", "User", (service) =>
    service.operation("Me", {}, { router: "gateway", token: "partner" }),
  ),
  rule(
    "T2 A-21 gateway.base-operation: operations of the base router do not exist on the gateway",
    "rejected with GRAPHQL_VALIDATION_FAILED",
    async (service) =>
      outcomeOf(await service.graphql("{ webhookEventCatalog { name } }", {}, { router: "gateway" })),
  ),
];

/**
 * Asks what a key may have no permission for. When another request is rejected for that reason, the key may do none of them.
 * @throws Untestable without the permission
 */
export async function requirePermission(service: Service, base: ServiceResponse): Promise<void> {
  const [error] = base.errors;
  if (error?.code !== forbidden.code && error?.message !== forbidden.message) return;
  const role = await roleOf(service);
  throw new Untestable(
    role === null || role === "admin"
      ? "the key may not do this: a read_only key belongs into WORKSPACE_TASKS_READ_ONLY_API_KEY"
      : `the key may not do this: its user has the role ${role}`,
  );
}
