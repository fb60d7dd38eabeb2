import type { Admin } from "./admin.ts";
import { type Scenario, ScenarioError, type ScenarioStep } from "./scenario.ts";

/** Steps of one run, those inside `repeat` counted each time. */
const stepsTakenMax = 1_000_000;
/** After so many steps deliveries and other callers get their turn. */
const stepsPerTurn = 100;

export type ScenarioReport = {
  /** Steps taken, those inside `repeat` each time. */
  readonly steps: number;
  /** Answers of the steps that have a name; of one that ran repeatedly the last. */
  readonly answers: Readonly<Record<string, unknown>>;
};

/**
 * Takes the steps one after the other.
 * @param variables names that the texts of the scenario may refer to from the start, as `{{name}}`
 * @throws ScenarioError for a reference to nothing, or a step that the mock refuses; names the step
 */
export async function playScenario(
  admin: Admin,
  scenario: Scenario,
  variables: Readonly<Record<string, string>> = {},
): Promise<ScenarioReport> {
  const answers: Record<string, unknown> = { ...variables };
  let steps = 0;

  const play = async (list: readonly ScenarioStep[], path: string): Promise<void> => {
    for (const [index, step] of list.entries()) {
      const place = `${path}${index + 1}`;
      if (step.do === "repeat") {
        for (let time = 0; time < step.times; time++) await play(step.steps, `${place}.`);
        continue;
      }
      const answer = await takeStep(admin, resolveReferences(step, answers, place), place);
      steps++;
      if (steps > stepsTakenMax) throw new ScenarioError(`scenario takes more than ${stepsTakenMax} steps`);
      if (steps % stepsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
      if ("as" in step && step.as !== undefined) answers[step.as] = answer;
    }
  };

  await play(scenario.steps, "");
  return { steps, answers };
}

type PlainStep = Exclude<ScenarioStep, { do: "repeat" }>;

async function takeStep(admin: Admin, step: PlainStep, place: string): Promise<unknown> {
  try {
    return await callStep(admin, step);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "failed";
    throw new ScenarioError(`scenario step ${place} (${step.do}): ${reason}`, cause);
  }
}

function callStep(admin: Admin, step: PlainStep): unknown {
  switch (step.do) {
    case "start-task":
      return admin.startTask(without(step, "do", "as"));
    case "move-task":
      return admin.moveTask(step.taskId, without(step, "do", "as", "taskId"));
    case "move-stage":
      return admin.moveStage(step.taskId, without(step, "do", "as", "taskId"));
    case "plan-tasks":
      return admin.planTasks(step.taskType, without(step, "do", "taskType"));
    case "sync-documents":
      return admin.syncDocuments(without(step, "do", "as"));
    case "add-to-catalog":
      return admin.addToCatalog(without(step, "do"));
    case "send-event":
      return admin.sendEvent(without(step, "do", "as"));
    case "set-faults":
      return admin.setFaults(step.faults);
    case "clear-faults":
      return admin.clearFaults();
    case "advance":
      return admin.advance(step.by);
    case "expect-deliveries": {
      const { timeoutMs, ...deliveries } = without(step, "do");
      return admin.wait({ deliveries, timeoutMs });
    }
  }
}

function without<Step extends object, Name extends keyof Step>(
  step: Step,
  ...names: Name[]
): Omit<Step, Name> {
  const rest = { ...step };
  for (const name of names) delete rest[name];
  return rest;
}

const referencePattern = /\{\{([A-Za-z][\w-]*(?:\.[\w-]+)*)\}\}/g;

/** The step with every `{{name.field}}` in its texts replaced, at any depth. */
function resolveReferences<Value>(value: Value, answers: Record<string, unknown>, place: string): Value {
  const resolve = (part: unknown): unknown => {
    if (typeof part === "string") return part.replace(referencePattern, (_, path: string) => lookUp(path));
    if (Array.isArray(part)) return part.map(resolve);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, field]) => [name, resolve(field)]));
  };
  const lookUp = (path: string): string => {
    const found = path
      .split(".")
      .reduce<unknown>((holder, name) => (isRecord(holder) ? holder[name] : undefined), answers);
    if (typeof found === "string" || typeof found === "number") return String(found);
    throw new ScenarioError(`scenario step ${place}: {{${path}}} refers to nothing`);
  };
  return resolve(value) as Value;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
