import type { Evidence, ResponseShape } from "../observe/observation.ts";
import {
  call,
  type Draft,
  type KeyName,
  type Probe,
  query,
  type SendContext,
  shared,
} from "../rules/probe.ts";
import { at, hasErrors, outcomeOf, rejectedHere, rejectionOf, wordOf } from "../rules/read-response.ts";
import {
  isNotAccepted,
  isRejected,
  rejections,
  rejectionsKeeping,
  toErrorSetting,
} from "../rules/rejection.ts";
import { type About, type Fact, optionsOf, type Rule, rule, ruleOver, sameOf } from "../rules/rule.ts";

/** With both tokens; the SDK uses the workspace's only. */
export const exchangeText = `mutation ExchangeApiKey($refreshToken: String!, $expiresInSeconds: Int) {
  exchangeSurfaceRefreshTokenForAccessTokens(
    refreshToken: $refreshToken
    expiresInSeconds: $expiresInSeconds
  ) {
    userToken
    workspaceToken
  }
}`;

const tokens = "exchangeSurfaceRefreshTokenForAccessTokens";

const exchange = (name: KeyName | "wrong", expiresInSeconds?: number): Draft => {
  const draft = call(
    "ExchangeApiKey",
    ({ key }) => ({
      refreshToken: key(name),
      ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    }),
    { permission: "read", token: "none", needs: name === "wrong" ? [] : [name] },
  );
  // Without a lifetime both tokens are asked for.
  return expiresInSeconds === undefined
    ? { ...draft, request: { ...draft.request, document: exchangeText } }
    : draft;
};

const issued = shared("exchange.default", exchange("admin"));
/** Its end is awaited. */
const shortLifetimeSeconds = 3;
const short = shared("exchange.short", exchange("admin", shortLifetimeSeconds));
const first = shared("exchange.first", exchange("admin"));
const second = shared("exchange.second", exchange("admin"));

export const whoAmI = "{ me { __typename } }";

const tokenFrom =
  (probe: Probe) =>
  ({ of }: SendContext) =>
    of(probe, `${tokens}.workspaceToken`);

const tokenOf = (response: ResponseShape, path: string) => {
  const [, kind = "none", lifetime = "", claims = ""] =
    /^token:(\w+):?(\w*):?([\w,]*)$/.exec(String(at(response, path))) ?? [];
  return { kind, lifetime: Number(lifetime), claims: claims.split(",").filter(Boolean) };
};

export const kindOfToken = (response: ResponseShape, path: string) => tokenOf(response, path).kind;

/** Lifetimes that differ by rounding are equal. */
const nearly = (expected: Fact, received: Fact) => Math.abs(Number(expected) - Number(received)) <= 2;

export const lifetime = (
  id: string,
  title: string,
  send: Draft,
  about: About = [],
  path = `${tokens}.workspaceToken`,
): Rule =>
  rule(id, title, send, { ...optionsOf(about), agrees: nearly }, (response) => {
    if (hasErrors(response)) return rejectedHere(response);
    const { kind, lifetime } = tokenOf(response, path);
    if (kind !== "jwt" || Number.isNaN(lifetime))
      return { unknown: "the token does not show when it expires" };
    return lifetime;
  });

/** A rule that `me` is accepted, with its type. */
export const works = (id: string, title: string, send: Draft, about: About = []): Rule =>
  rule(id, title, send, about, (response) => ({
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
function tokenUse(seen: Evidence, exchange: Probe, usedBy: string): TokenUse | null {
  const [issued, used] = [seen.get(exchange.id), seen.get(usedBy)];
  if (issued?.outcome !== "response" || used?.outcome !== "response") return null;
  const { lifetime } = tokenOf(issued.response, `${tokens}.workspaceToken`);
  return {
    mostMs: used.atMs + used.durationMs - issued.atMs,
    leastMs: used.atMs - issued.atMs - issued.durationMs,
    lifetimeMs: lifetime > 0 ? lifetime * 1_000 : null,
  };
}

/** A rule that the token of an exchange works; it may have expired while a slow or limited run went on. */
const worksInTime = (
  id: string,
  title: string,
  exchange: Probe,
  later: Readonly<Record<string, Probe>>,
): Rule => {
  const use = shared(id, query(whoAmI, { token: tokenFrom(exchange) }));
  return ruleOver(id, title, { exchange, ...later, use }, [], ({ use: response }, seen) => {
    const { mostMs, lifetimeMs } = tokenUse(seen, exchange, use.id) ?? {};
    if (mostMs === undefined) return { unknown: "there is no token" };
    if (mostMs > (lifetimeMs ?? 60_000)) return { unknown: "the token had expired by then" };
    return { outcome: outcomeOf(response), type: wordOf(at(response, "me.__typename")) };
  });
};

const afterItsEnd = shared(
  "tokens.expired",
  query(whoAmI, { token: tokenFrom(short), waitMs: (shortLifetimeSeconds + 2) * 1_000 }),
);

/** A service that issues longer tokens than asked for shows nothing about expired ones. */
const expired: Rule = ruleOver(
  "tokens.expired",
  "an expired token is rejected",
  { short, afterItsEnd },
  { assumptions: ["A-4"], keeps: isNotAccepted, settings: toErrorSetting },
  ({ afterItsEnd: response }, seen) => {
    const use = tokenUse(seen, short, afterItsEnd.id);
    if (use?.lifetimeMs == null) return { unknown: "the token does not show when it expires" };
    if (use.leastMs < use.lifetimeMs) return { unknown: "the service issued a longer token than asked for" };
    return rejectionOf(response);
  },
);

/** Shows the role of the key's user, too. */
const meOfWorkspace = shared("me.workspace", query("{ me { __typename ... on WorkspaceUser { role } } }"));
const meWithoutToken = shared("me.no-token", query(whoAmI, { token: "none" }));

export const tokenRules: readonly Rule[] = [
  rule(
    "tokens.exchange",
    "the exchange needs no Bearer token and returns two JWTs that expire",
    issued,
    { assumptions: ["A-36"], keeps: sameOf("outcome") },
    (response) => {
      const pair = ["userToken", "workspaceToken"].map((name) => tokenOf(response, `${tokens}.${name}`));
      return {
        outcome: outcomeOf(response),
        kinds: pair.map(({ kind }) => kind),
        expire: pair.map(({ claims }) => claims.includes("exp")),
      };
    },
  ),
  rule(
    "tokens.workspace-claim",
    "a workspaceToken names its workspace in the claim workspaceId, a userToken does not",
    issued,
    ["A-36"],
    (response) => {
      if (hasErrors(response)) return rejectedHere(response);
      return ["workspaceToken", "userToken"].map((name) =>
        tokenOf(response, `${tokens}.${name}`).claims.includes("workspaceId"),
      );
    },
  ),
  lifetime("tokens.lifetime", "a token lives 180 s", issued, {
    settings: (received) => (Number(received) > 0 ? { tokenLifetimeSeconds: Number(received) } : null),
  }),
  lifetime("tokens.shorter", "expiresInSeconds shortens the life of a token", exchange("admin", 60)),
  lifetime("tokens.clamped", "a longer expiresInSeconds is clamped", exchange("admin", 86_400)),
  ...rejections([
    ["tokens.zero-lifetime", "expiresInSeconds 0 is rejected", exchange("admin", 0), "A-2"],
    ["tokens.negative-lifetime", "a negative expiresInSeconds is rejected", exchange("admin", -1), "A-2"],
    ["tokens.partner-key", "a partner's key is rejected by the exchange", exchange("partner"), "A-3", "A-21"],
  ]),
  ...rejectionsKeeping(isRejected, [
    ["tokens.wrong-key", "the exchange of a wrong key is rejected", exchange("wrong"), "A-3"],
    ["tokens.revoked-key", "a revoked key is rejected like a wrong one", exchange("revoked"), "A-3", "A-22"],
    ["tokens.expired-key", "an expired key is rejected like a wrong one", exchange("expired"), "A-3"],
  ]),
  worksInTime("tokens.several", "a token stays valid after a second exchange", first, { second }),
  expired,
  worksInTime("tokens.renewed", "the token of a later exchange outlives that of an earlier one", second, {}),
  works("me.workspace", "me is a WorkspaceUser for a workspaceToken", meOfWorkspace),
  works("me.user", "me is a User for a userToken", query(whoAmI, { token: "user" })),
  works("me.read-only", "a read-only key may query", query(whoAmI, { token: "readOnly" })),
  ...rejectionsKeeping(isNotAccepted, [
    ["me.no-token", "me without a token is rejected", meWithoutToken, "A-4"],
    ["me.invalid-token", "me with an invalid token is rejected", query(whoAmI, { token: "invalid" }), "A-4"],
  ]),
  rule(
    "errors.null-field",
    "a field that fails is null, and its error has a path",
    meWithoutToken,
    ["A-4"],
    ({ data = "absent", errors = [] }) => ({ data, paths: errors.map(({ path }) => path) }),
  ),
];
