import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type { CallOptions } from "../options.ts";
import { checkInput, identifier } from "../validation/check-input.ts";
import {
  abortSignal,
  durationMs,
  functionOf,
  list,
  only,
  optional,
  withDefault,
} from "../validation/schema.ts";
import { workspaceIn } from "./me.ts";
import { createOffsetList, offsetWindow, type PagedList } from "./pagination.ts";
import { listTasksOperation, readTask, type Task, type TaskStatus, taskStatus } from "./task.ts";
import type { TaskPoller } from "./task-poller.ts";

export interface ListTasksOptions {
  readonly ids?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  readonly statuses?: readonly TaskStatus[] | undefined;
  readonly clientIds?: readonly string[] | undefined;
  /** Tasks to skip. Default 0. */
  readonly offset?: number | undefined;
  /** Tasks per page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
}

export interface WaitForOptions {
  /** Ends the wait; the task goes on. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait. Default 3,600,000 ms, at most 2,147,483,647 ms. */
  readonly deadlineMs?: number | undefined;
  /** Pause after the first look, doubled while nothing changes. Default 2,000 ms. */
  readonly pollIntervalMs?: number | undefined;
  /** Longest pause between two looks. Default 15,000 ms. */
  readonly pollIntervalMsMax?: number | undefined;
  /** Told about the task when it is first seen and at every change of it or of one of its stages. */
  readonly onProgress?: ((task: Task) => void) | undefined;
}

/**
 * The tasks of the workspace. The interface names this API without its shape: its fields are documented, its
 * filters assumed.
 *
 * @see interface §6, §4
 */
export interface Tasks {
  /** Reads one task. Errors: `NOT_FOUND`. Beyond the interface (assumed). */
  get(taskId: string, call?: CallOptions): Call<Task>;

  /**
   * Lists tasks, newest first, fetched while the list is read. Every filter given must match; within one filter any
   * value does.
   *
   * Errors: `ARGUMENT_INVALID` at once. Beyond the interface (assumed).
   */
  list(options?: ListTasksOptions, call?: CallOptions): PagedList<Task, number>;

  /**
   * Waits until a task is `COMPLETED` and resolves to it; a `FAILED` task rejects with a `TaskFailedError`, which
   * carries the task.
   *
   * Polls inside the allowance and never with more than a quarter of it. All waits of one client share their
   * requests: 100 waits cost one request per round. Failures that pass (network, 5xx, timeouts) are polled over.
   * Errors: `TASK_FAILED`, `NOT_FOUND`, `DEADLINE_EXCEEDED`, `ABORTED`, `CLIENT_CLOSED`. Beyond the interface (assumed).
   */
  waitFor(taskId: string, options?: WaitForOptions): Promise<Task>;
}

const listTasksInput = only({
  ...offsetWindow,
  ids: optional(list(identifier)),
  types: optional(list(identifier)),
  statuses: optional(list(taskStatus)),
  clientIds: optional(list(identifier)),
});

const waitForInput = only({
  signal: optional(abortSignal),
  deadlineMs: withDefault(durationMs, 3_600_000),
  pollIntervalMs: withDefault(durationMs, 2_000),
  pollIntervalMsMax: withDefault(durationMs, 15_000),
  onProgress: optional(functionOf<(task: Task) => void>()),
});

export function createTasks(engine: Engine, watch: TaskPoller): Tasks {
  return {
    get: (taskId, call) =>
      startCall(
        engine,
        {
          operation: listTasksOperation,
          variables: () => ({
            filters: { ids: [checkInput("tasks.get", identifier, taskId)] },
            offset: 0,
            limit: 1,
          }),
          result: (data) => readTask(workspaceIn(data).tasks[0] ?? notFound()),
        },
        call,
      ),

    list(options = {}, call) {
      const { offset, limit, ...filters } = checkInput("tasks.list", listTasksInput, options);
      return createOffsetList(
        async (at, count) => {
          const variables = { filters, offset: at, limit: count };
          const { data, meta } = await engine.executeWithMeta(listTasksOperation, variables, call);
          return { items: workspaceIn(data).tasks.map(readTask), meta };
        },
        { offset, limit },
      );
    },

    async waitFor(taskId, options = {}) {
      const id = checkInput("tasks.waitFor", identifier, taskId);
      return watch.waitFor(id, checkInput("tasks.waitFor", waitForInput, options));
    },
  };
}

function notFound(): never {
  throw new WorkspaceTasksError("NOT_FOUND", "the workspace has no task with this id", {
    outcome: "rejected",
  });
}
