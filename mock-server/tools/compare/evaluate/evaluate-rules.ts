import { isDeepStrictEqual } from "node:util";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { issuesOfSettings } from "@workspace-tasks/mock-server/parts";
import { allRules, missingFor, type Plan } from "../catalogue/catalogue.ts";
import type { Evidence } from "../observe/observation.ts";
import { describeProbe } from "../rules/probe.ts";
import { type Fact, isUnknown, type Rule } from "../rules/rule.ts";

/** `differs`: from an assumption, where the interface leaves the fact open. `refuted`: from the interface. */
export type Verdict = "confirmed" | "differs" | "refuted" | "not-testable";

/** What is known of one rule. Its texts hold no secret, and of error messages what `redact-message.ts` keeps. */
export interface RuleResult {
  readonly id: string;
  readonly title: string;
  readonly assumptions: readonly string[];
  readonly verdict: Verdict;
  /** What was sent, or would be. */
  readonly sent: readonly string[];
  /** What the mock does. */
  readonly expected: string;
  /** What the service did; for a rule that is not testable, why, and what it takes. */
  readonly received: string;
  /** Settings that make the mock do the same; `null` when there are none. Only of rules that differ or are refuted. */
  readonly settings?: SettingsChanges | null | undefined;
}

/** Compares the evidence of a service with that of the mock, by every rule. Pure: no request is sent. */
export function evaluate(service: Evidence, mock: Evidence, plan: Plan): readonly RuleResult[] {
  return allRules.map((rule) => evaluateRule(rule, service, mock, plan));
}

function evaluateRule(rule: Rule, service: Evidence, mock: Evidence, plan: Plan): RuleResult {
  const { id, title, assumptions } = rule;
  const sent = rule.source === undefined ? rule.send.map(describeProbe) : [rule.source];
  const common = { id, title, assumptions, sent };
  const expected = rule.expect(mock);
  const received = rule.expect(service);
  const expectedText = isUnknown(expected) ? "" : describeFact(expected);
  if (isUnknown(received) || isUnknown(expected)) {
    const reason =
      missingOf(rule, plan) ?? (isUnknown(received) ? received.unknown : "the mock does not show it");
    return { ...common, verdict: "not-testable", expected: expectedText, received: reason };
  }
  const agrees = rule.agrees ?? isDeepStrictEqual;
  const receivedText = describeFact(received);
  if (agrees(expected, received))
    return { ...common, verdict: "confirmed", expected: expectedText, received: receivedText };
  const proposed = rule.settings?.(received, expected) ?? null;
  // What a service does may be outside of what the mock can be set to.
  const settings = proposed && issuesOfSettings(proposed).length === 0 ? proposed : null;
  const texts = describeDifference(expected, received);
  const isOpen = rule.keeps?.(expected, received) ?? assumptions.length > 0;
  return { ...common, verdict: isOpen ? "differs" : "refuted", ...texts, settings };
}

/** What the run lacks for one of the probes. */
function missingOf({ send }: Rule, plan: Plan): string | null {
  return send.map((probe) => missingFor(probe, plan)).find((missing) => missing !== null) ?? null;
}

/** Objects with the same fields are described by those that differ. */
function describeDifference(
  expected: Fact,
  received: Fact,
): { readonly expected: string; readonly received: string } {
  if (!isObject(expected) || !isObject(received) || "message" in expected)
    return { expected: describeFact(expected), received: describeFact(received) };
  const names = [...new Set([...Object.keys(expected), ...Object.keys(received)])];
  const differing = names.filter((name) => !isDeepStrictEqual(expected[name], received[name]));
  const pick = (fact: Readonly<Record<string, Fact>>) =>
    describeFact(Object.fromEntries(differing.map((name) => [name, fact[name] ?? "none"])));
  return { expected: pick(expected), received: pick(received) };
}

const isObject = (fact: Fact): fact is Readonly<Record<string, Fact>> =>
  typeof fact === "object" && fact !== null && !Array.isArray(fact);

/** A fact as a few words. */
export function describeFact(fact: Fact): string {
  if (typeof fact === "boolean") return fact ? "yes" : "no";
  if (fact === null) return "null";
  if (Array.isArray(fact)) return fact.length === 0 ? "none" : fact.map(describeFact).join(", ");
  if (!isObject(fact)) return String(fact).replace(/^(enum|word):/, "");
  const { code, message } = fact;
  if (typeof code === "string" && typeof message === "string") return `${code} "${message}"`;
  return Object.entries(fact)
    .map(
      ([name, value]) => `${name}: ${isObject(value) ? `{ ${describeFact(value)} }` : describeFact(value)}`,
    )
    .join("; ");
}
