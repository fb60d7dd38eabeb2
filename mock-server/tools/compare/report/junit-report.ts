import { type JunitCase, renderJunit } from "../../junit.ts";
import type { RuleResult } from "../evaluate/evaluate-rules.ts";
import type { CompareReport } from "./compare-report.ts";
import { removalText, sentText } from "./text-report.ts";

/** The report for CI: a test case for each rule. One that is refuted fails; one that differs or is not testable is skipped. */
export function renderJunitReport({ problem, rules, stopped, removal }: CompareReport): string {
  const unfinished = problem?.message ?? stopped;
  return renderJunit("workspace-tasks compare", [
    ...rules.map(caseOf),
    ...(unfinished === null ? [] : [unfinishedCase(unfinished, problem?.received)]),
    ...(removal?.command
      ? [{ id: "run", name: "nothing is left on the service", error: removalText(removal) }]
      : []),
  ]);
}

function caseOf({ id, title, verdict, assumptions, sent, expected, received }: RuleResult): JunitCase {
  const test = { id, name: [title, ...assumptions].join(" ") };
  if (verdict === "confirmed") return test;
  if (verdict === "not-testable") return { ...test, skipped: received };
  const message = `expected ${expected}, received ${received}`;
  if (verdict === "differs")
    return { ...test, skipped: `differs from ${assumptions.join(", ")}: ${message}` };
  return { ...test, failure: message, details: `sent: ${sentText(sent)}` };
}

const unfinishedCase = (error: string, details = ""): JunitCase => ({
  id: "run",
  name: "the comparison runs to its end",
  error,
  details,
});
