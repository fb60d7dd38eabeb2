import * as z from "zod";
import type { Immutable } from "../../state/immutable.ts";
import { duration } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";
import { expectedDeliveries } from "../deliveries/delivery-routes.ts";
import { documentsPull, eventToSend, newCatalogEvent } from "../events/event-routes.ts";
import { newFaults } from "../faults/fault-routes.ts";
import { newTask, stageChange, taskChange, taskPlan } from "../tasks/task-routes.ts";

// A scenario is a list of calls of the control API: each step but the last two is named after the method
// that it calls.

const named = {
  as: z
    .string()
    .regex(/^[A-Za-z][\w-]*$/, "expected a name such as firstTask")
    .optional()
    .describe("Keeps the response under this name."),
};

const taskId = z.string().min(1).describe("Usually the `taskId` of a step that has a name.");

const repeatTimesMax = 1_000_000;
const stepsMax = 10_000;

const step = z.discriminatedUnion("do", [
  z.strictObject({ do: z.literal("start-task"), ...named, ...newTask.shape }),
  z.strictObject({ do: z.literal("set-task-status"), ...named, taskId, ...taskChange.shape }),
  z.strictObject({ do: z.literal("set-stage-status"), ...named, taskId, ...stageChange.shape }),
  z.strictObject({ do: z.literal("set-task-plan"), taskType: z.string().min(1), ...taskPlan.shape }),
  z.strictObject({ do: z.literal("sync-documents"), ...named, ...documentsPull.shape }),
  z.strictObject({ do: z.literal("add-catalog-event"), ...newCatalogEvent.shape }),
  z.strictObject({ do: z.literal("send-event"), ...named, ...eventToSend.shape }),
  z.strictObject({ do: z.literal("set-faults"), faults: newFaults }),
  z.strictObject({ do: z.literal("clear-faults") }),
  z.strictObject({ do: z.literal("advance-clock"), by: duration }),
  z
    .strictObject({ do: z.literal("expect-deliveries"), ...expectedDeliveries.shape })
    .describe("Waits for matching deliveries; the scenario fails when they do not arrive in time."),
  z.strictObject({
    do: z.literal("repeat"),
    times: z.int().min(1).max(repeatTimesMax),
    get steps() {
      return z.array(step).min(1).max(stepsMax);
    },
  }),
]);

export const scenario = z.strictObject({
  name: z.string().min(1).optional(),
  variables: z
    .record(z.string(), z.string())
    .optional()
    .describe("Values that texts of the steps refer to as `{{name}}`."),
  steps: z.array(step).max(stepsMax),
});

const report = z.object({
  steps: z.int().describe("Steps executed; those inside `repeat` count each time."),
  responses: z.record(z.string(), z.unknown()).describe("Responses of the named steps."),
});

/** A scenario as it is written. */
export type ScenarioInput = Immutable<z.input<typeof scenario>>;
/** A checked scenario. */
export type Scenario = z.output<typeof scenario>;
export type ScenarioStep = z.output<typeof step>;
export type ScenarioReport = z.output<typeof report>;

export const scenarioRoutes = {
  playScenario: defineRoute("POST /scenarios", {
    summary: "Executes the steps of a scenario in order; responds after the last one.",
    input: scenario,
    response: report,
  }),
};
