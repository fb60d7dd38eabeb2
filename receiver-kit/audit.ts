export { auditReceiver } from "./audit/audit-receiver.ts";
export { auditChecks } from "./audit/checks/catalog.ts";
export type { AuditCheck, Requirement } from "./audit/checks/check.ts";
export type { AuditOptions, AuditProgress } from "./audit/options.ts";
export {
  type AuditSummary,
  type AuditVerdict,
  exitCodeOf,
  renderJsonReport,
  renderTextReport,
  summaryOfReport,
  verdictOf,
} from "./audit/report.ts";
export type { AuditOutcome, AuditProblem, AuditReport, AuditResult } from "./audit/result.ts";
