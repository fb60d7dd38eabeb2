import type { Requirement } from "./checks/check.ts";
import type { SchemeName } from "./target/scheme.ts";

export type AuditOutcome = "passed" | "failed" | "skipped" | "unfinished";

export interface AuditResult {
  readonly id: string;
  readonly requirement: Requirement;
  readonly title: string;
  readonly outcome: AuditOutcome;
  readonly sent: string;
  readonly expected: string;
  readonly received: string;
  readonly mend: string;
  /** The answers were right, but whether the effects were could not be seen. */
  readonly answersOnly?: boolean;
  readonly durationMs: number;
}

export interface AuditProblem {
  readonly code:
    | "URL_INVALID"
    | "SECRET_INVALID"
    | "UNREACHABLE"
    | "NO_ANSWER"
    | "CLOSED"
    | "NOT_HTTP"
    | "NOT_FOUND"
    | "WRONG_ROUTE"
    | "REDIRECTED"
    | "REFUSED"
    | "SERVER_ERROR"
    | "OBSERVE_URL";
  readonly message: string;
  readonly hints: readonly string[];
}

export interface AuditReport {
  /** The audited URL, without user, password and query. */
  readonly url: string;
  readonly scheme: SchemeName;
  readonly toleranceSeconds: number;
  readonly observed: boolean;
  readonly startedAt: string;
  readonly durationMs: number;
  /** Why the audit could not be made; `results` is empty then. */
  readonly problem?: AuditProblem;
  /** The checks under way when the receiver stopped accepting connections for good. */
  readonly stoppedDuring?: readonly string[];
  readonly results: readonly AuditResult[];
}
