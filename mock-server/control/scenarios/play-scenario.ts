import { valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { MockServerError } from "../../errors.ts";
import { nextTurn } from "../../time/real-clock.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { DeliveryControls } from "../deliveries/delivery-controls.ts";
import type { EventControls } from "../events/event-controls.ts";
import type { FaultControls } from "../faults/fault-controls.ts";
import type { MockControls } from "../mock/mock-controls.ts";
import type { TaskControls } from "../tasks/task-controls.ts";
import type { Scenario, ScenarioReport, ScenarioStep, scenarioRoutes } from "./scenario-routes.ts";

/** Steps of one run; those inside `repeat` count each time. */
const stepsMax = 1_000_000;
/** After this many steps the run yields to deliveries and other callers. */
const stepsPerTurn = 100;

/** The calls that a step can make. */
type StepControls = TaskControls &
  Omit<EventControls, "getEvent"> &
  Pick<FaultControls, "setFaults" | "clearFaults"> &
  Pick<MockControls, "advanceClock"> &
  Pick<DeliveryControls, "waitForDeliveries">;

export const createScenarioControls = (controls: StepControls): ControlsOf<typeof scenarioRoutes> => ({
  playScenario: (scenario, { signal } = {}) => playScenario(controls, scenario as Scenario, signal),
});

/**
 * Executes the steps in order.
 * @throws MockServerError SCENARIO_FAILED for a reference to nothing, or a step that is rejected, with its name; and when
 *   the caller has disconnected
 */
async function playScenario(
  controls: StepControls,
  { steps, variables = {} }: Scenario,
  signal?: AbortSignal | undefined,
): Promise<ScenarioReport> {
  const responses: Record<string, unknown> = {};
  let count = 0;

  const countStep = async () => {
    count++;
    if (count > stepsMax) throw failure(`scenario has more than ${stepsMax} steps`);
    if (count % stepsPerTurn === 0) await nextTurn();
    if (signal?.aborted) throw failure(`scenario was cancelled after ${count} steps`);
  };

  const play = async (list: readonly ScenarioStep[], path: string): Promise<void> => {
    for (const [index, step] of list.entries()) {
      const position = `${path}${index + 1}`;
      if (step.do === "repeat") {
        for (let time = 0; time < step.times; time++) await play(step.steps, `${position}.`);
        continue;
      }
      const values = { ...variables, ...responses };
      const response = await executeStep(controls, resolveReferences(step, values, position), position);
      await countStep();
      if ("as" in step && step.as !== undefined) responses[step.as] = response;
    }
  };

  await play(steps, "");
  return { steps: count, responses };
}

const failure = (message: string, cause?: unknown) =>
  new MockServerError("SCENARIO_FAILED", message, { cause });

type CallStep = Exclude<ScenarioStep, { do: "repeat" }>;

async function executeStep(controls: StepControls, step: CallStep, position: string): Promise<unknown> {
  try {
    return await callControl(controls, step);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "failed";
    throw failure(`scenario step ${position} (${step.do}): ${reason}`, cause);
  }
}

/** The call that a step is named after; the id in its path comes first, then its input. */
const calls: Readonly<Record<CallStep["do"], { readonly name: keyof StepControls; readonly id?: string }>> = {
  "start-task": { name: "startTask" },
  "set-task-status": { name: "setTaskStatus", id: "taskId" },
  "set-stage-status": { name: "setStageStatus", id: "taskId" },
  "set-task-plan": { name: "setTaskPlan", id: "taskType" },
  "sync-documents": { name: "syncDocuments" },
  "add-catalog-event": { name: "addCatalogEvent" },
  "send-event": { name: "sendEvent" },
  "set-faults": { name: "setFaults" },
  "clear-faults": { name: "clearFaults" },
  "advance-clock": { name: "advanceClock" },
  "expect-deliveries": { name: "waitForDeliveries" },
};

function callControl(controls: StepControls, { do: step, ...fields }: CallStep): unknown {
  const { name, id } = calls[step];
  const { as: _, ...rest } = fields as Readonly<Record<string, unknown>>;
  const input = "faults" in rest ? rest["faults"] : rest;
  const call = controls[name] as (...parameters: unknown[]) => unknown;
  if (id === undefined) return call(input);
  const { [id]: subject, ...change } = rest;
  return call(subject, change);
}

const referencePattern = /\{\{([A-Za-z][\w-]*(?:\.[\w-]+)*)\}\}/g;

/** The step with every `{{name.field}}` in its texts replaced, at any depth. */
function resolveReferences<Value>(value: Value, values: Record<string, unknown>, position: string): Value {
  const resolve = (part: unknown): unknown => {
    if (typeof part === "string") return part.replace(referencePattern, (_, path: string) => lookUp(path));
    if (Array.isArray(part)) return part.map(resolve);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, field]) => [name, resolve(field)]));
  };
  const lookUp = (path: string): string => {
    const found = valueAt(values, ...path.split("."));
    if (typeof found === "string" || typeof found === "number") return String(found);
    throw failure(`scenario step ${position}: {{${path}}} refers to nothing`);
  };
  return resolve(value) as Value;
}
