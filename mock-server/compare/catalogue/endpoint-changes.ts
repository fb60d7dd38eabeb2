import { changesProbe, type Facts } from "../observe/observation.ts";
import { type Fact, measured, numberOf, type Rule, type Unknown } from "../rules/rule.ts";

/** A rule over a run whose endpoint had a pending delivery while it was paused, enabled, moved and unsubscribed. */
const changesRule = (
  id: string,
  title: string,
  read: (facts: Facts) => Fact | Unknown,
  assumption: string,
): Rule =>
  measured(
    `changes.${id}`,
    title,
    (facts) => {
      if (facts["arrived"] !== true)
        return { unknown: "no delivery arrived: start a task in the web app while the run waits" };
      if (facts["finished"] !== true)
        return { unknown: "the run ended too early: --deliveries-seconds 900 is long enough" };
      return read(facts);
    },
    [assumption],
    {
      observation: changesProbe,
      source: "updates of an endpoint with pending deliveries",
      needs: "needs --writes and --deliveries with a public URL",
    },
  );

/** The next attempt of a pending delivery may be due after 5 min. */
const pendingMsMin = 310_000;

const pendingRule = (id: string, title: string, read: (arrived: Fact) => Fact, assumption: string): Rule =>
  changesRule(
    id,
    title,
    ({ pendingArrived = "no", waitedMs }) =>
      pendingArrived === "no" && numberOf(waitedMs) < pendingMsMin
        ? {
            unknown: "the run ended before the next attempt was due: --deliveries-seconds 900 is long enough",
          }
        : read(pendingArrived),
    assumption,
  );

export const endpointChangeRules: readonly Rule[] = [
  changesRule(
    "paused",
    "a paused endpoint receives nothing",
    // The retry after 5 s was due meanwhile.
    ({ attemptsWhilePaused }) =>
      numberOf(attemptsWhilePaused) === 0 ? "nothing arrived" : "attempts arrived",
    "A-12",
  ),
  pendingRule(
    "pending",
    "pending deliveries of a paused endpoint resume when it is enabled",
    (arrived) => (arrived === "no" ? "discarded" : "resumed"),
    "A-12",
  ),
  changesRule(
    "missed-events",
    "events that happen while an endpoint is paused are not delivered to it",
    ({ eventsWhilePaused, missedDelivered }) => {
      if (numberOf(eventsWhilePaused) === 0)
        return { unknown: "no event happened while the endpoint was paused: start several tasks" };
      return numberOf(missedDelivered) === 0 ? "not delivered" : "delivered later";
    },
    "A-12",
  ),
  pendingRule("url", "each attempt goes to the URL that the endpoint has then", (arrived) => arrived, "A-29"),
  pendingRule(
    "unsubscribed",
    "deliveries that exist continue after the endpoint unsubscribed from their event",
    (arrived) => (arrived === "no" ? "discarded" : "continued"),
    "A-29",
  ),
];
