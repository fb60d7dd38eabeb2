// Webhooks are notifications; the tasks API is the truth. What it says is written to the inbox as events of the
// channel `reconcile` and goes the same way as deliveries: same ordering guard, same handlers, same retries. An answer
// that was overtaken by a delivery in the meantime is older than the head, and so is dropped.

import type { SubtaskEvent, TaskEvent } from "../../sdk/events/index.ts";
import { isSubtaskEvent, parseOccurredAt } from "../../sdk/events/index.ts";
import type { Clock } from "../clock.ts";
import type { EventColumns } from "../event/event-columns.ts";
import { encodePosition, orderKey, statusRank } from "../event/event-order.ts";
import type { Inbox, RowReference } from "../inbox/inbox.ts";

export interface ReconcilableStage {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly startedAt: string;
  readonly completedAt?: string | null;
  readonly errorMessage?: string | null;
}

export interface ReconcilableTask extends ReconcilableStage {
  readonly subTasks: readonly ReconcilableStage[];
  readonly result?: { readonly __typename?: string } | null;
  readonly client?: { readonly id: string } | null;
}

/** What reconciliation needs of the SDK's client, or of anything that reads the tasks API. */
export interface ReconcileClient {
  readonly tasks: {
    /** Lists tasks, newest first; with `ids`, those of them that exist. */
    list(options: {
      readonly ids?: readonly string[];
      readonly limit?: number;
    }): AsyncIterable<ReconcilableTask>;
  };
  /** Asked once for the workspace's id when `workspaceId` is not given. */
  me?(): PromiseLike<unknown>;
}

export type ReconcileOptions = {
  /** Tasks reported `RUNNING` and not heard of for this long are looked up. Default 900,000. */
  readonly runningForMs?: number;
  /** Also looks at every task started within this time. Default: the time the receiver was away before it started. */
  readonly sinceMs?: number;
  /** Tasks looked up at most. Default 1,000. */
  readonly tasksMax?: number;
  /** For the events that handlers see. Default: what `client.me()` answers. */
  readonly workspaceId?: string;
};

export type ReconcileReport = {
  /** Tasks that were looked up. */
  readonly examined: number;
  /** Changes that state handlers will see, of tasks and stages. */
  readonly enqueued: number;
  /** Tasks and stages about which the API says nothing newer. */
  readonly agreed: number;
  /** Tasks that the API does not know. */
  readonly missing: number;
};

type Dependencies = { readonly inbox: Inbox; readonly source: string; readonly clock: Clock };
type Counts = { examined: number; enqueued: number; agreed: number; missing: number };

export async function reconcileTasks(
  parts: Dependencies,
  client: ReconcileClient,
  { runningForMs = 900_000, sinceMs = 0, tasksMax = 1_000, workspaceId }: ReconcileOptions = {},
): Promise<ReconcileReport> {
  const counts: Counts = { examined: 0, enqueued: 0, agreed: 0, missing: 0 };
  const workspace = workspaceId ?? (await askWorkspaceId(client));
  const seen = new Set<string>();
  const take = async (task: ReconcilableTask) => {
    if (seen.has(task.id)) return;
    seen.add(task.id);
    counts.examined += 1;
    await applyTask(parts, task, workspace, counts);
  };
  for await (const task of startedWithin(client, sinceMs, tasksMax, parts.clock)) await take(task);

  const ids = (await suspectTasks(parts, sinceMs > 0 ? 0 : runningForMs, tasksMax)).filter(
    (id) => !seen.has(id),
  );
  for (let at = 0; at < ids.length; at += idsPerRequest) {
    const batch = ids.slice(at, at + idsPerRequest);
    for await (const task of client.tasks.list({ ids: batch, limit: batch.length })) await take(task);
  }
  counts.missing = ids.filter((id) => !seen.has(id)).length;
  return counts;
}

const idsPerRequest = 50;

async function suspectTasks(
  { inbox, source }: Dependencies,
  runningForMs: number,
  limit: number,
): Promise<string[]> {
  const reconcileCandidates = await inbox.reconcileCandidates({ source, runningForMs, limit });
  const ids = reconcileCandidates
    .map(({ key }) => (JSON.parse(key) as string[])[0])
    .filter((id) => id !== undefined);
  return [...new Set(ids)];
}

/** Newest first, so the first task that is too old ends the walk. */
async function* startedWithin(client: ReconcileClient, sinceMs: number, tasksMax: number, clock: Clock) {
  if (sinceMs <= 0) return;
  const oldestMs = clock.now() - sinceMs;
  let taken = 0;
  for await (const task of client.tasks.list({ limit: 100 })) {
    if (taken >= tasksMax || Date.parse(task.startedAt) < oldestMs) return;
    taken += 1;
    yield task;
  }
}

async function askWorkspaceId(client: ReconcileClient): Promise<string> {
  const me = (await client.me?.()) as { workspace?: { id?: unknown } } | undefined;
  return typeof me?.workspace?.id === "string" ? me.workspace.id : "";
}

async function applyTask(
  parts: Dependencies,
  task: ReconcilableTask,
  workspaceId: string,
  counts: Counts,
): Promise<void> {
  const envelope = {
    version: "2",
    workspaceId,
    clientId: task.client?.id ?? "",
    taskId: task.id,
    taskType: task.type,
  };
  const events = [taskEvent(task, envelope)];
  for (const stage of task.subTasks) events.push(stageEvent(stage, envelope));
  for (const event of events) {
    if (!event) continue;
    if (await enqueue(parts, event)) counts.enqueued += 1;
    else counts.agreed += 1;
  }
}

type Envelope = Pick<TaskEvent, "version" | "workspaceId" | "clientId" | "taskId" | "taskType">;
type StateEvent = TaskEvent | SubtaskEvent;

function taskEvent(task: ReconcilableTask, envelope: Envelope): StateEvent | undefined {
  const name = eventNames.get(task.status);
  if (!name) return undefined;
  const { __typename, ...fields } = task.result ?? {};
  return {
    ...envelope,
    ...reported(task, task.id),
    event: `task.${name}`,
    status: task.status,
    taxPrepResult: name === "completed" && __typename === "TaskTaxPrepResult" ? fields : null,
    customerError: null,
  } as TaskEvent;
}

/** Stages are reported only when they finish. @see interface §6 */
function stageEvent(stage: ReconcilableStage, envelope: Envelope): StateEvent | undefined {
  const name = eventNames.get(stage.status);
  if (!name || name === "running") return undefined;
  return {
    ...envelope,
    ...reported(stage, `${envelope.taskId}/${stage.id}`),
    event: `subtask.${name}`,
    status: stage.status,
    subTaskId: stage.id,
    subTaskType: stage.type,
  } as SubtaskEvent;
}

/** A status added later has no event to stand for it, and is left alone. */
const eventNames: ReadonlyMap<string, string> = new Map([
  ["RUNNING", "running"],
  ["COMPLETED", "completed"],
  ["FAILED", "failed"],
]);

function reported(stage: ReconcilableStage, name: string) {
  const occurredAt = stage.status === "RUNNING" ? stage.startedAt : (stage.completedAt ?? stage.startedAt);
  // No delivery's id has a slash, so this one cannot be taken for one.
  const id = `reconcile/${name}/${stage.status}/${occurredAt}`;
  return { id, occurredAt, errorMessage: stage.errorMessage ?? null };
}

/** True when the event is news to the inbox. */
async function enqueue({ inbox, source }: Dependencies, event: StateEvent): Promise<boolean> {
  const occurredAt = parseOccurredAt(event.occurredAt);
  if (occurredAt === undefined) return false;
  const key = orderKey(isSubtaskEvent(event) ? [event.taskId, event.subTaskId] : [event.taskId]);
  // At the same instant a delivery stands higher than what the API says, for it tells more.
  const position = encodePosition({ occurredAt, rank: statusRank(event.status), id: lowestId });
  const head = await inbox.head(source, key);
  if (head && head.position >= position) return false;
  const columns: EventColumns = { event: event.event, orderKey: key, position, status: event.status };
  const inserted = await inbox.insert({
    ...columns,
    source,
    id: event.id,
    channel: "reconcile",
    timestamp: Number(occurredAt / 1_000_000_000n),
    body: Buffer.from(JSON.stringify(event)),
    quarantine: null,
  });
  return inserted.outcome === "new" || reviveDead(inbox, { source, id: event.id }, columns);
}

/** The same change was found before and given up. It is still missing, so it is handled again. */
async function reviveDead(inbox: Inbox, row: RowReference, columns: EventColumns): Promise<boolean> {
  return (await inbox.get(row))?.state === "dead" && inbox.replay(row, columns);
}

const lowestId = "!";
