// What the page shows of an inbox. Every read is bounded, whatever the inbox holds, and says where it ended.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { groupBy } from "@workspace-tasks/kernel/group-by.ts";
import { decodePosition, formatInstant } from "../event/event-order.ts";
import { decodeUtf8 } from "../event/parse-delivery.ts";
import type { InboxRowDetails, InboxRowSummary, InboxStore } from "../inbox/inbox.ts";
import { findRows, type RowFilter, taskOf } from "../maintenance/row-filter.ts";
import type { ReceiverStats } from "../stats/receiver-stats.ts";
import type * as page from "./contract.ts";

/** The newest events that the overview counts. */
const activityMax = 1_000;
const bars = 60;
/** Failures that are grouped. */
const failuresMax = 2_000;
/** Events that one request looks at. */
const lookedMax = 50_000;
/** Where counting for a question ends. */
const countedMax = 10_000;
const reconciledMax = 20;

export interface FilterWithSource extends RowFilter {
  readonly source?: string | undefined;
}

export async function readOverview(
  inbox: InboxStore,
  nowMs: number,
  stats: ReceiverStats | undefined,
): Promise<Omit<page.Overview, "readOnly" | "actor" | "token">> {
  const [{ rows, oldestPendingMs }, newest, leases, failures] = await Promise.all([
    stats ? stats.inbox : inbox.stats(),
    inbox.list({ limit: activityMax }),
    inbox.leases(),
    readFailures(inbox, 200),
  ]);
  const summaries = newest.map(toSummary);
  return {
    now: new Date(nowMs).toISOString(),
    rows,
    oldestPendingMs,
    activity: activityOf(newest, nowMs),
    receiver: stats
      ? {
          storingForMs: stats.outage.storingForMs,
          claimingForMs: stats.outage.claimingForMs,
          reconcile: { failed: stats.reconcile.failed, succeededAgoMs: stats.reconcile.succeededAgoMs },
        }
      : null,
    processes: processesOf(leases),
    sources: sourcesOf(newest, failures),
    reconciled: summaries.filter(({ channel }) => channel === "reconcile").slice(0, reconciledMax),
  };
}

/** Bars of equal width between the oldest of the rows and now. */
function activityOf(newest: readonly InboxRowSummary[], nowMs: number): page.Activity {
  const fromMs = Math.min(nowMs, ...newest.slice(-1).map(({ receivedAtMs }) => receivedAtMs));
  const barMs = Math.max(1_000, Math.ceil((nowMs - fromMs + 1) / bars));
  const counted = new Map<number, Record<string, number>>();
  for (const row of newest) {
    const { state, receivedAtMs } = row;
    const index = Math.min(bars - 1, Math.max(0, Math.floor((receivedAtMs - fromMs) / barMs)));
    const counts = getOrCreate(counted, index, (): Record<string, number> => ({}));
    const kind = isFailing(row) ? "failing" : state;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return {
    from: new Date(fromMs).toISOString(),
    barMs,
    bars: [...counted].sort(([a], [b]) => a - b).map(([index, counts]) => ({ index, counts })),
    isPartial: newest.length === activityMax,
  };
}

function processesOf(leases: Awaited<ReturnType<InboxStore["leases"]>>): readonly page.ProcessLeases[] {
  const workers = new Map<string, page.ProcessLeases>();
  for (const { worker, rows, endsInMs } of leases) {
    const { events = 0, endsInMs: latest = Number.NEGATIVE_INFINITY } = workers.get(worker) ?? {};
    workers.set(worker, { worker, events: events + rows, endsInMs: Math.max(latest, endsInMs) });
  }
  return [...workers.values()].sort((a, b) => a.endsInMs - b.endsInMs);
}

function sourcesOf(
  newest: readonly InboxRowSummary[],
  failures: readonly InboxRowSummary[],
): readonly page.SourceCounts[] {
  const sources = new Map<string, { newest: number; waiting: number; dead: number; failing: number }>();
  const countsOf = (source: string) =>
    getOrCreate(sources, source, () => ({ newest: 0, waiting: 0, dead: 0, failing: 0 }));
  for (const { source, state } of newest) {
    const counts = countsOf(source);
    counts.newest += 1;
    if (state === "pending" || state === "running") counts.waiting += 1;
  }
  for (const row of failures) countsOf(row.source)[hasEnded(row) ? "dead" : "failing"] += 1;
  return [...sources]
    .map(([source, counts]) => ({ source, ...counts }))
    .sort((a, b) => b.newest - a.newest)
    .slice(0, 100);
}

export async function readEvents(
  inbox: InboxStore,
  { source, ...filter }: FilterWithSource,
  { beforeSeq, limit }: { readonly beforeSeq: number | undefined; readonly limit: number },
): Promise<page.Page<page.EventSummary>> {
  const data: page.EventSummary[] = [];
  let looked = 0;
  let next: number | null = null;
  for await (const step of findRows(inbox, filter, { source, beforeSeq, stepRows: limit })) {
    const fitting = step.rows.slice(0, limit - data.length);
    data.push(...fitting.map(toSummary));
    looked = step.looked;
    const isCut = fitting.length < step.rows.length;
    next = isCut ? (fitting.at(-1)?.seq ?? step.beforeSeq) : step.beforeSeq;
    if (data.length >= limit || looked >= lookedMax) return { data, iterator: String(next), looked };
  }
  return { data, iterator: null, looked };
}

/** Dead and quarantined rows, and those that wait for another attempt; newest first. */
async function readFailures(inbox: InboxStore, rowsMax: number): Promise<readonly InboxRowSummary[]> {
  const [ended, waiting] = await Promise.all([
    inbox.list({ states: ["dead", "quarantined"], limit: rowsMax }),
    inbox.list({ states: ["pending"], limit: rowsMax }),
  ]);
  return [...ended, ...waiting.filter(isFailing)];
}

/** Its last attempt failed, and another one is due. */
const isFailing = ({ state, lastError }: InboxRowSummary) => state === "pending" && lastError !== null;

export async function readErrors(inbox: InboxStore): Promise<page.ErrorList> {
  const failures = await readFailures(inbox, failuresMax);
  const groups = groupBy(failures, (row) => JSON.stringify([row.event, messageOf(row)]));
  return {
    data: [...groups.values()].map(toGroup).sort((a, b) => Date.parse(b.lastAt) - Date.parse(a.lastAt)),
    isPartial: failures.length >= failuresMax,
  };
}

function toGroup(rows: readonly InboxRowSummary[]): page.ErrorGroup {
  const [sample] = rows as [InboxRowSummary];
  const message = messageOf(sample);
  const times = rows.map(({ diedAtMs, receivedAtMs }) => diedAtMs ?? receivedAtMs);
  return {
    event: sample.event,
    message,
    // Without a filter all events would be meant.
    text: longestOf(message.split("…").map((part) => part.trim())) || firstLineOf(sample),
    count: rows.length,
    dead: rows.filter(hasEnded).length,
    firstAt: new Date(Math.min(...times)).toISOString(),
    lastAt: new Date(Math.max(...times)).toISOString(),
    sources: [...new Set(rows.map(({ source }) => source))].slice(0, 20),
    tasks: [...new Set(rows.flatMap(({ orderKey }) => taskOf(orderKey) ?? []))].slice(0, 20),
    sample: toSummary(sample),
  };
}

const hasEnded = ({ state }: InboxRowSummary) => state === "dead" || state === "quarantined";
const longestOf = (texts: readonly string[]) => texts.toSorted((a, b) => b.length - a.length)[0];
const firstLineOf = ({ lastError, state }: InboxRowSummary) =>
  (lastError ?? state).slice(0, 300).split("\n", 1)[0] || state;

/** The first line of an error, without what differs from event to event; a status, which is short, says what failed. */
const messageOf = (row: InboxRowSummary): string =>
  firstLineOf(row).replace(
    /[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\b\d{3}\b(?![.,]?\d)|\d+(?:[.,]\d+)*|"[^"]*"|'[^']*'/gi,
    (found) => (/^\d{3}$/.test(found) ? found : "…"),
  );

export async function readTask(inbox: InboxStore, task: string): Promise<page.TaskEvents> {
  const found: InboxRowSummary[] = [];
  let isPartial = false;
  for await (const { rows, looked } of findRows(inbox, { task }, { stepRows: 1_000 })) {
    found.push(...rows);
    isPartial = looked >= lookedMax || found.length >= 1_000;
    if (isPartial) break;
  }
  const isBefore = (a: string | null, b: string | null) =>
    Number((a ?? "") > (b ?? "")) - Number((a ?? "") < (b ?? ""));
  const ordered = found.toSorted((a, b) => isBefore(a.position, b.position) || a.seq - b.seq);
  return { data: ordered.map((row) => ({ ...toSummary(row), note: noteOf(row, found) })), isPartial };
}

/** Why the event was applied, or was not. */
function noteOf(row: InboxRowSummary, others: readonly InboxRowSummary[]): string {
  if (row.state === "stale") {
    const newer = others
      .filter(
        ({ orderKey, position, state }) =>
          orderKey === row.orderKey && state === "done" && (position ?? "") > (row.position ?? ""),
      )
      .toSorted((a, b) => a.receivedAtMs - b.receivedAtMs)[0];
    return newer
      ? `not applied: ${newer.event ?? "an event"} of ${occurredAtOf(newer) ?? "a later time"} had been applied before`
      : "not applied: something newer of this task or stage had been applied before";
  }
  return row.state === "done" ? "applied" : nextOf(row);
}

/** What happens to a row next. */
function nextOf({ state, attempts, dueAtMs, lastError }: InboxRowSummary): string {
  switch (state) {
    case "pending":
      return attempts === 0 && lastError === null
        ? "waits for its first attempt"
        : `attempt ${attempts + 1} is due at ${new Date(dueAtMs).toISOString()}`;
    case "running":
      return `attempt ${attempts} is in progress; its lease ends at ${new Date(dueAtMs).toISOString()}`;
    case "inline":
      return "is applied by its request";
    case "dead":
      return `its ${attempts === 1 ? "attempt" : `${attempts} attempts`} failed: replay it once the cause is gone, or discard it`;
    case "quarantined":
      return "it cannot be read as an event; it is read again every hour, and by a newer release";
    case "discarded":
      return "was discarded by an operator; it may be replayed";
    case "done":
      return "nothing: it was handled";
    case "stale":
      return "nothing: something newer had been applied before";
  }
}

export function toDetail(row: InboxRowDetails, showBodies: boolean): page.EventDetail {
  return {
    ...toSummary(row),
    signedAt: new Date(row.timestamp * 1_000).toISOString(),
    secretIndex: row.secretIndex,
    traceparent: row.traceparent,
    body: showBodies && row.body ? (decodeUtf8(row.body) ?? Buffer.from(row.body).toString("base64")) : null,
    next: nextOf(row),
  };
}

/** @param filter with the states that the action changes */
export async function preview(
  inbox: InboxStore,
  { source, ...filter }: FilterWithSource,
): Promise<page.Preview> {
  const events: Record<string, number> = {};
  let count = 0;
  let isPartial = false;
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  let newestSeq = 0;
  for await (const { rows, looked } of findRows(inbox, filter, { source })) {
    for (const { seq, event, receivedAtMs } of rows) {
      count += 1;
      events[event ?? "unreadable"] = (events[event ?? "unreadable"] ?? 0) + 1;
      firstMs = Math.min(firstMs, receivedAtMs);
      lastMs = Math.max(lastMs, receivedAtMs);
      newestSeq = Math.max(newestSeq, seq);
    }
    isPartial = count >= countedMax || looked >= 20 * lookedMax;
    if (isPartial) break;
  }
  const time = (ms: number) => (count === 0 ? null : new Date(ms).toISOString());
  return { count, isPartial, firstAt: time(firstMs), lastAt: time(lastMs), events, beforeSeq: newestSeq + 1 };
}

function toSummary(row: InboxRowSummary): page.EventSummary {
  const time = (ms: number) => new Date(ms).toISOString();
  const { seq, source, id, state, event, channel, status, attempts, replays, lastError, bodyBytes } = row;
  return {
    seq,
    source,
    id,
    state,
    event,
    task: taskOf(row.orderKey) ?? null,
    channel,
    status,
    occurredAt: occurredAtOf(row),
    receivedAt: time(row.receivedAtMs),
    dueAt: time(row.dueAtMs),
    diedAt: row.diedAtMs === null ? null : time(row.diedAtMs),
    attempts,
    replays,
    lastError,
    bodyBytes,
  };
}

const occurredAtOf = ({ position }: InboxRowSummary): string | null =>
  position === null ? null : formatInstant(decodePosition(position).occurredAt);
