import type { CustomerError, TaxPrepResult } from "../../sdk/events/index.ts";

/**
 * How a task moves on by itself.
 *
 * `immediate` runs all stages and ends the task within the call that starts it, `timed` gives each stage
 * its duration on the mock's clock, `manual` starts the task and leaves the rest to the control API.
 */
export type TaskPlan = {
  readonly mode: "immediate" | "timed" | "manual";
  readonly stages: readonly StagePlan[];
  /** How the task ends when no stage has failed. Default: `COMPLETED`. */
  readonly outcome?: TaskOutcome | undefined;
};

export type StagePlan = {
  /** Free text, for example `tax-extraction`. */
  readonly type: string;
  readonly durationMs: number;
  /** A failed stage fails the task; later stages do not start. Default: `COMPLETED`. */
  readonly status?: "COMPLETED" | "FAILED" | undefined;
  readonly errorMessage?: string | undefined;
};

export type TaskOutcome = {
  readonly status: "COMPLETED" | "FAILED";
  readonly errorMessage?: string | undefined;
  readonly customerError?: CustomerError | null | undefined;
  readonly taxPrepResult?: TaxPrepResult | undefined;
};

/** Plans by task type; `*` stands for every type that is not named. */
export type TaskPlans = { readonly [taskType: string]: TaskPlan };
