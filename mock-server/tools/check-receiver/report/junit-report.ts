import { type JunitCase, renderJunit } from "../../junit.ts";
import type { AuditReport, AuditResult } from "../result.ts";

/** The report for CI: a test case for each check. The root cause is the first; what it leaves without a result is skipped. */
export function renderJunitReport(report: AuditReport): string {
  const { cause, problem, results, stoppedDuring } = report;
  const unfinished =
    problem && results.length === 0
      ? [problem.message, ...problem.hints]
      : stoppedDuring && [`the receiver stopped during ${stoppedDuring.join(", ")}`];
  const ordered = [...results].sort((a, b) => Number(b.id === cause?.check) - Number(a.id === cause?.check));
  return renderJunit("workspace-tasks check-receiver", [
    ...ordered.map((result) => caseOf(result, result.id === cause?.check ? `${cause.message}; ` : "")),
    ...(unfinished
      ? [{ id: "run", name: "check-receiver runs to its end", error: unfinished.join(" ") }]
      : []),
  ]);
}

function caseOf({ id, requirement, title, ...result }: AuditResult, cause: string): JunitCase {
  const { outcome, sent, expected, received, fix } = result;
  const test = { id, name: `${requirement} ${title}` };
  if (outcome === "passed") return test;
  if (outcome === "unfinished") return { ...test, error: received };
  // Systems of CI have no third kind of failure: a SHOULD does not fail the run, and does not fail its case.
  const message = `${cause}expected ${expected}, received ${received}`;
  if (outcome !== "failed") return { ...test, skipped: `${outcome}: ${received}` };
  if (requirement === "SHOULD") return { ...test, skipped: `${message}; ${fix}` };
  return { ...test, failure: message, details: `sent: ${sent}; fix: ${fix}` };
}
