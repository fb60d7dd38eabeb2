export { auditReceiver } from "./check-receiver/audit-receiver.ts";
export { auditChecks } from "./check-receiver/checks/catalog.ts";
export type { AuditCheck, AuditOutcome, AuditRequirement } from "./check-receiver/checks/check.ts";
export {
  type AuditSummary,
  type AuditVerdict,
  exitCodeOf,
  renderJsonReport,
  renderTextReport,
  summaryOfReport,
  verdictOf,
} from "./check-receiver/report.ts";
export type { AuditProblem, AuditReport, AuditResult } from "./check-receiver/result.ts";
export type { AuditOptions, AuditProgress } from "./check-receiver/target/options.ts";
