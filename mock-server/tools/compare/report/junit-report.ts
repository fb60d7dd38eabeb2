import { escapeXml } from "../../junit.ts";
import type { RuleResult } from "../evaluate/evaluate-rules.ts";
import type { CompareReport } from "./compare-report.ts";
import { countsOf } from "./summary.ts";
import { sentText } from "./text-report.ts";

/** The report for CI: a test case for each rule. One that is refuted fails, one that is not testable is skipped. */
export function renderJunitReport(report: CompareReport): string {
  const { problem, rules, stopped } = report;
  const unfinished = problem?.message ?? stopped;
  const errors = unfinished === null ? [] : [errorCase(unfinished, problem?.received ?? "")];
  const { refuted, "not-testable": skipped } = countsOf(rules);
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
  return `${open}><failure message="${message}">${escapeXml(`sent: ${sentText(sent)}`)}</failure></testcase>\n`;
}

const errorCase = (message: string, received: string) =>
  `<testcase classname="run" name="the comparison runs to its end"><error message="${escapeXml(message)}">${escapeXml(received)}</error></testcase>\n`;
