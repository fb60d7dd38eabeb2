import type { Call, Send } from "../engine/call.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type { CallOptions } from "../options.ts";
import { checkInput } from "../validation/check-input.ts";
import {
  abortSignal,
  array,
  durationMs,
  functionOf,
  nonEmptyString,
  optional,
  strictObject,
  withDefault,
} from "../validation/schema.ts";
import { workspaceIn } from "./me.ts";
import { createOffsetList, offsetInput, type PagedList } from "./pagination.ts";
import { listTasks, readTask, type Task, type TaskStatus, taskStatus } from "./task.ts";
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
  /** Ends the wait, not the task. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait. Default 3,600,000 ms, at most 2,147,483,647 ms. */
  readonly deadlineMs?: number | undefined;
  /** Pause after the first poll, doubled while nothing changes. Default 2,000 ms. */
  readonly pollIntervalMs?: number | undefined;
  /** Longest pause between two polls. Default 15,000 ms. */
  readonly pollIntervalMsMax?: number | undefined;
  /** Called with the task when it is first found and whenever it or one of its stages has changed. */
  readonly onProgress?: ((task: Task) => void) | undefined;
}

/**
 * The tasks of the workspace. The interface names this API without its shape: its fields are documented, its
 * filters assumed.
 *
 * @see interface §6, §4
 */
export interface Tasks {
  /** Fetches one task. Errors: `NOT_FOUND`. Beyond the interface (assumed). */
  get(taskId: string, call?: CallOptions): Call<Task>;

  /**
   * Lists tasks, newest first, fetched while the list is read. A task must match every filter, and any value of each.
   *
   * Errors: `ARGUMENT_INVALID` at once. Beyond the interface (assumed).
   */
  list(options?: ListTasksOptions, call?: CallOptions): PagedList<Task, number>;

  /**
   * Waits until a task is `COMPLETED` and resolves to it; a `FAILED` task rejects with a `TaskFailedError`, which
   * carries the task.
   *
   * Polls with at most a quarter of the rate limit. All waits of one client share their requests: 100 waits cost one
   * request per round. Transient failures (network, 5xx, timeouts) are polled again. Errors: `TASK_FAILED`,
   * `NOT_FOUND`, `DEADLINE_EXCEEDED`, `ABORTED`, `CLIENT_CLOSED`. Beyond the interface (assumed).
   */
  waitFor(taskId: string, options?: WaitForOptions): Promise<Task>;
}

const listInput = strictObject({
  ...offsetInput,
  ids: optional(array(nonEmptyString)),
  types: optional(array(nonEmptyString)),
  statuses: optional(array(taskStatus)),
  clientIds: optional(array(nonEmptyString)),
});

const waitForInput = strictObject({
  signal: optional(abortSignal),
  deadlineMs: withDefault(durationMs, 3_600_000),
  pollIntervalMs: withDefault(durationMs, 2_000),
  pollIntervalMsMax: withDefault(durationMs, 15_000),
  onProgress: optional(functionOf<(task: Task) => void>()),
});

export function createTasks(send: Send, poller: TaskPoller): Tasks {
  return {
    get: (taskId, call) =>
      send(
        listTasks,
        () => ({ filters: { ids: [checkInput("tasks.get", nonEmptyString, taskId)] }, offset: 0, limit: 1 }),
        (data) => readTask(workspaceIn(data).tasks[0] ?? notFound()),
        call,
      ),

    list(options = {}, call) {
      const { offset: start, limit: pageSize, ...filters } = checkInput("tasks.list", listInput, options);
      return createOffsetList(
        (offset, limit) =>
          send(
            listTasks,
            () => ({ filters, offset, limit }),
            (data) => workspaceIn(data).tasks.map(readTask),
            call,
          ).withMeta(),
        { offset: start, limit: pageSize },
      );
    },

    async waitFor(taskId, options = {}) {
      const id = checkInput("tasks.waitFor", nonEmptyString, taskId);
      return poller.waitFor(id, checkInput("tasks.waitFor", waitForInput, options));
    },
  };
}

function notFound(): never {
  throw new WorkspaceTasksError("NOT_FOUND", "the workspace has no task with this id", {
    outcome: "rejected",
  });
}
