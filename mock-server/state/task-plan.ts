import { customerError, taxPrepResult } from "@workspace-tasks/events/fields";
import * as z from "zod";
import { durationMsMax } from "../time/duration.ts";
import type { Immutable } from "./immutable.ts";

const endStatus = z.enum(["COMPLETED", "FAILED"]);

export const stagePlanSchema = z.strictObject({
  /** Free text, for example `tax-extraction`. */
  type: z.string().min(1).describe("Free text, for example `tax-extraction`."),
  durationMs: z.number().nonnegative().max(durationMsMax),
  /** A failed stage fails the task; later stages do not start. Default: `COMPLETED`. */
  status: endStatus.optional().describe("Default: `COMPLETED`."),
  errorMessage: z.string().optional(),
});

export const taskOutcomeSchema = z.strictObject({
  status: endStatus,
  errorMessage: z.string().optional(),
  customerError: customerError.sent.nullable().optional(),
  taxPrepResult: taxPrepResult.sent.optional(),
});

export const taskPlanSchema = z.strictObject({
  progression: z.enum(["immediate", "timed", "manual"]),
  stages: z.array(stagePlanSchema),
  /** How the task ends when no stage has failed. Default: `COMPLETED`. */
  outcome: taskOutcomeSchema.optional(),
});

export const taskPlansSchema = z.record(z.string(), taskPlanSchema);

/**
 * How a task progresses by itself.
 *
 * `immediate` runs all stages and ends the task within the call that starts it, `timed` gives each stage
 * its duration on the mock's clock, `manual` starts the task and leaves the rest to the control API.
 */
export type TaskPlan = Immutable<z.infer<typeof taskPlanSchema>>;
export type StagePlan = Immutable<z.infer<typeof stagePlanSchema>>;
export type TaskOutcome = Immutable<z.infer<typeof taskOutcomeSchema>>;

/** Plans by task type; `*` is the plan of every type without one of its own. */
export type TaskPlans = Readonly<Record<string, TaskPlan>>;
