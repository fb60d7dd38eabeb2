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

import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../errors.ts";
import { decodePosition, statusRank } from "../event/event-order.ts";
import { type ReconcilableTask, type ReconcileClient, reconcileClient } from "../event/reconcile-client.ts";
import type { InboxHead, NewInboxRow, ReconcileCandidate } from "../inbox/inbox.ts";
import { defaults, nameOption, parseOptions, textOption } from "../options.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { TenantIdentity } from "../signature/key-source.ts";
import * as taskChanges from "./task-changes.ts";
import { tasksOfWindow } from "./task-window.ts";

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
  /** Of which `source` may be a tenant. */
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
/** Of one change, each dead and without its body: retention takes weeks for one. */
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
    ...{ examined: 0, enqueued: 0, corrected: 0, unchanged: 0, disputed: 0 },
    ...{ missing: 0, otherWorkspaces: 0, untrustedTimes: 0 },
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

  async #decide(change: taskChanges.TaskChange, head: InboxHead, before: string): Promise<void> {
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
  async #enqueueIfNewer(change: taskChanges.TaskChange, head: InboxHead | undefined): Promise<boolean> {
    const hasSameStatus = head !== undefined && (head.status === change.status || head.status === null);
    const isNewer = head === undefined || taskChanges.positionOf(change, change.occurredAt) > head.position;
    if (isNewer && (head === undefined || change.hasTrustedTime)) {
      await this.#enqueue(change, change.occurredAt);
      return true;
    }
    if (hasSameStatus) this.#counts.unchanged += 1;
    return hasSameStatus;
  }

  async #enqueue(change: taskChanges.TaskChange, occurredAt: bigint): Promise<boolean> {
    const { source } = this.#settings;
    const { id, columns, timestamp, body } = taskChanges.toRow(change, occurredAt);
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

  #headOf({ key }: taskChanges.TaskChange): Promise<InboxHead | undefined> {
    return this.#settings.inbox.head(this.#settings.source, key);
  }

  #changesOf(task: ReconcilableTask): readonly taskChanges.TaskChange[] {
    return taskChanges.changesOf(task, this.#workspaceId, this.#settings.clock.now());
  }

  async *#tasksWith(ids: readonly string[]): AsyncGenerator<ReconcilableTask> {
    for (let at = 0; at < ids.length; at += idsPerRequest) {
      const batch = ids.slice(at, at + idsPerRequest);
      yield* this.#client.tasks.list({ ids: batch, limit: batch.length });
    }
  }
}
