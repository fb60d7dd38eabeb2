import { events, isKnownEventName, knownEventNames } from "@workspace-tasks/events/catalog";
import { exampleFields } from "@workspace-tasks/events/example";
import {
  type CommandIo,
  defineCommand,
  type FlagValues,
  flag,
  onlyArgument,
  text,
  toggle,
  UsageError,
  write,
  writeData,
  writeNotice,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { durationText, lineWidth, painter, renderTable, usesColor } from "@workspace-tasks/kernel/layout.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { ControlApi } from "../control/control-api.ts";
import type { DeliverySummary } from "../control/deliveries.ts";
import type { ClockView } from "../control/mock.ts";
import type { TaskSummary } from "../control/tasks.ts";
import { isMockServerError } from "../errors.ts";
import { withoutSecrets, withoutStatus } from "./activity-log.ts";
import { mockUrlFlags, withRunningMock } from "./running-mock.ts";

const flags = {
  ...mockUrlFlags,
  workspace: text("<id>", "workspace (the mock's first)"),
  taskType: text("<type>", "type of the task (TAX_PREP)"),
  stage: text("<name>", "stage of a subtask event (tax-extraction)"),
  payload: flag("<json>", "payload to send, without a task of the mock", {
    parse: parseObject,
    expected: "a JSON object",
  }),
  json: toggle("print one JSON document instead of lines"),
};

/** Runs `workspace-tasks trigger` and returns its exit code. */
export const runTriggerCommand = defineCommand({
  name: "trigger",
  synopsis: "<event> [options]",
  about: `Makes a running mock send an event to the webhook endpoints that subscribe to
it, and prints for each its URL, the status of the response and the next try. A
task event comes from a real task of the mock: task.completed is preceded by
task.running.`,
  parameters: [["<event>", `${knownEventNames.join(", ")}, or another event of the mock's catalog`]],
  flags,
  notes: `Exit code: 0 every delivery succeeded, 1 one did not, nothing was sent, or the
mock did not respond, 2 wrong arguments.`,
  async run(args, io) {
    const event = onlyArgument(args, "one event name");
    const options: TriggerOptions = { ...args.flags, event };
    checkApplicable(options);
    return withRunningMock(args.flags, io, async (control) => {
      const { subject, deliveries } = await trigger(control, options);
      const clock = await control.getClock();
      if (options.json) writeData(io, `${JSON.stringify({ event, subject, deliveries })}\n`);
      else write(io, render(event, deliveries, Date.parse(clock.now), io));
      const hasSucceeded = deliveries.length > 0 && deliveries.every(({ status }) => status === "succeeded");
      const hint = hasSucceeded ? undefined : hintFor(clock, deliveries);
      if (hint !== undefined) writeNotice(io, "trigger", hint);
      return hasSucceeded ? 0 : 1;
    });
  },
});

/** @throws UsageError for a flag that this event would ignore */
function checkApplicable({ event, taskType, stage, payload }: TriggerOptions): void {
  const kind = isKnownEventName(event) && payload === undefined ? events[event].kind : "custom";
  if (stage !== undefined && kind !== "stage")
    throw new UsageError("--stage: expected with subtask.completed or subtask.failed, and without --payload");
  if (taskType !== undefined && kind !== "stage" && kind !== "task")
    throw new UsageError("--task-type: expected with an event about a task, and without --payload");
}

type TriggerOptions = FlagValues<typeof flags> & { readonly event: string };

function parseObject(value: string): Record<string, unknown> | undefined {
  const parsed = jsonOrUndefined(value);
  return isPlainObject(parsed) ? parsed : undefined;
}

async function trigger(control: ControlApi, options: TriggerOptions) {
  const subject = await causeEvent(control, options);
  return { subject, deliveries: await attemptedDeliveries(control, options, subject) };
}

/** Causes the event; returns the id of its subject, by which its deliveries are found. */
async function causeEvent(control: ControlApi, options: TriggerOptions): Promise<string> {
  const { event, workspace: workspaceId, taskType = "TAX_PREP", stage = "tax-extraction" } = options;
  const isKnown = isKnownEventName(event);
  const status = isKnown ? taskStatuses[events[event].status] : undefined;
  if (!isKnown || status === undefined || options.payload !== undefined) {
    const payload = options.payload ?? (isKnown ? exampleFields(event) : {});
    const { eventId } = await control.sendEvent({ name: event, payload, workspaceId });
    return eventId;
  }
  await checkTaskType(control, taskType);
  const { taskId } = await control.startTask({ taskType, workspaceId, progression: "manual" });
  if (events[event].kind === "stage") {
    await control.setStageStatus(taskId, { subTaskType: stage, status });
  } else if (status !== "RUNNING") {
    await control.setTaskStatus(taskId, { status });
  }
  return taskId;
}

/** @throws UsageError for a type whose tasks emit no events */
async function checkTaskType(control: ControlApi, taskType: string): Promise<void> {
  const { typesWithEvents } = (await control.getSettings()).tasks;
  if (typesWithEvents.includes(taskType)) return;
  throw new UsageError(
    `--task-type: expected one of ${typesWithEvents.join(", ")}, got ${JSON.stringify(taskType)}; the mock's setting tasks.typesWithEvents adds types`,
  );
}

/** Statuses that a task of the mock can have. */
const taskStatuses: Readonly<Record<string, TaskSummary["status"]>> = {
  RUNNING: "RUNNING",
  COMPLETED: "COMPLETED",
  FAILED: "FAILED",
};

const waitMs = 5_000;

/** The deliveries of the event, once each has had its first attempt or the time limit is reached. */
async function attemptedDeliveries(
  control: ControlApi,
  { event }: TriggerOptions,
  subject: string,
): Promise<readonly DeliverySummary[]> {
  const list = async () => (await control.listDeliveries({ event, subject, limit: 1_000 })).data;
  const created = await list();
  if (created.length === 0) return created;
  try {
    await control.waitForDeliveries({
      event,
      subject,
      attempted: true,
      count: created.length,
      timeoutMs: waitMs,
    });
  } catch (error) {
    // The time limit is no failure: the deliveries show their state.
    if (!isMockServerError(error, "WAIT_TIMED_OUT")) throw error;
  }
  return list();
}

function render(event: string, deliveries: readonly DeliverySummary[], nowMs: number, io: CommandIo): string {
  if (deliveries.length === 0) return `${event}: no enabled endpoint of the workspace subscribes to it\n`;
  const paint = painter(usesColor(io));
  const paintStatus = (status: string) => paint(status, /^2/.test(status) ? "good" : "bad");
  const columns = [{}, { flexible: true }, { paint: paintStatus }, { flexible: 24 }];
  const rows = deliveries.map((delivery) => [
    `${event} →`,
    withoutSecrets(delivery.url ?? delivery.endpointId),
    String(delivery.lastStatus ?? "---"),
    outcomeOf(delivery, nowMs),
  ]);
  return renderTable(columns, rows, lineWidth(io.stdout));
}

function outcomeOf(delivery: DeliverySummary, nowMs: number): string {
  const { status, attemptCount, nextTry, triesMax, nextAttemptAt, lastError } = delivery;
  if (attemptCount === 0) return status === "pending" ? "no response yet" : status;
  if (status !== "pending") return [status, lastError && withoutStatus(lastError)].filter(Boolean).join(", ");
  // The reason last: it is what is shortened.
  const parts = [
    nextTry !== null && `try ${nextTry - 1} of ${triesMax}`,
    nextAttemptAt !== null && `next in ${durationText(Date.parse(nextAttemptAt) - nowMs)}`,
    lastError && withoutStatus(lastError),
  ];
  return parts.filter(Boolean).join(", ");
}

/** A receiver rejects signatures that are older than this, or from the future. */
const signatureAgeMsMax = 5 * 60_000;

function hintFor({ now, mode }: ClockView, deliveries: readonly DeliverySummary[]): string | undefined {
  if (deliveries.length === 0) {
    return "nothing was sent; start the mock with --deliver-to <url>, or create an endpoint";
  }
  const isRejected = deliveries.some(
    ({ lastStatus }) => lastStatus !== null && lastStatus >= 400 && lastStatus < 500,
  );
  const isFar = Math.abs(Date.parse(now) - Date.now()) >= signatureAgeMsMax;
  if (!isRejected || mode === "real" || !isFar) return undefined;
  return `the mock signs with its virtual time ${now}; a receiver with a clock of its own rejects that as too old or too new`;
}
