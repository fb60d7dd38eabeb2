import type { Requirement } from "./checks/check.ts";

export type AuditOutcome = "passed" | "failed" | "skipped" | "unfinished";

export interface AuditResult {
  readonly id: string;
  readonly requirement: Requirement;
  readonly title: string;
  readonly outcome: AuditOutcome;
  readonly sent: string;
  readonly expected: string;
  readonly received: string;
  readonly fix: string;
  /** The responses were correct, but the effects could not be observed. */
  readonly responsesOnly?: boolean;
  readonly durationMs: number;
}

export interface AuditProblem {
  readonly code:
    | "URL_INVALID"
    | "SECRET_INVALID"
    | "UNREACHABLE"
    | "NO_RESPONSE"
    | "CLOSED"
    | "NOT_HTTP"
    | "NOT_FOUND"
    | "WRONG_ROUTE"
    | "REDIRECTED"
    | "REJECTED"
    | "SERVER_ERROR"
    | "OBSERVE_URL";
  readonly message: string;
  readonly hints: readonly string[];
}

export interface AuditReport {
  /** The URL of the receiver, without user, password and query. */
  readonly url: string;
  readonly toleranceSeconds: number;
  readonly observed: boolean;
  readonly startedAt: string;
  readonly durationMs: number;
  /** Why the checks could not run; `results` is empty then. */
  readonly problem?: AuditProblem;
  /** The checks in progress when the receiver stopped accepting connections. */
  readonly stoppedDuring?: readonly string[];
  readonly results: readonly AuditResult[];
}
