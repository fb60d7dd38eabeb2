import type { Target } from "../target/target.ts";
import { type CheckDefinition, type CheckTable, type Finding, failed, passed, passedIf } from "./check.ts";
import { sendInOrder } from "./effects.ts";
import { isAcknowledged, summaryOf } from "./probe-check.ts";

const guard =
  "Store occurredAt with the state of each task, and write only if the event's is later; acknowledge the older event as well.";

/** Sends task.completed, then an older task.running, and, with an observer, expects the task to stay COMPLETED. */
async function staysCompleted(target: Target, completedAt: string, runningAt: string): Promise<Finding> {
  const taskId = target.nextId();
  const completed = { taskId, event: "task.completed", status: "COMPLETED", occurredAt: completedAt };
  const newer = target.compose({ payload: target.samples.task(completed) });
  const older = target.compose({ payload: target.samples.task({ taskId, occurredAt: runningAt }) });
  const { observer } = target;
  const countedId = observer?.perDelivery ? newer.id : "";
  const countBefore = observer ? await observer.count(countedId) : 0;
  const results = await sendInOrder(target, [newer, older]);
  const summary = summaryOf(results);
  if (!results.every(isAcknowledged)) return failed(summary);
  if (!observer) return { ...passed(`${summary} (responses only)`), responsesOnly: true };
  // Effects may follow the acknowledgement; the older event may correctly have none.
  await observer.settledCount(countedId, countBefore + 1);
  const status = await observer.taskStatus(taskId);
  if (status === undefined) return { ...passed(`${summary} (no "status" returned)`), responsesOnly: true };
  return passedIf(status === "COMPLETED", `${summary}; the task is ${status}`);
}

function orderCheck({
  times,
  ...check
}: Omit<CheckDefinition, "run" | "stage" | "expected"> & {
  /** When the task was completed and, earlier, running, as `occurredAt` texts. */
  readonly times: (nowMs: number) => readonly [completedAt: string, runningAt: string];
}): CheckDefinition {
  return {
    ...check,
    stage: "alone",
    expected: "2xx for both, and the task stays COMPLETED",
    run: (target) => staysCompleted(target, ...times(target.clock.now())),
  };
}

const iso = (ms: number) => new Date(ms).toISOString();

export const orderChecks: CheckTable = {
  "order.older-after-newer": orderCheck({
    requirement: "MUST",
    title: "does not let an older event replace newer state",
    sent: "task.completed, then task.running of the same task with an earlier occurredAt",
    fix: guard,
    times: (nowMs) => [iso(nowMs - 10_000), iso(nowMs - 60_000)],
  }),
  "order.microseconds": orderCheck({
    requirement: "SHOULD",
    title: "orders events that are microseconds apart",
    sent: "task.completed, then task.running of the same task with an occurredAt one microsecond earlier",
    fix: `${guard} Compare the full text of the fraction: for a date type of milliseconds both are equal.`,
    times(nowMs) {
      const second = iso(nowMs - 10_000).slice(0, 19);
      return [`${second}.123002Z`, `${second}.123001Z`];
    },
  }),
  "order.offsets": orderCheck({
    requirement: "SHOULD",
    title: "orders times with different zone offsets",
    sent: "task.completed, then an earlier task.running whose occurredAt is written with the offset +14:00",
    fix: `${guard} Compare instants, not texts: the same moment can be written in many ways.`,
    times(nowMs) {
      const fourteenHoursMs = 14 * 3_600_000;
      return [iso(nowMs - 10_000), iso(nowMs - 60_000 + fourteenHoursMs).replace("Z", "+14:00")];
    },
  }),
};
