import { type Facts, rateLimitProbe } from "../observe/observation.ts";
import { toErrorSetting } from "../rules/rejection.ts";
import { type About, type Fact, type Rule, ruleAcross, sameOf, type Unknown } from "../rules/rule.ts";

const rateLimitRule = (
  id: string,
  title: string,
  about: About,
  read: (facts: Facts) => Fact | Unknown,
): Rule =>
  ruleAcross(`rate-limit.${id}`, title, "queries until a 429", about, (seen) => {
    const found = seen.get(rateLimitProbe);
    if (found?.outcome === "failed") return { unknown: found.reason };
    return found?.outcome === "measured" ? read(found.facts) : { unknown: "needs --exceed-rate-limit" };
  });

const numberOf = (value: Facts[string] | undefined): number => (typeof value === "number" ? value : 0);

/** How many requests a window accepts again after half of it has left. */
function windowOf({ accepted, acceptedAgain, half, again429, statedMs, untilOldestLeavesMs }: Facts) {
  const [first, again, used] = [numberOf(accepted), numberOf(acceptedAgain), numberOf(half)];
  // A fixed window may begin anywhere between the first half and the rest, and accept more than its limit within 60 s.
  const isLater = again >= used * 1.25 && first - again >= used * 0.85;
  if (again429 && (again >= first * 0.85 || isLater)) return "fixed";
  const stated = statedMs === null ? null : numberOf(statedMs) - numberOf(untilOldestLeavesMs);
  const isStatedForSliding = stated === null || Math.abs(stated) <= 5_000;
  return again <= used * 1.15 && isStatedForSliding ? "sliding" : "another kind";
}

/** Requests in a window; a small difference may be another user's. */
const limitOf = (facts: Facts) => {
  const requests = numberOf(facts["accepted"]);
  return windowOf(facts) === "fixed" ? Math.min(requests, numberOf(facts["acceptedAgain"])) : requests;
};

export const rateLimitRules: readonly Rule[] = [
  rateLimitRule(
    "requests",
    "120 requests in 60 s are accepted",
    {
      agrees: (expected, received) => Math.abs(Number(expected) - Number(received)) <= 3,
      settings: (received) => (Number(received) > 0 ? { rateLimit: { requests: Number(received) } } : null),
    },
    limitOf,
  ),
  rateLimitRule(
    "window",
    "the window is a sliding log of the last 60 s",
    {
      assumptions: ["A-5"],
      settings: (received) => (received === "fixed" ? { rateLimit: { window: "fixed" } } : null),
    },
    windowOf,
  ),
  rateLimitRule("rejected-calls", "a rejected request does not count", ["A-5"], (facts) => {
    if (windowOf(facts) !== "sliding") return { unknown: "the window is not sliding" };
    return numberOf(facts["acceptedAgain"]) >= numberOf(facts["half"]) - 4 ? "not counted" : "counted";
  }),
  rateLimitRule(
    "retry-after",
    "after the time in Retry-After the next request is accepted",
    { assumptions: ["A-5"], keeps: sameOf("inSeconds") },
    ({ statedMs = null, acceptedAfterStated = null }) => ({
      inSeconds: statedMs !== null,
      accepted: acceptedAfterStated,
    }),
  ),
  rateLimitRule(
    "rejection",
    "a request above the limit gets a 429 with RATE_LIMITED",
    { assumptions: ["A-30"], keeps: sameOf("status", "code"), settings: toErrorSetting },
    ({ status = null, code = null, message = null }) => ({ status, code: code ?? "no code", message }),
  ),
  rateLimitRule("exchange", "the exchange is not counted", [], ({ exchangeRejected = null }) =>
    exchangeRejected ? "counted" : "not counted",
  ),
  rateLimitRule(
    "gateway",
    "calls of the gateway count on the workspace's key",
    ["A-20"],
    ({ gatewayRejected = null }) =>
      gatewayRejected === null ? { unknown: "needs --gateway-url" } : gatewayRejected ? "shared" : "separate",
  ),
  rateLimitRule(
    "partner",
    "calls with a partner's token count on the partner's key",
    ["A-20"],
    ({ partnerRejected = null }) => {
      if (partnerRejected === null)
        return { unknown: "needs --gateway-url and WORKSPACE_TASKS_PARTNER_API_KEY" };
      return partnerRejected ? "on the workspace's key" : "on the partner's key";
    },
  ),
];
