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

const stageDurationMs = 1_000;

const timedPlan = (...stages: string[]): TaskPlan => ({
  mode: "timed",
  stages: stages.map((type) => ({ type, durationMs: stageDurationMs })),
});

/** A-18 names the stages of a `TAX_PREP`; those of the other types are invented alike. */
export const defaultTaskPlans: TaskPlans = {
  TAX_PREP: timedPlan("document-classification", "tax-extraction", "reconciliation", "data-entry", "review"),
  TAX_PREP_LITE: timedPlan("document-classification", "tax-extraction"),
  BINDER: timedPlan("document-classification", "binder-assembly"),
  TAX_REVIEW: timedPlan("reconciliation", "review"),
  TAX_ADVISOR: timedPlan("analysis"),
  "*": timedPlan("processing"),
};
