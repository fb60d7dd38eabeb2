import { describe, expect, it } from "vitest";
import type { Evidence, Observation } from "../../../../mock-server/compare/observe/observation.ts";
import { observeDeliveries } from "../../../../mock-server/compare/observe/observe-delivery.ts";
import { allRules } from "../../../../mock-server/compare/rules/all-rules.ts";
import { isUnknown, type Rule } from "../../../../mock-server/compare/rules/rule.ts";
import { isPlainObject } from "../../../../mock-server/plain-object.ts";
import { captureDeliveries } from "../../../support/capture-deliveries.ts";
import { compareEverything } from "../../../support/compared-service.ts";

/** What a service may do instead, by kind; each changes an observation in one way. */
const changes: Readonly<Record<string, (observation: Observation) => unknown>> = {
  "another status": edited((text) => text.replace(/"status":(\d+)/g, '"status":418')),
  "another error": withResponse({ data: null, errors: [error("OTHER")] }),
  "a rejected document": withResponse({ data: null, errors: [error("GRAPHQL_VALIDATION_FAILED")] }),
  "no error": withResponse({ errors: undefined, data: {} }),
  "no errors": ({ ...observation }) => deepMap(observation, "errors", () => undefined),
  "other words": edited((text) => text.replace(/"(word|enum):[^"]+"/g, '"$1:other"')),
  "another number": edited((text) =>
    text.replace(/"word:2"/g, '"word:3"').replace(/:(-?\d+)([,}])/g, ":7$2"),
  ),
  "other ids": edited((text) => text.replace(/#\d+"/g, '#999"').replace(/uuid7/g, "uuid4")),
  "another token": edited((text) => text.replace(/token:jwt:\d+:[\w,]*/g, "token:opaque")),
  "another lifetime": edited((text) => text.replace(/token:jwt:\d+:[\w,]*/g, "token:jwt:999:exp")),
  "other headers": edited((text) =>
    text.replaceAll("application/json", "text/json").replaceAll("webhook-id", "webhook-name"),
  ),
  "suggestions and stacks": edited((text) =>
    text.replaceAll('"suggests":false', '"suggests":true').replaceAll('"leaks":false', '"leaks":true'),
  ),
  "lists reversed": (observation) => mapLists(observation, (list) => list.toReversed()),
  "lists emptied": (observation) => mapLists(observation, () => []),
  "lists of one": (observation) => mapLists(observation, (list) => list.slice(0, 1)),
  "booleans inverted": edited((text) => text.replace(/\b(true|false)\b/g, (word) => String(word !== "true"))),
  "other texts": edited((text) => text.replace(/"(sent|text|empty)"/g, "null")),
  "null instead of text": edited((text) => text.replace(/"(?!probe|outcome)(\w+)":"[^"]*"/g, '"$1":null')),
  "renamed properties": edited((text) => text.replace(/"(taskId|clientId|documents)(\??)":/g, '"$1Of$2":')),
  "no null": edited((text) => text.replace(/:null/g, ':"text"')),
  "times moved": edited((text) => text.replace(/"date:[+-]?\d+"/g, () => `"date:+${next()}000"`)),
  "events in another order": (observation) => mapLists(observation, (list) => list.toReversed()),
  "signatures of no secret": edited((text) => text.replace(/"secret":\d+/g, '"secret":null')),
  "signatures of the other secret": edited((text) =>
    text.replace(/"secret":(\d)/g, (_, secret) => `"secret":${1 - Number(secret)}`),
  ),
  "another body in a retry": edited((text) => text.replace(/"body":\d+/g, () => `"body":${next()}`)),
  "seconds of a retry": edited((text) =>
    text.replace(/"atMs":(\d+)/g, (_, ms) => `"atMs":${Number(ms) * 3}`),
  ),
  "no seconds": edited((text) => text.replaceAll('"timestamp":"seconds"', '"timestamp":"none"')),
  "other facts": (observation) => withFacts(observation, { acceptedAgain: 120, accepted: 250 }),
  "a fixed window": (observation) => withFacts(observation, { acceptedAgain: 120 }),
  "counted rejections": (observation) => withFacts(observation, { acceptedAgain: 45 }),
  "nothing after a change": (observation) =>
    withFacts(observation, { pendingArrived: "no", attemptsWhilePaused: 3, missedDelivered: 2 }),
};

let numbers = 1_000;
function next(): number {
  numbers += 7;
  return numbers;
}

function edited(edit: (text: string) => string) {
  return (observation: Observation): unknown => {
    const { probe, outcome, atMs, ...rest } = observation;
    return { probe, outcome, atMs, ...JSON.parse(edit(JSON.stringify(rest))) };
  };
}

function error(code: string) {
  return { message: "Something else", code, path: null, suggests: false, leaks: false };
}

function withResponse(change: object) {
  return (observation: Observation): unknown =>
    observation.outcome === "response"
      ? { ...observation, response: { ...observation.response, body: "graphql", ...change } }
      : observation;
}

const withFacts = (observation: Observation, facts: object): unknown =>
  observation.outcome === "measured"
    ? { ...observation, facts: { ...observation.facts, ...facts } }
    : observation;

function mapLists(value: unknown, change: (list: readonly unknown[]) => readonly unknown[]): unknown {
  if (Array.isArray(value)) return change(value.map((item) => mapLists(item, change)));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapLists(inner, change)]));
}

function deepMap(value: unknown, name: string, change: () => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => deepMap(item, name, change));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === name ? change() : deepMap(inner, name, change),
    ]),
  );
}

/** The rule with other evidence of its probes; a rule without probes reads all. */
function isRefutedBy(rule: Rule, evidence: Evidence, change: (observation: Observation) => unknown): boolean {
  const expected = rule.find(evidence);
  const isRead = (probe: string) => rule.probes.length === 0 || rule.probes.includes(probe);
  const each = rule.probes.length === 0 ? [null] : [...rule.probes, null];
  return each.some((only) => {
    const entries = [...evidence].map(([probe, observation]): [string, Observation] => [
      probe,
      isRead(probe) && (only === null || only === probe) ? (change(observation) as Observation) : observation,
    ]);
    const received = rule.find(new Map(entries));
    if (isUnknown(expected) || isUnknown(received)) return false;
    const agrees = rule.agrees ?? ((a, b) => JSON.stringify(a) === JSON.stringify(b));
    return !agrees(expected.fact, received.fact);
  });
}

describe("every rule of compare", () => {
  it("is shown by a run with every permission, and refuted by a service that does something else", async () => {
    const evidence = new Map(await compareEverything());
    const captured = await captureDeliveries();
    const deliveries = observeDeliveries(captured.deliveries, captured.secrets);
    evidence.set("deliveries.captured", {
      probe: "deliveries.captured",
      atMs: 0,
      outcome: "deliveries",
      deliveries,
    });
    const shown = allRules.filter((rule) => !isUnknown(rule.find(evidence)));
    const unshown = allRules.filter((rule) => !shown.includes(rule)).map(({ id }) => id);
    // A rotation needs two secrets: deliveries.test.ts.
    expect(unshown).toEqual(["deliveries.rotation", "deliveries.payload-subtask.failed"]);
    const never = shown.filter(
      (rule) => !Object.values(changes).some((change) => isRefutedBy(rule, evidence, change)),
    );
    expect(never.map(({ id }) => id)).toEqual([]);
    expect(allRules.length).toBeGreaterThan(185);
  });
});
