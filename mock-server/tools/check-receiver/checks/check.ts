import type { Target } from "../target/target.ts";

/** MUST follows from the interface or from forgery being possible; SHOULD is robustness. */
export type AuditRequirement = "MUST" | "SHOULD";

/** `inconclusive`: passed, but a receiver that verifies nothing passes as well. */
export type AuditOutcome = "passed" | "failed" | "skipped" | "inconclusive" | "unfinished";

/** The result of one check. `received` is one line, without any secret or payload. */
export interface Finding {
  readonly outcome: AuditOutcome;
  readonly received: string;
  /** The responses were correct, but the effects could not be observed. */
  readonly responsesOnly?: boolean;
  /** Skipped, because it would fail for the root cause of the run. */
  readonly follows?: boolean;
  /** Failed, and every wrong response was an acknowledgement. */
  readonly acknowledged?: boolean;
  /** The receiver could no longer be reached at the end of the check. */
  readonly unreachable?: boolean;
}

/** One attack with its expected outcome. */
export interface CheckDefinition {
  readonly requirement: AuditRequirement;
  /** What a correct receiver does, as a sentence. */
  readonly title: string;
  readonly sent: string;
  readonly expected: string;
  readonly fix: string;
  /** `alone`: no other check runs at the same time. `last`: after all others, reviewing their responses too. */
  readonly stage?: "alone" | "last";
  /** The option without which the check is skipped. */
  readonly needs?: "oldSecret";
  /**
   * For a receiver that acknowledges forged deliveries: `skipped` when the check then fails for that reason alone,
   * `inconclusive` when it passes because everything is acknowledged.
   */
  readonly unverified?: "skipped" | "inconclusive" | undefined;
  readonly run: (target: Target) => Promise<Finding>;
}

export interface AuditCheck extends CheckDefinition {
  /** `<subject>.<name>` */
  readonly id: string;
}

/** A check without what runs it, as reports and lists have it. */
export const describedCheck = ({ id, requirement, title, sent, expected, fix }: AuditCheck) => {
  return { id, requirement, title, sent, expected, fix };
};

/** The texts of a check, for functions that supply the rest of it. */
export type CheckTexts = Pick<CheckDefinition, "title" | "sent" | "fix"> & Partial<CheckDefinition>;

/**
 * Checks by id. An id is permanent: reports and `--only` lists of users refer to it. A check that tests something
 * else gets a new id.
 */
export type CheckTable = Readonly<Record<string, CheckDefinition>>;

export const passed = (received: string): Finding => ({ outcome: "passed", received });
export const failed = (received: string): Finding => ({ outcome: "failed", received });
export const passedIf = (condition: boolean, received: string) => (condition ? passed : failed)(received);
