export { auditReceiver } from "./audit/audit-receiver.ts";
export { auditChecks } from "./audit/checks/catalog.ts";
export type { AuditCheck, AuditOutcome, AuditRequirement } from "./audit/checks/check.ts";
export {
  type AuditSummary,
  type AuditVerdict,
  exitCodeOf,
  renderJsonReport,
  renderTextReport,
  summaryOfReport,
  verdictOf,
} from "./audit/report.ts";
export type { AuditProblem, AuditReport, AuditResult } from "./audit/result.ts";
export type { AuditOptions, AuditProgress } from "./audit/target/options.ts";
