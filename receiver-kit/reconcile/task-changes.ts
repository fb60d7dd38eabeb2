// What the tasks API says about a task, as the events that its current state would have caused. A time that cannot be
// read, or lies in the far future, is replaced by the start, or by 1970: the status is the API's in any case, and no
// clock of this side decides what later events are compared with.

import { parseOccurredAt } from "@workspace-tasks/events";
import type { EventColumns } from "../event/event-columns.ts";
import { encodePosition, formatInstant, isFarFuture, orderKey, statusRank } from "../event/event-order.ts";
import type { ReconcilableStage, ReconcilableTask } from "../event/reconcile-client.ts";
import type { NewInboxRow } from "../inbox/inbox.ts";

/** The state of a task or a stage, as the tasks API reports it. */
export interface TaskChange {
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
export function positionOf({ status }: TaskChange, occurredAt: bigint): string {
  return encodePosition({ occurredAt, rank: statusRank(status), id: lowestId });
}

/** The row of a change at a position: the same change at the same position is the same row. */
export function toRow(
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
export function changesOf(task: ReconcilableTask, workspaceId: string, nowMs: number): readonly TaskChange[] {
  const envelope = {
    version: "2",
    ...(workspaceId === "" ? {} : { workspaceId }),
    ...(task.client ? { clientId: task.client.id } : {}),
    ...{ taskId: task.id, taskType: task.type },
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
