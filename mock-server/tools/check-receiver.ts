export { auditReceiver } from "./check-receiver/audit-receiver.ts";
export { auditChecks } from "./check-receiver/checks/catalog.ts";
export type { AuditCheck, AuditOutcome, AuditRequirement } from "./check-receiver/checks/probe-check.ts";
export type { AuditCause, AuditProblem, AuditReport, AuditResult } from "./check-receiver/report.ts";
export {
  type AuditSummary,
  type AuditVerdict,
  exitCodeOf,
  renderJsonReport,
  renderJunitReport,
  renderTextReport,
  summaryOfReport,
  type TextReportOptions,
  verdictOf,
} from "./check-receiver/report.ts";
export type { AuditOptions, AuditProgress } from "./check-receiver/target/target.ts";
