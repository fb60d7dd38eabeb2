import type { JsonObject } from "../target/sample-events.ts";
import type { Target } from "../target/target.ts";
import { type AuditCheck, type Finding, failed, passed } from "./check.ts";
import { isAcknowledged, summaryOf } from "./probe-check.ts";

const guard =
  "Store occurredAt beside the state of each task, and write only if the event's is later; acknowledge the older event all the same.";

/** Sends the events in turn and, where it can be seen, expects the task to end in `status`. */
async function endsIn(target: Target, status: string, events: readonly JsonObject[]): Promise<Finding> {
  const deliveries = events.map((payload) => target.compose({ payload }));
  const { observer } = target;
  const newest = observer?.perDelivery ? (deliveries[0]?.id ?? "") : "";
  const countBefore = observer ? await observer.count(newest) : 0;
  const answers = [];
  for (const delivery of deliveries) answers.push(await target.send(delivery));
  const summary = summaryOf(answers);
  if (!answers.every(isAcknowledged)) return failed(summary);
  const taskId = String(events[0]?.["taskId"]);
  if (!observer) return { ...passed(`${summary} (answers only)`), answersOnly: true };
  // A worker may apply later what was acknowledged; an outdated event may rightly have no effect at all.
  await observer.settledCount(newest, countBefore + 1);
  const seen = await observer.taskStatus(taskId);
  if (seen === undefined) return { ...passed(`${summary} (no "status" told)`), answersOnly: true };
  const received = `${summary}; the task is ${seen}`;
  return seen === status ? passed(received) : failed(received);
}

const stage = "alone";

export const orderChecks: readonly AuditCheck[] = [
  {
    id: "order.older-after-newer",
    requirement: "MUST",
    stage,
    expected: "2xx for both, and the task stays COMPLETED",
    title: "does not let an older event replace newer state",
    sent: "task.completed, then task.running of the same task with an earlier occurredAt",
    mend: guard,
    run(target) {
      const now = target.clock.now();
      const taskId = target.nextId();
      return endsIn(target, "COMPLETED", [
        target.samples.task({
          taskId,
          event: "task.completed",
          status: "COMPLETED",
          occurredAt: new Date(now - 10_000).toISOString(),
        }),
        target.samples.task({ taskId, occurredAt: new Date(now - 60_000).toISOString() }),
      ]);
    },
  },
  {
    id: "order.microseconds",
    requirement: "SHOULD",
    stage,
    expected: "2xx for both, and the task stays COMPLETED",
    title: "orders events that are microseconds apart",
    sent: "task.completed, then task.running of the same task with an occurredAt one microsecond earlier",
    mend: `${guard} Compare the full text of the fraction: a date type of milliseconds sees a tie.`,
    run(target) {
      const second = new Date(target.clock.now() - 10_000).toISOString().slice(0, 19);
      const taskId = target.nextId();
      return endsIn(target, "COMPLETED", [
        target.samples.task({
          taskId,
          event: "task.completed",
          status: "COMPLETED",
          occurredAt: `${second}.123002Z`,
        }),
        target.samples.task({ taskId, occurredAt: `${second}.123001Z` }),
      ]);
    },
  },
  {
    id: "order.offsets",
    requirement: "SHOULD",
    stage,
    expected: "2xx for both, and the task stays COMPLETED",
    title: "orders times written in different zones",
    sent: "task.completed, then an earlier task.running whose occurredAt is written with the offset +14:00",
    mend: `${guard} Compare instants, not texts: the same moment can be written in many ways.`,
    run(target) {
      const now = target.clock.now();
      const taskId = target.nextId();
      const fourteenHoursMs = 14 * 3_600_000;
      const local = new Date(now - 60_000 + fourteenHoursMs).toISOString().replace("Z", "+14:00");
      return endsIn(target, "COMPLETED", [
        target.samples.task({
          taskId,
          event: "task.completed",
          status: "COMPLETED",
          occurredAt: new Date(now - 10_000).toISOString(),
        }),
        target.samples.task({ taskId, occurredAt: local }),
      ]);
    },
  },
];
