import type { AuditCheck, Finding } from "./checks/check.ts";

/** A check with its result. */
export interface AuditResult
  extends Omit<AuditCheck, "stage" | "run" | "unverified">,
    Omit<Finding, "unreachable" | "acknowledged"> {
  readonly durationMs: number;
}

/** One finding from which others follow. */
export interface AuditCause {
  /** The id of the failed check, which has the fix. */
  readonly check: string;
  readonly message: string;
}

export interface AuditProblem {
  readonly code:
    | "UNREACHABLE"
    | "NOT_HTTP"
    | "OBSERVE_URL"
    | "STOPPED"
    | "NO_RESPONSE"
    | "CLOSED"
    | "NOT_FOUND"
    | "WRONG_ROUTE"
    | "REDIRECTED"
    | "REJECTED"
    | "SERVER_ERROR";
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
  /**
   * Why the checks did not run. When the receiver did not acknowledge a valid delivery, `results` has the failed
   * `baseline.valid-delivery`; otherwise, as when nothing listens at the URL, it is empty.
   */
  readonly problem?: AuditProblem;
  /** The checks in progress when the receiver stopped accepting connections. */
  readonly stoppedDuring?: readonly string[];
  /** That no signature is verified. Checks that need it are skipped, and passes that prove nothing are `inconclusive`. */
  readonly cause?: AuditCause;
  readonly results: readonly AuditResult[];
}
