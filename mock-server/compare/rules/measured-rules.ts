import { changesProbe, type Facts, rateLimitProbe } from "../observe/observation.ts";
import { toErrorSetting } from "./rejection-rules.ts";
import { type Fact, type Rule, type RuleTexts, toFinding, type Unknown, unknown } from "./rule.ts";

/** A rule over facts that several requests have shown together. */
const measuredRule =
  (probe: string, needs: string) =>
  (id: string, texts: RuleTexts, read: (facts: Facts) => Fact | Unknown): Rule => ({
    assumptions: [],
    ...texts,
    id,
    probes: [probe],
    find(evidence) {
      const observation = evidence.get(probe);
      if (observation?.outcome === "failed") return unknown(observation.reason);
      return observation?.outcome === "measured" ? toFinding(read(observation.facts)) : unknown(needs);
    },
  });

const rateLimitRule = measuredRule(rateLimitProbe, "needs --exceed-rate-limit");

const numberOf = (value: Facts[string] | undefined) => (typeof value === "number" ? value : 0);

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

const rateLimitRules: readonly Rule[] = [
  rateLimitRule(
    "rate-limit.requests",
    {
      title: "120 requests in 60 s are accepted",
      agrees: (expected, received) => Math.abs(Number(expected) - Number(received)) <= 3,
      settings: (received) => (Number(received) > 0 ? { rateLimit: { requests: Number(received) } } : null),
    },
    limitOf,
  ),
  rateLimitRule(
    "rate-limit.window",
    {
      title: "the window is a sliding log of the last 60 s",
      assumptions: ["A-5"],
      settings: (received) => (received === "fixed" ? { rateLimit: { window: "fixed" } } : null),
    },
    windowOf,
  ),
  rateLimitRule(
    "rate-limit.rejected-calls",
    { title: "a rejected request does not count", assumptions: ["A-5"] },
    (facts) => {
      const { acceptedAgain, half } = facts;
      if (windowOf(facts) !== "sliding") return { unknown: "the window is not sliding" };
      return numberOf(acceptedAgain) >= numberOf(half) - 4 ? "not counted" : "counted";
    },
  ),
  rateLimitRule(
    "rate-limit.retry-after",
    { title: "after the time in Retry-After the next request is accepted", assumptions: ["A-5"] },
    ({ statedMs = null, acceptedAfterStated = null }) => ({
      inSeconds: statedMs !== null,
      accepted: acceptedAfterStated,
    }),
  ),
  rateLimitRule(
    "rate-limit.rejection",
    { title: "a request above the limit gets a 429 with RATE_LIMITED", settings: toErrorSetting },
    ({ status = null, code = null, message = null }) => ({ status, code: code ?? "no code", message }),
  ),
  rateLimitRule(
    "rate-limit.exchange",
    { title: "the exchange is not counted", assumptions: ["A-20"] },
    ({ exchangeRejected = null }) => (exchangeRejected ? "counted" : "not counted"),
  ),
  rateLimitRule(
    "rate-limit.gateway",
    { title: "calls of the gateway count on the workspace's key", assumptions: ["A-20"] },
    ({ gatewayRejected = null }) =>
      gatewayRejected === null ? { unknown: "needs --gateway-url" } : gatewayRejected ? "shared" : "separate",
  ),
  rateLimitRule(
    "rate-limit.partner",
    { title: "calls with a partner's token count on the partner's key", assumptions: ["A-20"] },
    ({ partnerRejected = null }) => {
      if (partnerRejected === null)
        return { unknown: "needs --gateway-url and WORKSPACE_TASKS_PARTNER_API_KEY" };
      return partnerRejected ? "on the workspace's key" : "on the partner's key";
    },
  ),
];

const changesRule = measuredRule(changesProbe, "needs --writes and --deliveries with a public URL");

/** Facts of a run whose endpoint had a pending delivery; otherwise the reason why there are none. */
const afterChange =
  (read: (facts: Facts) => Fact | Unknown) =>
  (facts: Facts): Fact | Unknown => {
    if (facts["arrived"] !== true)
      return { unknown: "no delivery arrived: start a task in the web app while the run waits" };
    if (facts["finished"] !== true)
      return { unknown: "the run ended too early: --deliveries-seconds 900 is long enough" };
    return read(facts);
  };

/** The next attempt of a pending delivery may be due after 5 min. */
const pendingMsMin = 310_000;

const pendingOf = (read: (arrived: Fact) => Fact) =>
  afterChange(({ pendingArrived = "no", waitedMs }) => {
    if (pendingArrived === "no" && numberOf(waitedMs) < pendingMsMin)
      return {
        unknown: "the run ended before the next attempt was due: --deliveries-seconds 900 is long enough",
      };
    return read(pendingArrived);
  });

const changesRules: readonly Rule[] = [
  changesRule(
    "changes.paused",
    { title: "a paused endpoint receives nothing", assumptions: ["A-12"] },
    // The retry after 5 s was due meanwhile.
    afterChange(({ attemptsWhilePaused }) =>
      numberOf(attemptsWhilePaused) === 0 ? "nothing arrived" : "attempts arrived",
    ),
  ),
  changesRule(
    "changes.pending",
    { title: "pending deliveries of a paused endpoint resume when it is enabled", assumptions: ["A-12"] },
    pendingOf((arrived) => (arrived === "no" ? "discarded" : "resumed")),
  ),
  changesRule(
    "changes.missed-events",
    {
      title: "events that happen while an endpoint is paused are not delivered to it",
      assumptions: ["A-12"],
    },
    afterChange(({ eventsWhilePaused, missedDelivered }) => {
      if (numberOf(eventsWhilePaused) === 0)
        return { unknown: "no event happened while the endpoint was paused: start several tasks" };
      return numberOf(missedDelivered) === 0 ? "not delivered" : "delivered later";
    }),
  ),
  changesRule(
    "changes.url",
    { title: "each attempt goes to the URL that the endpoint has then", assumptions: ["A-29"] },
    pendingOf((arrived) => arrived),
  ),
  changesRule(
    "changes.unsubscribed",
    {
      title: "deliveries that exist continue after the endpoint unsubscribed from their event",
      assumptions: ["A-29"],
    },
    pendingOf((arrived) => (arrived === "no" ? "discarded" : "continued")),
  ),
];

export const measuredRules: readonly Rule[] = [...rateLimitRules, ...changesRules];
