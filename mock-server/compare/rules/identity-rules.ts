import type { Evidence, ResponseShape } from "../observe/observation.ts";
import { at, hasErrors, outcomeOf, rejectedHere, rejectionOf, wordOf } from "./read-response.ts";
import { rejection, rejectionWith, toErrorSetting } from "./rejection-rules.ts";
import { type Fact, type Rule, ruleOf, type Unknown } from "./rule.ts";

const tokens = "exchangeSurfaceRefreshTokenForAccessTokens";

const tokenOf = (response: ResponseShape, path: string) => {
  const [, kind = "none", lifetime = "", claims = ""] =
    /^token:(\w+):?(\w*):?([\w,]*)$/.exec(String(at(response, path))) ?? [];
  return { kind, lifetime: Number(lifetime), claims: claims.split(",").filter(Boolean) };
};

/** Lifetimes that differ by rounding are equal. */
const nearly = (expected: Fact, received: Fact) => Math.abs(Number(expected) - Number(received)) <= 2;

function lifetimeOf(path: string) {
  return (response: ResponseShape): Fact | Unknown => {
    if (hasErrors(response)) return rejectedHere(response);
    const { kind, lifetime } = tokenOf(response, path);
    if (kind !== "jwt" || Number.isNaN(lifetime))
      return { unknown: "the token does not show when it expires" };
    return lifetime;
  };
}

const lifetime = (
  id: string,
  probe: string,
  title: string,
  path = `${tokens}.workspaceToken`,
  ...assumptions: string[]
) =>
  ruleOf(
    id,
    probe,
    {
      title,
      assumptions,
      agrees: nearly,
      settings: (received) =>
        id === "tokens.lifetime" && Number(received) > 0 ? { tokenLifetimeSeconds: Number(received) } : null,
    },
    lifetimeOf(path),
  );

const works = (id: string, probe: string, title: string, ...assumptions: string[]) =>
  ruleOf(id, probe, { title, assumptions }, (response) => ({
    outcome: outcomeOf(response),
    type: hasErrors(response) ? null : wordOf(at(response, "me.__typename")),
  }));

interface TokenUse {
  /** From the request for the token to the response to its use; it may have expired by then. */
  readonly mostMs: number;
  /** From the response with the token to the request that uses it. */
  readonly leastMs: number;
  readonly lifetimeMs: number | null;
}

/** How old the token of an exchange was when a probe used it; `null` without one. */
function tokenUse(evidence: Evidence, exchange: string, probe: string): TokenUse | null {
  const [issued, used] = [evidence.get(exchange), evidence.get(probe)];
  if (issued?.outcome !== "response" || used?.outcome !== "response") return null;
  const { lifetime } = tokenOf(issued.response, `${tokens}.workspaceToken`);
  return {
    mostMs: used.atMs + used.durationMs - issued.atMs,
    leastMs: used.atMs - issued.atMs - issued.durationMs,
    lifetimeMs: lifetime > 0 ? lifetime * 1_000 : null,
  };
}

/** As `works`, with the token of an earlier exchange; it may have expired while a slow or limited run went on. */
function worksInTime(id: string, probe: string, exchange: string, title: string): Rule {
  return ruleOf(id, probe, { title }, (response, evidence) => {
    const use = tokenUse(evidence, exchange, probe);
    if (!use) return { unknown: "there is no token" };
    if (use.mostMs > (use.lifetimeMs ?? 60_000)) return { unknown: "the token had expired by then" };
    return { outcome: outcomeOf(response), type: wordOf(at(response, "me.__typename")) };
  });
}

/** A service that issues longer tokens than asked for shows nothing about expired ones. */
const expiredRule: Rule = ruleOf(
  "tokens.expired",
  "expiry.after",
  { title: "an expired token is rejected", assumptions: ["A-4"], settings: toErrorSetting },
  (response, evidence) => {
    const use = tokenUse(evidence, "expiry.exchange", "expiry.after");
    if (use?.lifetimeMs == null) return { unknown: "the token does not show when it expires" };
    if (use.leastMs < use.lifetimeMs) return { unknown: "the service issued a longer token than asked for" };
    return rejectionOf(response);
  },
);

/** A rejection, or `me: null` without an error. */
const unauthorised = (id: string, probe: string, title: string, ...assumptions: string[]) =>
  rejectionWith(id, probe, { title, assumptions, settings: toErrorSetting });

export const identityRules: readonly Rule[] = [
  ruleOf(
    "tokens.exchange",
    "exchange.default",
    { title: "the exchange needs no Bearer token and returns two JWTs that expire" },
    (response) => {
      const pair = ["userToken", "workspaceToken"].map((name) => tokenOf(response, `${tokens}.${name}`));
      return {
        outcome: outcomeOf(response),
        kinds: pair.map(({ kind }) => kind),
        expire: pair.map(({ claims }) => claims.includes("exp")),
      };
    },
  ),
  ruleOf(
    "tokens.workspace-claim",
    "exchange.default",
    { title: "a workspaceToken names its workspace in the claim workspaceId, a userToken does not" },
    (response) => {
      if (hasErrors(response)) return rejectedHere(response);
      return ["workspaceToken", "userToken"].map((name) =>
        tokenOf(response, `${tokens}.${name}`).claims.includes("workspaceId"),
      );
    },
  ),
  lifetime("tokens.lifetime", "exchange.default", "a token lives 180 s"),
  lifetime("tokens.shorter", "exchange.shorter", "expiresInSeconds shortens the life of a token"),
  lifetime("tokens.clamped", "exchange.longer", "a longer expiresInSeconds is clamped"),
  rejection("tokens.zero-lifetime", "exchange.zero", "expiresInSeconds 0 is rejected", "A-2"),
  rejection(
    "tokens.negative-lifetime",
    "exchange.negative",
    "a negative expiresInSeconds is rejected",
    "A-2",
  ),
  rejection("tokens.wrong-key", "exchange.wrong-key", "the exchange of a wrong key is rejected", "A-3"),
  rejection(
    "tokens.revoked-key",
    "exchange.revoked-key",
    "a revoked key is rejected like a wrong one",
    "A-3",
    "A-22",
  ),
  rejection(
    "tokens.expired-key",
    "exchange.expired-key",
    "an expired key is rejected like a wrong one",
    "A-3",
  ),
  rejection(
    "tokens.partner-key",
    "exchange.partner-key",
    "a partner's key is rejected by the exchange",
    "A-3",
    "A-21",
  ),
  worksInTime(
    "tokens.several",
    "expiry.before",
    "expiry.first",
    "a token stays valid after a second exchange",
  ),
  expiredRule,
  worksInTime(
    "tokens.renewed",
    "expiry.renewed",
    "expiry.again",
    "the token of a later exchange outlives that of an earlier one",
  ),
  works("me.workspace", "me.workspace", "me is a WorkspaceUser for a workspaceToken"),
  works("me.user", "me.user", "me is a User for a userToken", "A-23"),
  works("me.read-only", "me.read-only", "a read-only key may query"),
  unauthorised("me.no-token", "me.no-token", "me without a token is rejected", "A-4"),
  unauthorised("me.invalid-token", "me.invalid-token", "me with an invalid token is rejected", "A-4"),
  ruleOf(
    "errors.null-field",
    "me.no-token",
    { title: "a field that fails is null, and its error has a path", assumptions: ["A-4"] },
    ({ data = "absent", errors = [] }) => ({ data, paths: errors.map(({ path }) => path) }),
  ),
];

export const gatewayRules: readonly Rule[] = [
  ruleOf(
    "partner.login",
    "login.default",
    { title: "the partner's login returns a JWT", assumptions: ["A-19"] },
    (response) => ({
      outcome: outcomeOf(response),
      kind: tokenOf(response, "loginViaPersonalApiToken.accessToken").kind,
    }),
  ),
  lifetime(
    "partner.lifetime",
    "login.default",
    "a partner's token lives 180 s",
    "loginViaPersonalApiToken.accessToken",
    "A-19",
  ),
  rejection("partner.wrong-key", "login.wrong-key", "the login with a wrong key is rejected", "A-3"),
  rejection(
    "partner.workspace-key",
    "login.workspace-key",
    "the login with a workspace's key is rejected",
    "A-3",
    "A-19",
  ),
  works(
    "gateway.workspace-token",
    "gateway-me.workspace",
    "the gateway takes a workspaceToken, and me is on both routers",
    "A-19",
    "A-21",
    "A-1",
  ),
  works("gateway.source-platform", "gateway-me.platform", "the header source-platform is accepted", "A-1"),
  works("gateway.partner-token", "gateway-me.partner", "me is a User for a partner's token", "A-19"),
  unauthorised("gateway.no-token", "gateway-me.no-token", "the gateway rejects me without a token", "A-4"),
  ruleOf(
    "gateway.base-operation",
    "gateway-me.catalog",
    { title: "operations of the base router do not exist on the gateway", assumptions: ["A-21"] },
    outcomeOf,
  ),
];
