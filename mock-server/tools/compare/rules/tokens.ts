import { valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import {
  type Ask,
  accepted,
  badInput,
  type Fact,
  forbidden,
  isNotAccepted,
  isRejected,
  type Options,
  outcomeOf,
  type Rule,
  rejectionOf,
  rejections,
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

const me = (service: Service, options: AskOptions = {}) =>
  service.graphql("{ me { __typename } }", {}, options);
/** Who the key's user is, with the role. */
const meWithRole = (service: Service) =>
  service.graphql("{ me { __typename ... on WorkspaceUser { role } } }");

/** Asks for both tokens. */
const exchange = (service: Service, name: KeyName | "wrong" = "admin", expiresInSeconds?: number) =>
  service.graphql(exchangeText, { refreshToken: service.key(name), expiresInSeconds }, { token: "none" });
const login = (service: Service, name: KeyName | "wrong" = "partner") =>
  service.operation("LoginPartner", { token: service.key(name) }, { token: "none" });

const issuedBy = ({ data }: ServiceResponse, name: string) => valueAt(Object.values(data ?? {})[0], name);

/** Seconds. @throws Untestable without a JWT that says it */
function lifetimeOf(response: ServiceResponse, name = "workspaceToken"): number {
  const { exp, iat } = claimsOf(issuedBy(response, name)) ?? {};
  if (typeof exp === "number" && typeof iat === "number") return Math.round(exp - iat);
  throw new Untestable("the token does not show how long it lives");
}

type LifetimeRow = readonly [title: string, seconds: number, ask: Ask, setting?: Rule["setting"]];
const lifetimes = (name: string, rows: readonly LifetimeRow[]): readonly Rule[] =>
  rows.map(([title, seconds, ask, setting]) =>
    rule(title, seconds, async (service) => lifetimeOf(accepted(await ask(service)), name), {
      // Lifetimes that differ by rounding are equal.
      agrees: (expected, found) => Math.abs(Number(expected) - Number(found)) <= 2,
      setting,
    }),
  );

/** Rules that `me` is accepted, with its type. */
const typeRules = (rows: readonly (readonly [title: string, type: string, ask: Ask])[]): readonly Rule[] =>
  rows.map(([title, type, ask]) => rule(title, type, async (service) => typeOf(await ask(service))));

const typeOf = (response: ServiceResponse): string =>
  response.errors.length > 0 || response.body !== "graphql"
    ? outcomeOf(response)
    : String(valueAt(response.data, "me", "__typename") ?? null);

/** `me` with the token of an exchange. */
async function meWith(service: Service, issued: ServiceResponse): Promise<ServiceResponse> {
  const bearer = issuedBy(issued, "workspaceToken");
  if (typeof bearer !== "string") throw new Untestable("there is no token");
  return me(service, { token: { bearer } });
}

/** The same; the token may have expired while a slow or limited run went on. */
async function meInTime(service: Service, issued: ServiceResponse, askedAtTicks: number): Promise<Fact> {
  const type = typeOf(await meWith(service, issued));
  const usedMs = service.clock.monotonic() - askedAtTicks;
  if (type !== "WorkspaceUser" && usedMs > lifetimeOf(issued) * 1_000)
    throw new Untestable("the token had expired by then");
  return type;
}

const shortSeconds = 3;

/** A token that has expired, and one of a later exchange. */
const expiry = (service: Service) =>
  service.once("expiry", async () => {
    const short = await exchange(service, "admin", shortSeconds);
    const askedAtTicks = service.clock.monotonic();
    const later = await exchange(service);
    await service.sender.wait((shortSeconds + 2) * 1_000, "for the end of a token");
    return { short, later, askedAtTicks };
  });

const wrongKey = unauthenticated("Invalid refresh token");
const wrongPartnerKey = unauthenticated("Invalid personal API token");

export const tokenRules: readonly Rule[] = [
  rule(
    "K1 A-36 tokens.exchange: the exchange needs no Bearer token and returns two JWTs that expire",
    { outcome: "accepted", tokens: ["JWT that expires", "JWT that expires"] },
    async (service) => {
      const response = await exchange(service);
      const kindOf = (name: string) => {
        const claims = claimsOf(issuedBy(response, name));
        return claims ? `JWT that ${claims["exp"] === undefined ? "never expires" : "expires"}` : "no JWT";
      };
      return { outcome: outcomeOf(response), tokens: ["userToken", "workspaceToken"].map(kindOf) };
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
  ...lifetimes("workspaceToken", [
    [
      "K2 tokens.lifetime: a token lives 180 s",
      180,
      exchange,
      (found) => (Number(found) > 0 ? { tokenLifetimeSeconds: Number(found) } : null),
    ],
    [
      "K2 tokens.shorter: expiresInSeconds shortens the life of a token",
      60,
      // With the document of the SDK, too.
      (service) => {
        const variables = { refreshToken: service.key("admin"), expiresInSeconds: 60 };
        return service.operation("ExchangeApiKey", variables, { token: "none" });
      },
    ],
    ["K2 tokens.clamped: a longer expiresInSeconds is clamped", 180, (s) => exchange(s, "admin", 86_400)],
  ]),
  ...rejections(
    (["zero", "negative"] as const).map((which) => [
      `K2 A-2 tokens.${which}-lifetime: a ${which} expiresInSeconds`,
      badInput("expiresInSeconds must be at least 1"),
      (service) => exchange(service, "admin", which === "zero" ? 0 : -1),
    ]),
  ),
  ...rejections([
    [
      "K4 A-3 A-21 tokens.partner-key: a partner's key for the exchange",
      wrongKey,
      (s) => exchange(s, "partner"),
    ],
  ]),
  ...rejections(
    [
      ["K4 A-3 tokens.wrong-key: the exchange of a wrong key", wrongKey, (s) => exchange(s, "wrong")],
      [
        "K4 A-3 A-22 tokens.revoked-key: the exchange of a revoked key",
        wrongKey,
        (s) => exchange(s, "revoked"),
      ],
      ["K5 A-3 tokens.expired-key: the exchange of an expired key", wrongKey, (s) => exchange(s, "expired")],
    ],
    { keeps: isRejected },
  ),
  rule("K3 tokens.several: a token stays valid after a second exchange", "WorkspaceUser", async (service) => {
    const askedAtTicks = service.clock.monotonic();
    const first = await exchange(service);
    await exchange(service);
    return meInTime(service, first, askedAtTicks);
  }),
  rule(
    "K3 A-4 tokens.expired: an expired token is rejected",
    unauthenticated(),
    async (service) => {
      const { short } = await expiry(service);
      if (lifetimeOf(short) > shortSeconds + 1)
        throw new Untestable("the service issued a longer token than asked for");
      return rejectionOf(await meWith(service, short));
    },
    { keeps: isNotAccepted, setting: toErrorSetting },
  ),
  rule(
    "K3 tokens.renewed: the token of a later exchange outlives that of an earlier one",
    "WorkspaceUser",
    async (service) => {
      const { later, askedAtTicks } = await expiry(service);
      return meInTime(service, later, askedAtTicks);
    },
  ),
  ...typeRules([
    ["K9 me.workspace: me is a WorkspaceUser for a workspaceToken", "WorkspaceUser", meWithRole],
    ["K9 me.user: me is a User for a userToken", "User", (s) => me(s, { token: "user" })],
    ["K7 me.read-only: a read-only key may query", "WorkspaceUser", (s) => me(s, { token: "readOnly" })],
  ]),
  ...rejections(
    [
      ["K9 A-4 me.no-token: me without a token", unauthenticated(), (s) => me(s, { token: "none" })],
      [
        "K9 A-4 me.invalid-token: me with an invalid token",
        unauthenticated(),
        (s) => me(s, { token: "invalid" }),
      ],
    ],
    { keeps: isNotAccepted },
  ),
  rule(
    "T5 A-4 errors.null-field: a field that fails is null, and its error has a path",
    { data: "me is null", paths: ["me"] },
    async (service) => {
      const { data, errors } = await me(service, { token: "none" });
      const isNull = JSON.stringify(data) === '{"me":null}';
      return {
        data: isNull ? "me is null" : data === null ? "null" : "another",
        paths: errors.map(({ path }) => (JSON.stringify(path) === '["me"]' ? "me" : "another")),
      };
    },
  ),
];

const onGateway =
  (token: TokenName, headers?: AskOptions["headers"]): Ask =>
  (service) =>
    me(service, { router: "gateway", token, ...(headers && { headers }) });

export const gatewayRules: readonly Rule[] = [
  rule(
    "P2 A-19 partner.login: the partner's login returns a JWT",
    { outcome: "accepted", kind: "JWT" },
    async (service) => {
      const response = await login(service);
      const kind = claimsOf(issuedBy(response, "accessToken")) ? "JWT" : "no JWT";
      return { outcome: outcomeOf(response), kind };
    },
  ),
  ...lifetimes("accessToken", [["K2 A-19 partner.lifetime: a partner's token lives 180 s", 180, login]]),
  ...rejections([
    ["P2 A-3 partner.wrong-key: the login with a wrong key", wrongPartnerKey, (s) => login(s, "wrong")],
    [
      "P2 A-3 A-19 partner.workspace-key: the login with a workspace's key",
      wrongPartnerKey,
      (service) => login(service, "admin"),
    ],
    ["K9 A-4 gateway.no-token: me without a token on the gateway", unauthenticated(), onGateway("none")],
  ]),
  ...typeRules([
    [
      "T2 A-19 A-21 A-1 gateway.workspace-token: the gateway takes a workspaceToken, and me is on both routers",
      "WorkspaceUser",
      onGateway("reader"),
    ],
    [
      "T7 A-1 gateway.source-platform: the header source-platform is accepted",
      "WorkspaceUser",
      onGateway("reader", { "source-platform": "workspace-tasks" }),
    ],
    [
      "K9 A-19 gateway.partner-token: me is a User for a partner's token",
      "User",
      (service) => service.operation("Me", {}, { router: "gateway", token: "partner" }),
    ],
  ]),
  rule(
    "T2 A-21 gateway.base-operation: operations of the base router do not exist on the gateway",
    "rejected with GRAPHQL_VALIDATION_FAILED",
    async (service) =>
      outcomeOf(await service.graphql("{ webhookEventCatalog { name } }", {}, { router: "gateway" })),
  ),
];

/**
 * Lists endpoints, which a key without an administrator's permission may not.
 * @throws Untestable without the permission
 */
async function requireAdministrator(service: Service): Promise<void> {
  const [error] = (await service.operation("ListWebhookEndpoints", {}, { token: "admin" })).errors;
  if (error?.code !== forbidden.code && error?.message !== forbidden.message) return;
  const role = valueAt((await meWithRole(service)).data, "me", "role") ?? "admin";
  throw new Untestable(
    role === "admin"
      ? "the key may not do this: a read_only key belongs into WORKSPACE_TASKS_READ_ONLY_API_KEY"
      : `the key may not do this: its user has the role ${role}`,
  );
}

/** Rules that only an administrator's key can show. */
export const asAdministrator = (rules: readonly Rule[], options: Options = {}): readonly Rule[] =>
  rules.map((each) => ({
    ...each,
    ...options,
    async ask(service) {
      await requireAdministrator(service);
      service.sent = [];
      return each.ask(service);
    },
  }));
