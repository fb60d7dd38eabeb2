import { escapeXml } from "../../junit.ts";
import type { RuleResult } from "../evaluate/evaluate-rules.ts";
import type { CompareReport } from "./compare-report.ts";
import { countsOf } from "./summary.ts";
import { removalText, sentText } from "./text-report.ts";

/** The report for CI: a test case for each rule. One that is refuted fails; one that differs or is not testable is skipped. */
export function renderJunitReport(report: CompareReport): string {
  const { problem, rules, stopped, removal } = report;
  const unfinished = problem?.message ?? stopped;
  const errors = [
    unfinished !== null && errorCase("the comparison runs to its end", unfinished, problem?.received),
    removal?.command && errorCase("nothing is left on the service", removalText(removal)),
  ].filter(Boolean);
  const { refuted, differs, "not-testable": notTestable } = countsOf(rules);
  const skipped = differs + notTestable;
  const counts = `tests="${rules.length + errors.length}" failures="${refuted}" skipped="${skipped}" errors="${errors.length}"`;
  const cases = [...rules.map(testCase), ...errors].join("");
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n<testsuite name="workspace-tasks compare" ${counts}>\n${cases}</testsuite>\n</testsuites>\n`;
}

function testCase({ id, title, verdict, assumptions, sent, expected, received }: RuleResult): string {
  const name = [title, ...assumptions].join(" ");
  const open = `<testcase classname="${escapeXml(id)}" name="${escapeXml(name)}"`;
  if (verdict === "confirmed") return `${open}/>\n`;
  if (verdict === "not-testable") return `${open}><skipped message="${escapeXml(received)}"/></testcase>\n`;
  const message = escapeXml(`expected ${expected}, received ${received}`);
  if (verdict === "differs")
    return `${open}><skipped message="differs from ${assumptions.join(", ")}: ${message}"/></testcase>\n`;
  return `${open}><failure message="${message}">${escapeXml(`sent: ${sentText(sent)}`)}</failure></testcase>\n`;
}

const errorCase = (name: string, message: string, received = "") =>
  `<testcase classname="run" name="${name}"><error message="${escapeXml(message)}">${escapeXml(received)}</error></testcase>\n`;
