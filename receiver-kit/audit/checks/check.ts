import type { SchemeName } from "../target/scheme.ts";
import type { Target } from "../target/target.ts";

/** MUST follows from the interface or from forgery being possible; SHOULD is robustness. */
export type Requirement = "MUST" | "SHOULD";

/** What one check saw. `received` is one line, without any secret or payload. */
export type Finding = {
  readonly outcome: "passed" | "failed" | "skipped";
  readonly received: string;
  /** The answers were right, but whether the effects were could not be seen. */
  readonly answersOnly?: boolean;
  /** The receiver could no longer be reached at the end of the check. */
  readonly unreachable?: boolean;
};

/**
 * One attack with its verdict. The id never changes its meaning: reports and `--only` lists of users
 * refer to it. A check that would judge something else gets a new id.
 */
export type AuditCheck = {
  /** `<subject>.<name>`, permanent. */
  readonly id: string;
  readonly requirement: Requirement;
  /** What a good receiver does, as a sentence. */
  readonly title: string;
  readonly sent: string;
  readonly expected: string;
  readonly mend: string;
  /** Schemes the check makes sense for; all when absent. */
  readonly schemes?: readonly SchemeName[];
  /** `alone`: nothing else may be under way. `last`: after all others, reviewing their answers too. */
  readonly stage?: "alone" | "last";
  readonly run: (target: Target) => Promise<Finding>;
};

export const passed = (received: string): Finding => ({ outcome: "passed", received });
export const failed = (received: string): Finding => ({ outcome: "failed", received });
export const skipped = (reason: string): Finding => ({ outcome: "skipped", received: reason });
