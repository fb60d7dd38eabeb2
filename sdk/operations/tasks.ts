import type { Call, Send } from "../engine/call.ts";
import type { CallOptions } from "../options.ts";
import { inputOf } from "../validation/check-input.ts";
import { array, nonEmptyString, optional, strictObject } from "../validation/schema.ts";
import { notFound, workspaceIn } from "./me.ts";
import { createOffsetList, offsetInput, type PagedList } from "./pagination.ts";
import { listTasks, readTask, type Task, type TaskStatus, taskStatus } from "./task.ts";
import type { TaskPoller, WaitForTaskOptions } from "./task-poller.ts";

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
   *
   * @example examples/sdk.test.ts#wait-for
   * ```ts
   * try {
   *   const { type, result } = await client.tasks.waitFor(taskId, { deadlineMs: 600_000 });
   *   console.log(type, result);
   * } catch (error) {
   *   if (!(error instanceof TaskFailedError)) throw error;
   *   console.log(error.task.errorMessage);
   * }
   * ```
   */
  waitFor(taskId: string, options?: WaitForTaskOptions): Promise<Task>;
}

const checkGet = inputOf("tasks.get", nonEmptyString);
const checkList = inputOf(
  "tasks.list",
  strictObject({
    ...offsetInput,
    ids: optional(array(nonEmptyString)),
    types: optional(array(nonEmptyString)),
    statuses: optional(array(taskStatus)),
    clientIds: optional(array(nonEmptyString)),
  }),
);

export function createTasks(send: Send, poller: TaskPoller): Tasks {
  return {
    get: (taskId, call) =>
      send(
        { ...listTasks, method: "tasks.get" },
        () => ({ filters: { ids: [checkGet(taskId)] }, offset: 0, limit: 1 }),
        (data) => readTask(workspaceIn(data).tasks[0] ?? notFound("task")),
        call,
      ),

    list(options = {}, call) {
      const { offset: start, limit: pageSize, ...filters } = checkList(options);
      return createOffsetList(
        (offset, limit) =>
          send(
            listTasks,
            { filters, offset, limit },
            (data) => workspaceIn(data).tasks.map(readTask),
            call,
          ).withMeta(),
        { offset: start, limit: pageSize },
      );
    },

    waitFor: poller.waitFor,
  };
}
