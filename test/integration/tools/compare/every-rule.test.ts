import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { allRules } from "../../../../mock-server/tools/compare/catalogue/catalogue.ts";
import {
  deliveriesProbe,
  type Evidence,
  type Observation,
  rateLimitProbe,
} from "../../../../mock-server/tools/compare/observe/observation.ts";
import * as rules from "../../../../mock-server/tools/compare/rules/rule.ts";
import { isPlainObject } from "../../../../sdk/kernel/plain-object.ts";
import { observeEverything } from "../../../support/compared-service.ts";

/** What a service may say instead of one value. */
function othersOf(value: unknown): readonly unknown[] {
  if (typeof value === "number") return [value + 418, value - 15, value * 3, 0];
  if (typeof value === "boolean") return [!value, null];
  if (value === null) return ["text", "enum:OTHER", 7];
  if (Array.isArray(value)) return [[], value.toReversed()];
  if (typeof value === "string")
    return [
      `${value}9`,
      "no",
      value.replace(/\d+/, "4"),
      value.replace("uuid7", "uuid4").replace(/^date:/, "date-other:"),
      null,
    ];
  return [];
}

const rejection = {
  message: "Other",
  code: "GRAPHQL_VALIDATION_FAILED",
  path: null,
  suggests: true,
  leaks: true,
};

/** The value with one of its parts replaced, in every way. */
function* changed(value: unknown): Generator<unknown> {
  yield* othersOf(value);
  if (typeof value !== "object" || value === null) return;
  if ("response" in value)
    yield { ...value, response: { ...(value.response as object), errors: [rejection] } };
  for (const [name, inner] of Object.entries(value)) {
    for (const other of changed(inner))
      yield Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
    if (!Array.isArray(value)) yield { ...value, [name]: undefined };
  }
}

/** What the rule finds; nothing in an observation of another form. */
function find(rule: rules.Rule, evidence: Evidence): rules.Fact | rules.Unknown {
  try {
    return rule.expect(evidence);
  } catch {
    return { unknown: "not an observation" };
  }
}

/** The parts of the evidence that show the rule: all of it, or one observation where the rule looks at every one. */
function shownBy(rule: rules.Rule, evidence: Evidence): readonly Evidence[] {
  const ids = new Set<string>();
  const get = (id: string) => {
    ids.add(id);
    return evidence.get(id);
  };
  rule.expect(Object.assign(new Map(evidence), { get }));
  if (ids.size > 0) return [new Map([...evidence].filter(([id]) => ids.has(id)))];
  return [...evidence].map((entry) => new Map([entry]));
}

function isRefutable(rule: rules.Rule, evidence: Evidence): boolean {
  const expected = rule.expect(evidence);
  if (rules.isUnknown(expected)) return false;
  const agrees = rule.agrees ?? isDeepStrictEqual;
  for (const id of evidence.keys()) {
    const seen = new Map(evidence);
    for (const other of changed(evidence.get(id))) {
      const received = find(rule, seen.set(id, other as Observation));
      if (!rules.isUnknown(received) && !agrees(expected, received)) return true;
    }
  }
  return false;
}

/** A few deliveries of each kind are enough. */
function withFewDeliveries(evidence: Evidence): Evidence {
  const observation = evidence.get(deliveriesProbe);
  if (observation?.outcome !== "deliveries") throw new Error("the mock sent no deliveries");
  const counts = new Map<string, number>();
  const deliveries = observation.deliveries.filter(({ payload, signatures, id }) => {
    const event = isPlainObject(payload) ? payload["event"] : null;
    const kind = JSON.stringify([event, signatures.length, id === 1]);
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return count <= 2;
  });
  return new Map([...evidence, [deliveriesProbe, { ...observation, deliveries }]]);
}

it("every rule of compare is shown by the mock, and refuted by a service that says something else", async () => {
  const shown = { atMs: 0, outcome: "measured", facts: {} } as const;
  const asked = [deliveriesProbe, rateLimitProbe].map((probe): [string, Observation] => [
    probe,
    { ...shown, probe },
  ]);
  const evidence = withFewDeliveries(await observeEverything(new Map(asked)));
  const isShown = (rule: rules.Rule) => shownBy(rule, evidence).some((part) => isRefutable(rule, part));
  const never = allRules.filter((rule) => !isShown(rule)).map(({ id }) => id);
  expect(never).toEqual([]);
  expect(allRules.length).toBeGreaterThan(180);
}, 180_000);
