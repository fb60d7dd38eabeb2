// Which tasks are listed, because deliveries about them may have been missed. The tasks API lists by start, newest first.
//
// Once an hour the list goes back to the time in which the service retries, before the last accepted delivery or the last
// complete list, whichever is older: every delivery from then on may have used up its attempts while nothing was accepted.
// The calls in between list what has started since. A call that fails has listed nothing: the next one begins again.
//
// The first list has every task, and may take longer than a process lives. It notes each page, and the next call continues
// behind it: tasks that have started since have moved the others back, so none is left out.
//
// The marks contain times of the service, so that a clock of the receiver that was wrong for a while leaves no gap.

import { parseOccurredAt } from "@workspace-tasks/events";
import { isFarFuture } from "../event/event-order.ts";
import type { ReconcilableTask, ReconcileClient } from "../event/reconcile-client.ts";
import type { InboxMarks } from "../inbox/inbox.ts";
import { lastReceived } from "../maintenance/maintenance.ts";
import { defaults } from "../options.ts";
import type { ReceiverSettings } from "../receiver-options.ts";

type WindowSettings = Pick<ReceiverSettings, "inbox" | "source" | "clock"> & {
  /** Of which `source` may be a tenant: deliveries to all tenants have one way. */
  readonly receiverSource: string;
};

const mark = {
  /** Newest start of the last complete list. */
  newest: "listed-to",
  /** The inbox's time of the last complete list. */
  at: "listed-at",
  /** How many tasks of the first list were processed, and the newest start among them. */
  firstCount: "first-list-count",
  firstNewest: "first-list-newest",
} as const;

const hourMs = 3_600_000;
const tasksPerPage = 100;
/** The service's clock and the receiver's differ, and a task is listed a moment after its start. */
const overlapMs = 15 * 60_000;

/** The tasks of the window. It counts as listed once its consumer asks for more than the last task. */
export async function* tasksOfWindow(
  settings: WindowSettings,
  client: ReconcileClient,
  sinceMs: number | undefined,
): AsyncGenerator<ReconcilableTask> {
  if (sinceMs === 0) return;
  const { inbox, source, receiverSource, clock } = settings;
  const nowMs = clock.now();
  const { marks: receiverMarks } = await inbox.readMarks(receiverSource);
  const { nowMs: storeNowMs, marks } = await inbox.readMarks(source);
  if (sinceMs !== undefined) return yield* tasksSince(client, nowMs - sinceMs, nowMs);
  if (marks[mark.at] === undefined) return yield* everyTask(settings, client, marks, storeNowMs);
  const newest = marks[mark.newest] ?? nowMs;
  if (isRecent(marks, storeNowMs))
    return yield* tasksSince(client, Math.min(nowMs, Number(newest)) - overlapMs, nowMs);
  const received = receiverMarks[lastReceived] ?? nowMs;
  const oldestMs = Math.min(nowMs, Number(received), Number(newest)) - defaults.reconcile.retryScheduleMs;
  let newestMs = 0;
  for await (const task of tasksSince(client, oldestMs, nowMs)) {
    const startedMs = startOf(task, nowMs);
    if (Number.isFinite(startedMs)) newestMs = Math.max(newestMs, startedMs);
    yield task;
  }
  const listed = newestMs > 0 ? { [mark.newest]: String(newestMs) } : {};
  await inbox.writeMarks(source, { [mark.at]: String(storeNowMs), ...listed });
}

async function* everyTask(
  { inbox, source, clock }: WindowSettings,
  client: ReconcileClient,
  marks: InboxMarks,
  storeNowMs: number,
): AsyncGenerator<ReconcilableTask> {
  let count = Math.max(0, Number(marks[mark.firstCount] ?? 0) - tasksPerPage);
  let newestMs = Number(marks[mark.firstNewest] ?? 0);
  for await (const task of client.tasks.list({ limit: tasksPerPage, offset: count })) {
    const startedMs = startOf(task, clock.now());
    if (Number.isFinite(startedMs)) newestMs = Math.max(newestMs, startedMs);
    yield task;
    count += 1;
    if (count % tasksPerPage > 0) continue;
    const noted = { [mark.firstCount]: String(count), [mark.firstNewest]: String(newestMs) };
    await inbox.writeMarks(source, noted);
  }
  const listed = newestMs > 0 ? { [mark.newest]: String(newestMs) } : {};
  await inbox.writeMarks(source, { [mark.at]: String(storeNowMs), ...listed });
}

/** Not a number before the first list; negative when the clock was set back. */
function isRecent(marks: InboxMarks, storeNowMs: number): boolean {
  const agoMs = storeNowMs - Number(marks[mark.at]);
  return agoMs >= 0 && agoMs < hourMs;
}

/** So many older tasks in a row end the list: a single wrong time must not. */
const olderInRowMax = 20;

async function* tasksSince(client: ReconcileClient, oldestMs: number, nowMs: number) {
  let olderInRow = 0;
  for await (const task of client.tasks.list({ limit: tasksPerPage })) {
    const isOlder = startOf(task, nowMs) < oldestMs;
    olderInRow = isOlder ? olderInRow + 1 : 0;
    if (olderInRow >= olderInRowMax) return;
    if (!isOlder) yield task;
  }
}

/** Infinity for a time that cannot be right: such a task belongs to every window. */
function startOf({ startedAt }: ReconcilableTask, nowMs: number): number {
  const instant = parseOccurredAt(startedAt);
  const isWrong = instant === undefined || isFarFuture(instant, nowMs);
  return isWrong ? Number.POSITIVE_INFINITY : Number(instant / 1_000_000n);
}
