import type { AuditCheck, Finding } from "./checks/check.ts";

/** A check with its result. */
export interface AuditResult extends Omit<AuditCheck, "stage" | "run">, Omit<Finding, "unreachable"> {
  readonly durationMs: number;
}

export interface AuditProblem {
  readonly code:
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
