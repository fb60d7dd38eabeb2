import type { CompareReport } from "./compare-report.ts";
import { countsOf, verdictOf } from "./summary.ts";

/** One JSON document. `formatVersion` changes when a field is removed or changes its meaning. */
export function renderJsonReport(report: CompareReport): string {
  const document = {
    tool: "workspace-tasks compare",
    formatVersion: 1,
    verdict: verdictOf(report),
    summary: { rules: countsOf(report.rules), assumptions: countsOf(report.assumptions) },
    ...report,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
