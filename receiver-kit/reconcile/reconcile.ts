// Webhooks are notifications; the tasks API is the truth. What it returns is written to the inbox as events of the
// channel `reconcile` and handled like deliveries: same ordering guard, same handlers, same retries.
//
// WHICH TASKS. The window: tasks that started since deliveries may have been missed (see task-window.ts). And candidates:
// tasks `RUNNING` for too long, and those with dead or quarantined events. Tasks are processed as they come; of those that
// were processed only the ids are kept.
//
// WHICH STATE. A change that is newer than the ordering head is enqueued. Where the API names another status with an
// older time, one of the two times is wrong, or a delivery has overtaken the response. So the task is fetched a second
// time: if its head has not moved since before that request, the response is newer knowledge than the head, whatever
// the times say, and its status is enqueued at the smallest position above the head. A head that moved less than
// `settledMs` ago is left alone and counted as disputed, because a replica of the service may lag behind its events.

import { parseOccurredAt } from "@workspace-tasks/events";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../errors.ts";
import {
  decodePosition,
  type EventColumns,
  encodePosition,
  formatInstant,
  isFarFuture,
  orderKey,
  statusRank,
} from "../event/event-order.ts";
import {
  type ReconcilableStage,
  type ReconcilableTask,
  type ReconcileClient,
  reconcileClient,
} from "../event/reconcile-client.ts";
import type { InboxHead, InboxMarks, NewInboxRow, ReconcileCandidate } from "../inbox/inbox.ts";
import { lastReceived } from "../maintenance/maintenance.ts";
import { defaults, nameOption, parseOptions, textOption } from "../options.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { TenantIdentity } from "../signature/key-source.ts";

export interface ReconcileOptions {
  /** Tasks that were reported `RUNNING` and have had no event for this long are fetched. Default 900,000. */
  readonly runningForMs?: number | undefined;
  /**
   * Also fetches every task that started within this time; 0 for none. Default: what deliveries may have missed, which is
   * every task the first time; then the time in which the service retries (28 hours) before the last accepted delivery or the
   * last complete list, once an hour, and what has started since in between.
   */
  readonly sinceMs?: number | undefined;
  /** Also fetches these tasks, whatever is known of them. */
  readonly taskIds?: readonly string[] | undefined;
  /**
   * The workspace of the client, in events that handlers receive; tasks of others are skipped. Default: the tenant's, else
   * what `client.me()` returns.
   */
  readonly workspaceId?: string | undefined;
  /** Whose tasks the client reads; required where `secrets` finds the tenant. The client must be of its workspace. */
  readonly tenant?: TenantIdentity | undefined;
}

const reconcileOptions = s.strictOptions<ReconcileOptions>()({
  runningForMs: s.withDefault(s.numberFrom(0), defaults.reconcile.runningForMs),
  sinceMs: s.optional(s.numberFrom(0)),
  taskIds: s.withDefault(s.array(s.string), []),
  workspaceId: s.optional(s.string),
  tenant: s.optional(s.looseObject({ id: nameOption, workspaceId: textOption })),
});

export interface ReconcileReport {
  /** Tasks that were fetched. */
  readonly examined: number;
  /** Changes that state handlers will receive, of tasks and stages. */
  readonly enqueued: number;
  /** Those of them whose status replaces one with a later time. */
  readonly corrected: number;
  /** Tasks and stages for which the API has nothing newer. */
  readonly unchanged: number;
  /** The API names another status than an event of the last minute; the next call decides. */
  readonly disputed: number;
  /** Tasks that the API does not have. */
  readonly missing: number;
  /** Tasks of other workspaces that share the inbox, for which this client was not asked. */
  readonly otherWorkspaces: number;
  /** Times of the API that cannot be right: unreadable, or more than 10 minutes in the future. They are ignored. */
  readonly untrustedTimes: number;
}

type Settings = Pick<ReceiverSettings, "inbox" | "source" | "clock"> & {
  /** The receiver's own source, of which `source` may be a tenant. */
  readonly receiverSource: string;
};

/**
 * @throws {ReceiverError} `ARGUMENT_INVALID`; `INBOX_UNAVAILABLE` when the inbox stores no copy of a change; errors of the client
 *   and the inbox are passed on
 */
export async function reconcileTasks(
  settings: Settings,
  client: ReconcileClient,
  options: ReconcileOptions = {},
): Promise<ReconcileReport> {
  parseOptions("reconcile: client", reconcileClient, client, "ARGUMENT_INVALID");
  const given = parseOptions("reconcile", reconcileOptions, options, "ARGUMENT_INVALID");
  const workspaceId = await workspaceOf(client, given);
  const run = new Reconciliation(settings, client, workspaceId);
  for await (const task of tasksOfWindow(settings, client, given.sinceMs)) await run.compare(task);
  for (const id of given.taskIds) await run.want(id);
  await run.wantCandidates(given.runningForMs);
  await run.fetchWanted();
  await run.lookAgain();
  return run.report;
}

/** @throws {ReceiverError} `ARGUMENT_INVALID` when the client is of another workspace than the tenant */
async function workspaceOf(
  client: ReconcileClient,
  { workspaceId, tenant }: Pick<ReconcileOptions, "workspaceId" | "tenant">,
): Promise<string> {
  if (!tenant) return workspaceId ?? fetchWorkspaceId(client);
  const actual = workspaceId ?? ((await fetchWorkspaceId(client)) || tenant.workspaceId);
  if (actual === tenant.workspaceId) return actual;
  throw new ReceiverError(
    "ARGUMENT_INVALID",
    `reconcile: expected a client of the workspace of tenant ${tenant.id}, got one of another workspace`,
  );
}

async function fetchWorkspaceId(client: ReconcileClient): Promise<string> {
  const me = (await client.me?.()) as { workspace?: { id?: unknown } } | undefined;
  return typeof me?.workspace?.id === "string" ? me.workspace.id : "";
}

const idsPerRequest = 50;
const candidatesPerPage = 500;
/** How long a head must not have moved before the API's status may replace it. */
const settledMs = 60_000;
/** How many copies of one change may be dead and without a body: retention takes weeks for one. */
const copiesMax = 100;

class Reconciliation {
  readonly #settings: Settings;
  readonly #client: ReconcileClient;
  readonly #workspaceId: string;
  /** Tasks that were compared, or asked for. */
  readonly #seen = new Set<string>();
  /** Tasks of the next request. */
  readonly #wanted = new Set<string>();
  /** Position of the head of each key whose status differs, by task. */
  readonly #differing = new Map<string, Map<string, string>>();
  readonly #counts = {
    examined: 0,
    enqueued: 0,
    corrected: 0,
    unchanged: 0,
    disputed: 0,
    missing: 0,
    otherWorkspaces: 0,
    untrustedTimes: 0,
  };

  constructor(settings: Settings, client: ReconcileClient, workspaceId: string) {
    this.#settings = settings;
    this.#client = client;
    this.#workspaceId = workspaceId;
  }

  get report(): ReconcileReport {
    return { ...this.#counts };
  }

  /** Fetches the task with others, unless it was compared. */
  async want(taskId: string): Promise<void> {
    if (!this.#seen.has(taskId)) this.#wanted.add(taskId);
    if (this.#wanted.size >= idsPerRequest) await this.fetchWanted();
  }

  /** Wants the tasks whose state may be behind the service's. */
  async wantCandidates(runningForMs: number): Promise<void> {
    const { inbox, source } = this.#settings;
    for (let afterKey: string | undefined = ""; afterKey !== undefined; ) {
      const options = { source, runningForMs, afterKey, limit: candidatesPerPage };
      const page: readonly ReconcileCandidate[] = await inbox.reconcileCandidates(options);
      for (const candidate of page) await this.#wantCandidate(candidate);
      afterKey = page.at(-1)?.key;
    }
  }

  async #wantCandidate({ key, workspaceId }: ReconcileCandidate): Promise<void> {
    const isOther = workspaceId !== null && this.#workspaceId !== "" && workspaceId !== this.#workspaceId;
    const [taskId] = JSON.parse(key) as string[];
    if (isOther) this.#counts.otherWorkspaces += 1;
    // Ids of which only a hash is known cannot be fetched.
    else if (taskId) await this.want(taskId);
  }

  async fetchWanted(): Promise<void> {
    for await (const task of this.#tasksWith([...this.#wanted])) await this.compare(task);
    for (const id of this.#wanted) {
      if (!this.#seen.has(id)) this.#counts.missing += 1;
      this.#seen.add(id);
    }
    this.#wanted.clear();
  }

  async compare(task: ReconcilableTask): Promise<void> {
    if (this.#seen.has(task.id)) return;
    this.#seen.add(task.id);
    this.#counts.examined += 1;
    for (const change of this.#changesOf(task)) {
      if (!change.hasTrustedTime) this.#counts.untrustedTimes += 1;
      const head = await this.#headOf(change);
      if (await this.#enqueueIfNewer(change, head)) continue;
      const differing = this.#differing.get(task.id) ?? new Map<string, string>();
      this.#differing.set(task.id, differing.set(change.key, head?.position ?? ""));
    }
  }

  /** Fetches the tasks again whose status differs: their heads were read before this request. */
  async lookAgain(): Promise<void> {
    for await (const task of this.#tasksWith([...this.#differing.keys()])) {
      for (const change of this.#changesOf(task)) {
        const before = this.#differing.get(task.id)?.get(change.key);
        if (before === undefined) continue;
        const head = await this.#headOf(change);
        if (await this.#enqueueIfNewer(change, head)) continue;
        if (head) await this.#decide(change, head, before);
      }
    }
  }

  async #decide(change: TaskChange, head: InboxHead, before: string): Promise<void> {
    // A negative time says nothing: the clock was set back after the head moved.
    const isRecent = head.unchangedMs >= 0 && head.unchangedMs < settledMs;
    if (head.position !== before || isRecent) {
      this.#counts.disputed += 1;
      return;
    }
    const { occurredAt, rank } = decodePosition(head.position);
    const isAbove = statusRank(change.status) > rank;
    if (!(await this.#enqueue(change, isAbove ? occurredAt : occurredAt + 1n))) return;
    this.#counts.corrected += 1;
  }

  /** True when nothing more is to be decided: the change was enqueued, or the head has the same status. */
  async #enqueueIfNewer(change: TaskChange, head: InboxHead | undefined): Promise<boolean> {
    const hasSameStatus = head !== undefined && (head.status === change.status || head.status === null);
    const isNewer = head === undefined || positionOf(change, change.occurredAt) > head.position;
    if (isNewer && (head === undefined || change.hasTrustedTime)) {
      await this.#enqueue(change, change.occurredAt);
      return true;
    }
    if (hasSameStatus) this.#counts.unchanged += 1;
    return hasSameStatus;
  }

  async #enqueue(change: TaskChange, occurredAt: bigint): Promise<boolean> {
    const { source } = this.#settings;
    const { id, columns, timestamp, body } = toRow(change, occurredAt);
    const unsigned = {
      channel: "reconcile",
      quarantine: null,
      secretIndex: null,
      traceparent: null,
    } as const;
    const isNew = await this.#store({ ...columns, source, id, timestamp, body, ...unsigned });
    if (isNew) this.#counts.enqueued += 1;
    else this.#counts.unchanged += 1;
    return isNew;
  }

  /**
   * False when the same change was found before. Where its event is dead it is still missing, so it is handled again;
   * under another id where retention has removed the body.
   */
  async #store(row: NewInboxRow): Promise<boolean> {
    const { inbox } = this.#settings;
    for (let copy = 0; copy < copiesMax; copy++) {
      const id = copy === 0 ? row.id : `${row.id}#${copy}`;
      const stored = await inbox.insert({ ...row, id });
      if (stored.outcome === "new") return true;
      const found = await inbox.get({ source: row.source, id });
      if (found?.state !== "dead") return false;
      if (found.body !== null) return inbox.replay(found, row);
    }
    throw new ReceiverError(
      "INBOX_UNAVAILABLE",
      `reconcile: expected the inbox to store ${row.id} or one of ${copiesMax - 1} copies of it, got only dead rows whose bodies retention has removed; discard them, and their ids are free after idsDays`,
    );
  }

  #headOf({ key }: TaskChange): Promise<InboxHead | undefined> {
    return this.#settings.inbox.head(this.#settings.source, key);
  }

  #changesOf(task: ReconcilableTask): readonly TaskChange[] {
    return changesOf(task, this.#workspaceId, this.#settings.clock.now());
  }

  async *#tasksWith(ids: readonly string[]): AsyncGenerator<ReconcilableTask> {
    for (let at = 0; at < ids.length; at += idsPerRequest) {
      const batch = ids.slice(at, at + idsPerRequest);
      yield* this.#client.tasks.list({ ids: batch, limit: batch.length });
    }
  }
}

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

type WindowSettings = Pick<ReceiverSettings, "inbox" | "source" | "clock"> & {
  /** The receiver's own source, of which `source` may be a tenant: deliveries to all tenants have one way. */
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
async function* tasksOfWindow(
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

// What the tasks API says about a task, as the events that its current state would have caused. A time that cannot be
// read, or lies in the far future, is replaced by the start, or by 1970: the status is the API's in any case, and no
// clock of this side decides what later events are compared with.

/** The state of a task or a stage, as the tasks API reports it. */
interface TaskChange {
  readonly key: string;
  readonly event: string;
  readonly status: string;
  readonly workspaceId: string | null;
  /** Nanoseconds since the epoch: the API's time, else that of the start, else 0. */
  readonly occurredAt: bigint;
  readonly hasTrustedTime: boolean;
  /** Fields of the event besides `id` and `occurredAt`. */
  readonly fields: object;
}

/** Events found by reconciling start with this; a `webhook-id` has no `#`, so none can be equal to one. */
const idPrefix = "reconcile#";

// Below the id of every delivery: at the same instant a delivery ranks higher than the API, because it contains more.
const lowestId = "!";

/** The position of a change at `occurredAt`. */
function positionOf({ status }: TaskChange, occurredAt: bigint): string {
  return encodePosition({ occurredAt, rank: statusRank(status), id: lowestId });
}

/** The row of a change at a position: the same change at the same position is the same row. */
function toRow(
  change: TaskChange,
  occurredAt: bigint,
): Pick<NewInboxRow, "id" | "timestamp" | "body"> & { readonly columns: EventColumns } {
  const { key, event, status, workspaceId, fields } = change;
  const position = positionOf(change, occurredAt);
  const id = `${idPrefix}${key}#${position}`;
  return {
    id,
    columns: { event, orderKey: key, position, status, workspaceId },
    timestamp: Number(occurredAt / 1_000_000_000n),
    body: Buffer.from(JSON.stringify({ ...fields, id, occurredAt: formatInstant(occurredAt) })),
  };
}

/** The task's state and those of its finished stages; stages report only their end. Later statuses are skipped. */
function changesOf(task: ReconcilableTask, workspaceId: string, nowMs: number): readonly TaskChange[] {
  const envelope = {
    version: "2",
    ...(workspaceId === "" ? {} : { workspaceId }),
    ...(task.client ? { clientId: task.client.id } : {}),
    taskId: task.id,
    taskType: task.type,
  };
  const changeOf = (record: ReconcilableStage, ids: readonly string[], event: string, details: object) => ({
    key: orderKey(ids),
    event,
    status: record.status,
    workspaceId: workspaceId || null,
    ...timeOf(record, nowMs),
    fields: {
      ...envelope,
      event,
      status: record.status,
      errorMessage: record.errorMessage ?? null,
      ...details,
    },
  });
  const changes: TaskChange[] = [];
  const name = eventNames.get(task.status);
  if (name) {
    const { __typename, ...result } = task.result ?? {};
    const taxPrepResult = name === "completed" && __typename === "TaskTaxPrepResult" ? result : null;
    changes.push(changeOf(task, [task.id], `task.${name}`, { taxPrepResult, customerError: null }));
  }
  for (const stage of task.subTasks) {
    const end = eventNames.get(stage.status);
    if (!end || end === "running") continue;
    const details = { subTaskId: stage.id, subTaskType: stage.type };
    changes.push(changeOf(stage, [task.id, stage.id], `subtask.${end}`, details));
  }
  return changes;
}

const eventNames: ReadonlyMap<string, string> = new Map([
  ["RUNNING", "running"],
  ["COMPLETED", "completed"],
  ["FAILED", "failed"],
]);

function timeOf({ status, startedAt, completedAt }: ReconcilableStage, nowMs: number) {
  const trusted = (time: string) => {
    const at = parseOccurredAt(time);
    return at !== undefined && !isFarFuture(at, nowMs) ? at : undefined;
  };
  const occurredAt = trusted(status === "RUNNING" ? startedAt : (completedAt ?? startedAt));
  return { occurredAt: occurredAt ?? trusted(startedAt) ?? 0n, hasTrustedTime: occurredAt !== undefined };
}
