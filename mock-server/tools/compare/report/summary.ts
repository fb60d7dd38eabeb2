import type { RuleResult, Verdict } from "../evaluate/evaluate-rules.ts";
import type { CompareReport } from "./compare-report.ts";

/**
 * `differs`: in what the interface leaves open. `could-not-run` also when the run ended early without a refuted rule: nothing
 * is known of the rest.
 */
export type CompareVerdict = "agrees" | "differs" | "refuted" | "could-not-run";

export type Counts = Readonly<Record<Verdict, number>>;

export function countsOf(results: readonly { readonly verdict: Verdict }[]): Counts {
  const counts = { confirmed: 0, differs: 0, refuted: 0, "not-testable": 0 };
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}

export function verdictOf({ problem, rules, stopped }: CompareReport): CompareVerdict {
  if (problem) return "could-not-run";
  const { confirmed, differs, refuted } = countsOf(rules);
  if (refuted > 0) return "refuted";
  if (stopped !== null || confirmed + differs === 0) return "could-not-run";
  return differs > 0 ? "differs" : "agrees";
}

/** 0 when no rule is refuted, 1 when one is, 2 when it could not run, was not finished, or has left endpoints on the service. */
export const exitCodeOf = (report: CompareReport): 0 | 1 | 2 => {
  if (report.removal?.command) return 2;
  return ({ agrees: 0, differs: 0, refuted: 1, "could-not-run": 2 } as const)[verdictOf(report)];
};

export const isDifference = ({ verdict }: RuleResult): boolean =>
  verdict === "refuted" || verdict === "differs";
