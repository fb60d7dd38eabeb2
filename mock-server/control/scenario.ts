import { z } from "zod";
import { ControlError } from "./control-error.ts";
import { deliveryFilter } from "./delivery-routes.ts";
import { catalogBody, documentsSyncedBody, sendEventBody } from "./event-routes.ts";
import { faultsBody } from "./fault-routes.ts";
import { duration } from "./fields.ts";
import { moveStageBody, moveTaskBody, startTaskBody, taskPlanBody } from "./task-routes.ts";

// A scenario is a list of calls of the control API, written down: the same file serves a test, a
// demonstration and a report of a fault. A step that is given a name keeps its answer, and texts of later
// steps may refer to it as `{{name.field}}`.

const named = {
  as: z
    .string()
    .regex(/^[A-Za-z][\w-]*$/, "expected a name such as firstTask")
    .optional()
    .describe("Keeps the answer under this name."),
};

const taskId = z.string().min(1).describe("Usually the `taskId` of a step that has a name.");

const repeatTimesMax = 1_000_000;
const stepsMax = 10_000;

const step = z.discriminatedUnion("do", [
  z.strictObject({ do: z.literal("start-task"), ...named, ...startTaskBody.shape }),
  z.strictObject({ do: z.literal("move-task"), ...named, taskId, ...moveTaskBody.shape }),
  z.strictObject({ do: z.literal("move-stage"), ...named, taskId, ...moveStageBody.shape }),
  z.strictObject({ do: z.literal("plan-tasks"), taskType: z.string().min(1), ...taskPlanBody.shape }),
  z.strictObject({ do: z.literal("sync-documents"), ...named, ...documentsSyncedBody.shape }),
  z.strictObject({ do: z.literal("add-to-catalog"), ...catalogBody.shape }),
  z.strictObject({ do: z.literal("send-event"), ...named, ...sendEventBody.shape }),
  z.strictObject({ do: z.literal("set-faults"), faults: faultsBody }),
  z.strictObject({ do: z.literal("clear-faults") }),
  z.strictObject({ do: z.literal("advance"), by: duration }),
  z
    .strictObject({
      do: z.literal("expect-deliveries"),
      ...deliveryFilter,
      attempted: z.boolean().optional(),
      count: z.int().min(1),
      timeoutMs: z.int().min(0).max(600_000).default(10_000),
    })
    .describe("Waits for so many matching deliveries; the scenario fails when they do not come."),
  z.strictObject({
    do: z.literal("repeat"),
    times: z.int().min(1).max(repeatTimesMax),
    get steps() {
      return z.array(step).min(1).max(stepsMax);
    },
  }),
]);

const scenarioSchema = z.strictObject({
  name: z.string().min(1).optional(),
  steps: z.array(step).max(stepsMax),
});

export type ScenarioStep = z.output<typeof step>;
/** A scenario as it is written. */
export type ScenarioDocument = z.input<typeof scenarioSchema>;
/** A scenario that has been checked. */
export type Scenario = z.output<typeof scenarioSchema>;

/** A scenario that cannot be read, or a step that did not go as it says; the message names the place. */
export class ScenarioError extends ControlError {
  constructor(message: string, cause?: unknown) {
    super("SCENARIO_REFUSED", message);
    if (cause !== undefined) this.cause = cause;
  }
}

/**
 * Checks a scenario from JSON.
 * @throws ScenarioError that names the first step and field that are wrong
 */
export function readScenario(value: unknown): Scenario {
  const parsed = scenarioSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ScenarioError(`scenario: ${issue?.path.join(".") || "document"}: ${issue?.message}`);
}

/** Reads a scenario from the text of a file. @throws ScenarioError */
export function parseScenario(text: string): Scenario {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ScenarioError("scenario: the text is not JSON", cause);
  }
  return readScenario(value);
}
