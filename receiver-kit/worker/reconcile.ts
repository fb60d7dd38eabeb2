// Webhooks are notifications; the tasks API is the truth. What it returns is written to the inbox as events of the
// channel `reconcile` and handled like deliveries: same ordering guard, same handlers, same retries. A response that a
// delivery has overtaken meanwhile is older than the head, and so is dropped.

import { z } from "zod";
import {
  isSubtaskEvent,
  parseOccurredAt,
  type SubtaskEvent,
  type TaskEvent,
} from "../../sdk/events/index.ts";
import type { Clock } from "../clock.ts";
import { ReceiverError } from "../errors.ts";
import { encodePosition, orderKey, statusRank } from "../event/event-order.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { defaults, option, parseOptions, strictOptions } from "../options.ts";
import type { TenantIdentity } from "../signature/key-source.ts";

export interface ReconcilableStage {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly startedAt: string;
  readonly completedAt?: string | null | undefined;
  readonly errorMessage?: string | null | undefined;
}

export interface ReconcilableTask extends ReconcilableStage {
  readonly subTasks: readonly ReconcilableStage[];
  readonly result?: { readonly __typename?: string } | null | undefined;
  readonly client?: { readonly id: string } | null | undefined;
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
  /** Called once for the workspace's id when `workspaceId` is not given. */
  me?(): PromiseLike<unknown>;
}

export interface ReconcileOptions {
  /** Tasks that were reported `RUNNING` and have had no event for this long are fetched. Default 900,000. */
  readonly runningForMs?: number | undefined;
  /** Also fetches every task started within this time. Default: the time the receiver was down before it started. */
  readonly sinceMs?: number | undefined;
  /** Tasks fetched at most. Default 1,000. */
  readonly tasksMax?: number | undefined;
  /** The workspace in the events that handlers receive. Default: the tenant's, else what `client.me()` returns. */
  readonly workspaceId?: string | undefined;
  /** Whose tasks the client reads; required where `secrets` finds the tenant. The client must be of its workspace. */
  readonly tenant?: TenantIdentity | undefined;
}

const reconcileOptions = strictOptions<ReconcileOptions>()({
  runningForMs: option.numberFrom(0).default(defaults.reconcile.runningForMs),
  sinceMs: option.numberFrom(0).optional(),
  tasksMax: option.positiveInteger.default(defaults.reconcile.tasksMax),
  workspaceId: option.value<string>("a string", (given) => typeof given === "string").optional(),
  tenant: z.looseObject({ id: option.name, workspaceId: option.text }, { error: "a tenant" }).optional(),
});

const reconcileClient = option.value<ReconcileClient>(
  "a client with tasks.list, such as createClient(…)",
  (given) => typeof (given as ReconcileClient | null | undefined)?.tasks?.list === "function",
);

export interface ReconcileReport {
  /** Tasks that were fetched. */
  readonly examined: number;
  /** Changes that state handlers will receive, of tasks and stages. */
  readonly enqueued: number;
  /** Tasks and stages for which the API has nothing newer. */
  readonly unchanged: number;
  /** Tasks that the API does not have. */
  readonly missing: number;
}

interface Dependencies {
  readonly inbox: Inbox;
  readonly source: string;
  readonly clock: Clock;
  /** How long the receiver was down before it started. */
  readonly downMs: number;
}

/** @throws {ReceiverError} `ARGUMENT_INVALID`; errors of the client and the inbox are passed on */
export async function reconcileTasks(
  dependencies: Dependencies,
  client: ReconcileClient,
  options: ReconcileOptions = {},
): Promise<ReconcileReport> {
  parseOptions("reconcile: client", reconcileClient, client, "ARGUMENT_INVALID");
  const settings = parseOptions("reconcile", reconcileOptions, options, "ARGUMENT_INVALID");
  const { sinceMs = dependencies.downMs, runningForMs, tasksMax } = settings;
  const workspaceId = await workspaceOf(client, settings);
  const counts = { examined: 0, enqueued: 0, unchanged: 0, missing: 0 };
  const seen = new Set<string>();
  const apply = async (task: ReconcilableTask) => {
    if (seen.has(task.id)) return;
    seen.add(task.id);
    counts.examined += 1;
    for (const event of eventsOf(task, workspaceId)) {
      if (await enqueue(dependencies, event)) counts.enqueued += 1;
      else counts.unchanged += 1;
    }
  };
  for await (const task of startedWithin(client, sinceMs, tasksMax, dependencies.clock)) await apply(task);

  const candidates = await candidateTasks(dependencies, sinceMs > 0 ? 0 : runningForMs, tasksMax);
  const ids = candidates.filter((id) => !seen.has(id));
  for (let at = 0; at < ids.length; at += idsPerRequest) {
    const batch = ids.slice(at, at + idsPerRequest);
    for await (const task of client.tasks.list({ ids: batch, limit: batch.length })) await apply(task);
  }
  counts.missing = ids.filter((id) => !seen.has(id)).length;
  return counts;
}

const idsPerRequest = 50;

async function candidateTasks({ inbox, source }: Dependencies, runningForMs: number, limit: number) {
  const candidates = await inbox.reconcileCandidates({ source, runningForMs, limit });
  const ids = candidates.map(({ key }) => (JSON.parse(key) as string[])[0]).filter((id) => id !== undefined);
  return [...new Set(ids)];
}

/** Newest first, so the first task that is too old ends the list. */
async function* startedWithin(client: ReconcileClient, sinceMs: number, tasksMax: number, clock: Clock) {
  if (sinceMs <= 0) return;
  const oldestMs = clock.now() - sinceMs;
  let count = 0;
  for await (const task of client.tasks.list({ limit: 100 })) {
    if (count >= tasksMax || Date.parse(task.startedAt) < oldestMs) return;
    count += 1;
    yield task;
  }
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

type StateEvent = TaskEvent | SubtaskEvent;

/** The events that the current state of a task and its stages would have caused; stages report only their end. */
function eventsOf(task: ReconcilableTask, workspaceId: string): readonly StateEvent[] {
  const envelope = {
    ...{ version: "2", workspaceId, clientId: task.client?.id ?? "" },
    ...{ taskId: task.id, taskType: task.type },
  };
  const events: object[] = [];
  const name = eventNames.get(task.status);
  if (name) {
    const { __typename, ...fields } = task.result ?? {};
    events.push({
      ...envelope,
      ...stateOf(task, task.id),
      event: `task.${name}`,
      taxPrepResult: name === "completed" && __typename === "TaskTaxPrepResult" ? fields : null,
      customerError: null,
    });
  }
  for (const stage of task.subTasks) {
    const stageEvent = eventNames.get(stage.status);
    if (!stageEvent || stageEvent === "running") continue;
    events.push({
      ...envelope,
      ...stateOf(stage, `${task.id}/${stage.id}`),
      event: `subtask.${stageEvent}`,
      subTaskId: stage.id,
      subTaskType: stage.type,
    });
  }
  return events as StateEvent[];
}

/** Tasks with a status added later have no event, and are skipped. */
const eventNames: ReadonlyMap<string, string> = new Map([
  ["RUNNING", "running"],
  ["COMPLETED", "completed"],
  ["FAILED", "failed"],
]);

function stateOf({ status, startedAt, completedAt, errorMessage }: ReconcilableStage, name: string) {
  const occurredAt = status === "RUNNING" ? startedAt : (completedAt ?? startedAt);
  // The id of a delivery has no slash, so this one cannot be equal to one.
  const id = `reconcile/${name}/${status}/${occurredAt}`;
  return { id, status, occurredAt, errorMessage: errorMessage ?? null };
}

/** True when the event is new to the inbox. */
async function enqueue({ inbox, source }: Dependencies, event: StateEvent): Promise<boolean> {
  const occurredAt = parseOccurredAt(event.occurredAt);
  if (occurredAt === undefined) return false;
  const { id, status } = event;
  const key = orderKey(isSubtaskEvent(event) ? [event.taskId, event.subTaskId] : [event.taskId]);
  // At the same instant a delivery ranks higher than the API, because it contains more.
  const position = encodePosition({ occurredAt, rank: statusRank(status), id: lowestId });
  const head = await inbox.head(source, key);
  if (head && head.position >= position) return false;
  const columns = { event: event.event, orderKey: key, position, status };
  const result = await inbox.insert({
    ...{
      ...columns,
      source,
      id,
      channel: "reconcile",
      quarantine: null,
      secretIndex: null,
      traceparent: null,
    },
    timestamp: Number(occurredAt / 1_000_000_000n),
    body: Buffer.from(JSON.stringify(event)),
  });
  if (result.outcome === "new") return true;
  // The same change was found before and its event is dead. It is still missing, so it is handled again.
  const row = await inbox.get({ source, id });
  return row?.state === "dead" && inbox.replay(row, columns);
}

const lowestId = "!";
