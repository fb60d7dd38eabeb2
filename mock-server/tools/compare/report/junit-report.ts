import { type JunitCase, renderJunit } from "../../junit.ts";
import type { RuleResult } from "../evaluate/evaluate-rules.ts";
import type { CompareReport } from "./compare-report.ts";
import { sentText } from "./text-report.ts";

/** The report for CI: a test case for each rule. One that is refuted fails, one that is not testable is skipped. */
export function renderJunitReport({ problem, rules, stopped }: CompareReport): string {
  const error = problem?.message ?? stopped;
  const run = { id: "run", name: "the comparison runs to its end" };
  const unfinished = error === null ? [] : [{ ...run, error, details: problem?.received ?? "" }];
  return renderJunit("workspace-tasks compare", [...rules.map(caseOf), ...unfinished]);
}

function caseOf({ id, title, verdict, assumptions, ...rule }: RuleResult): JunitCase {
  const { sent, expected, received } = rule;
  const test = { id, name: [title, ...assumptions].join(" ") };
  if (verdict === "confirmed") return test;
  if (verdict === "not-testable") return { ...test, skipped: received };
  const failure = `expected ${expected}, received ${received}`;
  return { ...test, failure, details: `sent: ${sentText(sent)}` };
}
