import type { AuditOutcome, AuditRequirement } from "../checks/check.ts";
import type { AuditReport } from "../result.ts";

export type AuditVerdict = "passed" | "failed" | "could-not-run";

export type AuditSummary = Readonly<Record<AuditRequirement, Readonly<Record<AuditOutcome, number>>>>;

/** `failed` when a MUST failed or the receiver stopped; `could-not-run` when a MUST has no result. */
export function verdictOf(report: AuditReport): AuditVerdict {
  const musts = report.results.filter(({ requirement }) => requirement === "MUST");
  if (report.stoppedDuring || musts.some(({ outcome }) => outcome === "failed")) return "failed";
  if (report.problem || report.results.length === 0) return "could-not-run";
  return musts.some(({ outcome }) => outcome === "unfinished") ? "could-not-run" : "passed";
}

/** 0 when every MUST passed or was skipped, 1 when one failed, 2 when check-receiver could not run. */
export function exitCodeOf(report: AuditReport): 0 | 1 | 2 {
  return ({ passed: 0, failed: 1, "could-not-run": 2 } as const)[verdictOf(report)];
}

export function summaryOfReport({ results }: Pick<AuditReport, "results">): AuditSummary {
  const outcomes = (requirement: AuditRequirement) => {
    const counts = { passed: 0, failed: 0, skipped: 0, inconclusive: 0, unfinished: 0 };
    for (const result of results) if (result.requirement === requirement) counts[result.outcome] += 1;
    return counts;
  };
  return { MUST: outcomes("MUST"), SHOULD: outcomes("SHOULD") };
}

/** The checks that were judged by responses only. */
export const notObserved = ({ results }: AuditReport): readonly string[] =>
  results.filter(({ responsesOnly }) => responsesOnly).map(({ id }) => id);
