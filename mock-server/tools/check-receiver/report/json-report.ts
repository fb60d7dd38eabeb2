import type { AuditReport } from "../result.ts";
import { notObserved, summaryOfReport, verdictOf } from "./verdict.ts";

/** One JSON document. `formatVersion` changes when a field is removed or changes its meaning. */
export function renderJsonReport({ cause, ...report }: AuditReport): string {
  const document = {
    tool: "check-receiver",
    formatVersion: 1,
    verdict: verdictOf(report),
    ...(cause && { cause }),
    summary: summaryOfReport(report),
    notObserved: notObserved(report),
    ...report,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
