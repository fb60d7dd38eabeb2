export {
  type AuditOptions,
  type AuditOutcome,
  type AuditProblem,
  type AuditProgress,
  type AuditReport,
  type AuditResult,
  auditReceiver,
} from "./audit/audit.ts";
export { auditChecks } from "./audit/catalog.ts";
export type { AuditCheck, Requirement } from "./audit/check.ts";
export { type CommandIo, runCheckReceiverCommand } from "./audit/command.ts";
export {
  type AuditSummary,
  type AuditVerdict,
  exitCodeOf,
  renderJsonReport,
  renderTextReport,
  summaryOfReport,
  verdictOf,
} from "./audit/report.ts";
export type { SchemeName } from "./audit/scheme.ts";
