import { isDeepStrictEqual } from "node:util";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Settings, SettingsChanges } from "@workspace-tasks/mock-server";
import { issuesOfSettings, withSettings } from "@workspace-tasks/mock-server/parts";
import { agrees, assumptionsOf, expectedOf, type Fact, type Rule } from "./ask/rule.ts";
import { assumptions } from "./assumptions.ts";
import type { Finding } from "./findings.ts";
import { rules } from "./rules/table.ts";

/** `differs`: from an assumption, where the interface leaves the fact open. `refuted`: from the interface. */
export type Verdict = "confirmed" | "differs" | "refuted" | "not-testable";

/** What is known of one rule. */
export interface RuleResult {
  readonly id: string;
  readonly title: string;
  readonly assumptions: readonly string[];
  readonly verdict: Verdict;
  readonly sent: readonly string[];
  readonly expected: string;
  /** What the service did; for a rule that is not testable, why, and what it takes. */
  readonly received: string;
  /** Settings that make the mock do the same; `null` when there are none. Only of rules that differ or are refuted. */
  readonly settings?: SettingsChanges | null | undefined;
}

export const isDifference = ({ verdict }: RuleResult): boolean =>
  verdict === "refuted" || verdict === "differs";

/** Compares what a service shows with the table, or with what a mock with other settings shows. */
export function evaluate(
  findings: readonly Finding[],
  settings: SettingsChanges = {},
  ofMock?: readonly Finding[],
): readonly RuleResult[] {
  const byRule = (list: readonly Finding[]) => new Map(list.map((each) => [each.rule, each]));
  const [found, shown] = [byRule(findings), ofMock && byRule(ofMock)];
  return rules.map((rule) => {
    const isShown = shown && rule.needs !== "deliveries";
    const expected = isShown ? shown.get(rule.id)?.fact : expectedOf(rule, withSettings(settings));
    return resultOf(rule, found.get(rule.id) ?? { rule: rule.id, sent: [], unknown: "not asked" }, expected);
  });
}

function resultOf(rule: Rule, { sent, fact, unknown }: Finding, expected: Fact | undefined): RuleResult {
  const common = { id: rule.id, title: rule.says, assumptions: assumptionsOf(rule), sent };
  const expectedText = expected === undefined ? "" : describeFact(expected);
  if (fact === undefined || expected === undefined) {
    const received = unknown ?? "the mock does not show it";
    return { ...common, verdict: "not-testable", expected: expectedText, received };
  }
  if (agrees(rule, expected, fact))
    return { ...common, verdict: "confirmed", expected: expectedText, received: describeFact(fact) };
  const proposed = rule.setting?.(fact, expected) ?? null;
  // What a service does may be outside of what the mock can be set to.
  const settings = proposed && issuesOfSettings(proposed).length === 0 ? proposed : null;
  const isOpen = rule.keeps?.(expected, fact) ?? common.assumptions.length > 0;
  return { ...common, verdict: isOpen ? "differs" : "refuted", ...difference(expected, fact), settings };
}

/** Objects with the same fields are described by those that differ. */
function difference(expected: Fact, found: Fact): Pick<RuleResult, "expected" | "received"> {
  if (!isFields(expected) || !isFields(found) || "message" in expected)
    return { expected: describeFact(expected), received: describeFact(found) };
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
  const differing = names.filter((name) => !isDeepStrictEqual(expected[name], found[name]));
  const pick = (fact: Fields) =>
    describeFact(Object.fromEntries(differing.map((name) => [name, fact[name] ?? "none"])));
  return { expected: pick(expected), received: pick(found) };
}

type Fields = Readonly<Record<string, Fact>>;
const isFields = (fact: Fact): fact is Fields => isPlainObject(fact);

/** A fact as a few words. */
export function describeFact(fact: Fact): string {
  if (typeof fact === "boolean") return fact ? "yes" : "no";
  if (Array.isArray(fact)) return fact.length === 0 ? "none" : fact.map(describeFact).join(", ");
  if (!isFields(fact)) return String(fact);
  const { code, message } = fact;
  if (typeof code === "string" && typeof message === "string") return `${code} "${message}"`;
  return Object.entries(fact)
    .map(
      ([name, value]) => `${name}: ${isFields(value) ? `{ ${describeFact(value)} }` : describeFact(value)}`,
    )
    .join("; ");
}

/** The settings that rules propose, together, on top of those that the mock was compared with. */
export const proposedSettings = (results: readonly RuleResult[], base: SettingsChanges): SettingsChanges =>
  results.reduce((merged, { settings }) => {
    const { errors } = settings ?? {};
    const others =
      merged.errors?.filter((each) => !errors?.some((error) => isOfSameError(each, error))) ?? [];
    const joined = errors ? { errors: [...others, ...errors] } : {};
    return withSettings({ ...settings, ...joined }, merged as Settings) as SettingsChanges;
  }, base);

type Replacement = Settings["errors"][number];
const isOfSameError = (a: Replacement, b: Replacement) => a.code === b.code && a.message === b.message;

export interface AssumptionResult {
  readonly id: string;
  readonly subject: string;
  readonly verdict: Exclude<Verdict, "refuted">;
  /** What was confirmed is a part of it; `note` names the rest. */
  readonly partly: boolean;
  readonly rules: readonly string[];
  /** For one that is not testable or confirmed in part only: what the rest takes. */
  readonly note: string;
}

/** Differs when one of its rules does, confirmed when one is confirmed and none differs. */
export function evaluateAssumptions(results: readonly RuleResult[]): readonly AssumptionResult[] {
  return Object.entries(assumptions).map(([id, [subject, , rest]]) => {
    const own = results.filter((result) => result.assumptions.includes(id));
    const has = (verdict: Verdict) => own.some((result) => result.verdict === verdict);
    const verdict = has("differs") ? "differs" : has("confirmed") ? "confirmed" : "not-testable";
    const reasons = own.flatMap((result) => {
      if (result.verdict === "refuted") return [`${result.id} is refuted`];
      return result.verdict === "not-testable" ? [result.received] : [];
    });
    const notes = [...new Set([...reasons, ...(rest === undefined ? [] : [rest])])];
    const partly = verdict === "confirmed" && notes.length > 0;
    return { id, subject, verdict, partly, rules: own.map((result) => result.id), note: notes.join("; ") };
  });
}
