export { auditReceiver } from "./check-receiver/audit-receiver.ts";
export { auditChecks } from "./check-receiver/checks/catalog.ts";
export type { AuditCheck, AuditOutcome, AuditRequirement } from "./check-receiver/checks/check.ts";
export { renderJsonReport } from "./check-receiver/report/json-report.ts";
export { renderJunitReport } from "./check-receiver/report/junit-report.ts";
export { renderTextReport, type TextReportOptions } from "./check-receiver/report/text-report.ts";
export {
  type AuditSummary,
  type AuditVerdict,
  exitCodeOf,
  summaryOfReport,
  verdictOf,
} from "./check-receiver/report/verdict.ts";
export type { AuditCause, AuditProblem, AuditReport, AuditResult } from "./check-receiver/result.ts";
export type { AuditOptions, AuditProgress } from "./check-receiver/target/options.ts";
