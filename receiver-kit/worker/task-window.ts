// Which tasks are listed, because deliveries about them may have been missed. The tasks API lists by start, newest first.
//
// A complete pass goes back to the time in which the service retries, before the last accepted delivery or the last
// complete pass, whichever is older: every delivery from then on may have used up its attempts while nothing was
// accepted. One pass an hour is enough; it may take several calls, each of which lists `tasksMax` tasks. The calls in
// between list what has started since.
//
// The marks contain times of the service, so that a clock of the receiver that was wrong for a while leaves no gap.

import { parseOccurredAt } from "../../sdk/events/index.ts";
import { isFarFuture } from "../event/event-order.ts";
import type { InboxMarks } from "../inbox/inbox.ts";
import { defaults } from "../options.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { lastReceived } from "./maintenance.ts";
import type { ReconcilableTask, ReconcileClient } from "./task-changes.ts";

interface WindowOptions {
  readonly sinceMs: number | undefined;
  readonly tasksMax: number;
}

type WindowSettings = Pick<ReceiverSettings, "inbox" | "source" | "clock"> & {
  /** Of which `source` may be a tenant: deliveries to all tenants have one way. */
  readonly receiverSource: string;
};

/** What one call lists. */
interface Listing {
  readonly oldestMs: number;
  readonly offset: number;
  /** The newest start that an unfinished pass has seen. */
  readonly newestMs: number;
}

const mark = {
  /** Newest start that the last complete pass has seen. */
  newest: "listed-to",
  /** The inbox's time of the last complete pass. */
  at: "listed-at",
  /** The unfinished pass, as JSON of a `Listing`. */
  unfinished: "listing",
} as const;

const hourMs = 3_600_000;
/** The service's clock and the receiver's differ, and a task is listed a moment after its start. */
const overlapMs = 15 * 60_000;

/** Calls `onTask` for each task of the window. */
export async function listWindow(
  settings: WindowSettings,
  client: ReconcileClient,
  { sinceMs, tasksMax }: WindowOptions,
  onTask: (task: ReconcilableTask) => Promise<void>,
): Promise<{ readonly complete: boolean }> {
  if (sinceMs === 0) return { complete: true };
  const { inbox, source, receiverSource, clock } = settings;
  const nowMs = clock.now();
  const { marks: receiverMarks } = await inbox.readMarks(receiverSource);
  const { nowMs: storeNowMs, marks: ownMarks } = await inbox.readMarks(source);
  const received = receiverMarks[lastReceived];
  const marks: InboxMarks = received === undefined ? ownMarks : { ...ownMarks, [lastReceived]: received };
  const pass = sinceMs === undefined ? passOf(marks, nowMs, storeNowMs) : undefined;
  const listing = pass ?? { oldestMs: sinceOf(marks, nowMs, sinceMs), offset: 0, newestMs: 0 };
  const listed = await listFrom(client, listing, tasksMax, nowMs, onTask);
  if (pass) {
    const newest = { ...pass, newestMs: Math.max(pass.newestMs, listed.newestMs) };
    // The next call repeats some tasks: the list moves when one of them is deleted.
    const offset = pass.offset + listed.count - Math.min(100, Math.floor(listed.count / 2));
    await inbox.writeMarks(
      source,
      listed.complete
        ? {
            [mark.at]: String(storeNowMs),
            [mark.unfinished]: "",
            ...(newest.newestMs > 0 ? { [mark.newest]: String(newest.newestMs) } : {}),
          }
        : { [mark.unfinished]: JSON.stringify({ ...newest, offset }) },
    );
  }
  return { complete: listed.complete };
}

/** The pass to begin or continue; `undefined` when the last one is recent. */
function passOf(marks: InboxMarks, nowMs: number, storeNowMs: number): Listing | undefined {
  if (marks[mark.unfinished]) return JSON.parse(marks[mark.unfinished] ?? "") as Listing;
  const agoMs = storeNowMs - Number(marks[mark.at]);
  // Not a number before the first pass; negative when the clock was set back.
  if (agoMs >= 0 && agoMs < hourMs) return undefined;
  const since = [marks[lastReceived], marks[mark.newest]].filter((text) => text !== undefined).map(Number);
  return {
    oldestMs: Math.min(nowMs, ...since) - defaults.reconcile.retryScheduleMs,
    offset: 0,
    newestMs: 0,
  };
}

function sinceOf(marks: InboxMarks, nowMs: number, sinceMs: number | undefined): number {
  if (sinceMs !== undefined) return nowMs - sinceMs;
  return Math.min(nowMs, Number(marks[mark.newest] ?? nowMs)) - overlapMs;
}

/** So many older tasks in a row end the list: a single wrong time must not. */
const olderInRowMax = 20;

async function listFrom(
  client: ReconcileClient,
  { oldestMs, offset }: Listing,
  tasksMax: number,
  nowMs: number,
  onTask: (task: ReconcilableTask) => Promise<void>,
) {
  let count = 0;
  let olderInRow = 0;
  let newestMs = 0;
  for await (const task of client.tasks.list({ limit: 100, ...(offset > 0 ? { offset } : {}) })) {
    if (count >= tasksMax) return { count, newestMs, complete: false };
    count += 1;
    const startedMs = startOf(task, nowMs);
    olderInRow = startedMs < oldestMs ? olderInRow + 1 : 0;
    if (olderInRow >= olderInRowMax) break;
    if (startedMs < oldestMs) continue;
    if (Number.isFinite(startedMs)) newestMs = Math.max(newestMs, startedMs);
    await onTask(task);
  }
  return { count, newestMs, complete: true };
}

/** Infinity for a time that cannot be right: such a task belongs to every window. */
function startOf({ startedAt }: ReconcilableTask, nowMs: number): number {
  const instant = parseOccurredAt(startedAt);
  const isWrong = instant === undefined || isFarFuture(instant, nowMs);
  return isWrong ? Number.POSITIVE_INFINITY : Number(instant / 1_000_000n);
}
