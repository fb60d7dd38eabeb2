import * as s from "@workspace-tasks/kernel/schema.ts";
import type { Call, Send } from "../engine/call.ts";
import type { CallOptions } from "../options.ts";
import { notFound, workspaceIn } from "./me.ts";
import { createOffsetList, itemsIn, offsetInput, type PagedList } from "./pagination.ts";
import { listTasks, readTask, type Task, type TaskStatus, taskStatus } from "./task.ts";
import type { TaskPoller, WaitForTaskOptions } from "./task-wait.ts";

export interface ListTasksOptions {
  readonly ids?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  readonly statuses?: readonly TaskStatus[] | undefined;
  readonly clientIds?: readonly string[] | undefined;
  /** Tasks to skip, such as the `next` of a page. Default 0. */
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
   * A task that matches all the time is listed, once, also when others cease to match while the list is read; one that
   * matches for a part of the time may be. With an `offset` above 0, tasks that move in front of it are not listed.
   * Errors: `ARGUMENT_INVALID`, `PAGINATION_STALLED`. Beyond the interface (assumed).
   */
  list(options?: ListTasksOptions, call?: CallOptions): PagedList<Task, number>;

  /**
   * Waits until a task is `COMPLETED` and resolves to it; a `FAILED` task rejects with a `TaskFailedError`, which
   * carries the task.
   *
   * Polls with at most a quarter of the rate limit. All waits of one client share their requests: 100 waits cost one
   * request per round. Transient failures (network, 5xx, timeouts) are polled again, and an id that the service cannot
   * process ends its own waits only. Errors: `TASK_FAILED`, `NOT_FOUND`, `ARGUMENT_INVALID`, `ON_PROGRESS_FAILED`,
   * `DEADLINE_EXCEEDED`, `ABORTED`, `CLIENT_CLOSED`. Beyond the interface (assumed).
   */
  waitFor(taskId: string, options?: WaitForTaskOptions): Promise<Task>;
}

const listInput = s.strictObject({
  ...offsetInput,
  ids: s.optional(s.array(s.nonEmptyString)),
  types: s.optional(s.array(s.nonEmptyString)),
  statuses: s.optional(s.array(taskStatus)),
  clientIds: s.optional(s.array(s.nonEmptyString)),
});

export function createTasks(send: Send, poller: TaskPoller): Tasks {
  return {
    get: (taskId, call) =>
      send(
        { ...listTasks, method: "tasks.get" },
        (check) => ({ filters: { ids: [check(s.nonEmptyString, taskId)] }, offset: 0, limit: 1 }),
        call,
        (data) => readTask(workspaceIn(data).tasks[0] ?? notFound("task")),
      ),

    list: (options = {}, call) =>
      createOffsetList("tasks.list", (check) => {
        const { offset: start, limit: pageSize, ...filters } = check(listInput, options);
        return {
          offset: start,
          limit: pageSize,
          fetchItems: (offset, limit) =>
            send(listTasks, { filters, offset, limit }, call, (data) =>
              itemsIn(workspaceIn(data).tasks).map(readTask),
            ).withMeta(),
        };
      }),

    waitFor: poller.waitFor,
  };
}
