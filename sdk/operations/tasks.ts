import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { keepName } from "@workspace-tasks/kernel/keep-name.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { nonEmptyString, type Schema } from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, failure, onProgressFailed, toError } from "../call/failure.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Engine } from "../engine/engine.ts";
import { type ErrorCode, isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { TaskStatus as KnownTaskStatus, ListTasksQuery } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions, ResolvedOptions } from "../options.ts";
import { checkInput } from "../validation.ts";
import { createOffsetList, itemsIn, offsetInput, type PagedList } from "./pagination.ts";
import type { OpenUnion } from "./workspaces.ts";
import { notFound, type Override, type PickSelected, workspaceIn } from "./workspaces.ts";

type RawWorkspaceUser = Extract<NonNullable<ListTasksQuery["me"]>, { readonly __typename: "WorkspaceUser" }>;
/** A task as the service sends it. */
export type RawTask = RawWorkspaceUser["workspace"]["tasks"][number];

/** `RUNNING`, `COMPLETED`, `FAILED`, or a status added later. @see interface §3 */
export type TaskStatus = OpenUnion<KnownTaskStatus>;

/** One stage of a task; `type` is free text, and an unrecognised stage is informational. @see interface §6 */
export interface SubTask extends Override<schema.SubTask, { readonly status: TaskStatus }> {}

export interface TaskTaxPrepResult extends schema.TaskTaxPrepResult {
  readonly __typename: "TaskTaxPrepResult";
}
export interface TaskUnknownResult extends schema.TaskUnknownResult {
  readonly __typename: "TaskUnknownResult";
}
/** Compare `__typename`; kinds of result that are added later become `TaskUnknownResult`. */
export type TaskResult = TaskTaxPrepResult | TaskUnknownResult;

export interface UserShortDetails
  extends PickSelected<schema.UserShortDetails, NonNullable<RawTask["triggeredBy"]>> {}

/** A task with its stages and its result. Its fields are beyond the interface (documented). @see interface §3 */
export interface Task
  extends Override<
    schema.Task,
    {
      readonly status: TaskStatus;
      readonly subTasks: readonly SubTask[];
      readonly result: TaskResult;
      readonly triggeredBy: UserShortDetails | null;
    }
  > {}

export const listTasks = defineOperation("ListTasks", "tasks.list");

// Typed as today's statuses for the generated variables; one that the service adds later is accepted as well.
export const taskStatus = nonEmptyString as Schema<KnownTaskStatus>;

/** The public form of a task; an unknown kind of result becomes `TaskUnknownResult`. */
export function readTask(raw: RawTask): Task {
  const isKnown =
    raw.result.__typename === "TaskTaxPrepResult" || raw.result.__typename === "TaskUnknownResult";
  if (isKnown) return raw;
  const task: Task = raw;
  return { ...task, result: { __typename: "TaskUnknownResult", taskType: task.type } };
}

/** The attribute of a task that names its work, as `ImportedClient.workId` does. */
export function workIdOf(task: Pick<Task, "attributes">): string | undefined {
  checkInput("workIdOf", withAttributes, task);
  return task.attributes.find(({ name }) => name === "workId")?.value;
}

const withAttributes = s.looseObject({ attributes: s.array(s.object) });

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

export interface WaitForTaskOptions {
  /** Ends the wait, not the task. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait. Default: the client's `deadlineMs`, else 3,600,000 ms; at most 2,147,483,647 ms. */
  readonly deadlineMs?: number | undefined;
  /**
   * Called with the task when it is first found and whenever it or one of its stages has changed. A promise that it
   * returns is awaited before the next poll of this task; a failure ends the wait with `ON_PROGRESS_FAILED`.
   */
  readonly onProgress?: ((task: Task) => unknown) | undefined;
}

/** The task that `tasks.waitFor` waited for is `FAILED`. `task` is its last state, with its stages and `errorMessage`. */
export class TaskFailedError extends WorkspaceTasksError {
  static {
    keepName(TaskFailedError, "TaskFailedError");
  }

  // Private, so that printing the error does not print the task's content.
  readonly #task: Task;

  constructor(task: Task, polls: number) {
    super("TASK_FAILED", `${operation.method}: task ${task.id} failed`, {
      outcome: "rejected",
      attempts: polls,
    });
    this.#task = task;
  }

  get task(): Task {
    return this.#task;
  }
}

const listInput = s.strictObject({
  ...offsetInput,
  ids: s.optional(s.array(s.nonEmptyString)),
  types: s.optional(s.array(s.nonEmptyString)),
  statuses: s.optional(s.array(taskStatus)),
  clientIds: s.optional(s.array(s.nonEmptyString)),
});

export function createTasks(engine: Engine, options: ResolvedOptions): Tasks {
  const { send } = engine;
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

    waitFor: createWaitFor(engine, options),
  };
}

// All waits of a client share one poller. Each poll fetches up to 100 tasks in order of due time, including ones not yet
// due, so more waits do not mean more requests. Polls are spaced so that they use at most a quarter of the rate limit;
// other calls keep the rest.
//
// One id can make a request fail that would succeed without it. So the waits of a request that failed, and whose ids can
// be the reason, are polled in halves until the one that fails alone is known. Each of these polls keeps the spacing.

const operation = { method: "tasks.waitFor", name: undefined };

const taskIdInput = s.refineString(
  "the id of a task, a UUID",
  (value) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value),
  "another string",
);
const waitForInput = s.strictObject(
  {
    signal: s.optional(s.abortSignal),
    deadlineMs: s.optional(s.durationMs),
    onProgress: s.optional(s.functionOf<(task: Task) => unknown>()),
  },
  {
    timeout: "did you mean deadlineMs?",
    timeoutMs: "did you mean deadlineMs? timeoutMs of the client limits one request",
  },
);
type WaitInput = ReturnType<typeof waitForInput>;

/** The pause after the first poll, doubled while nothing changes. */
const pollIntervalMs = { first: 2_000, max: 15_000 };
const rateLimitShareMax = 0.25;
const spacingWithoutLimitMs = 1_000;

function createWaitFor(engine: Engine, options: ResolvedOptions): Tasks["waitFor"] {
  const { clock } = options;
  const waits = new Set<TaskWait>();
  let cancelTimer: (() => void) | undefined;
  let polling: AbortController | undefined;
  let spacedUntilMs = 0;
  let isScheduling = false;

  /** Schedules after the current work, once for all waits that begin or end in it: they share a poll. */
  function scheduleSoon(): void {
    if (isScheduling) return;
    isScheduling = true;
    // Not queueMicrotask: Jest's fake timers replace it, and then nothing would be polled.
    void Promise.resolve().then(() => {
      isScheduling = false;
      schedule();
    });
  }

  function schedule(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    if (waits.size === 0) polling?.abort();
    if (polling !== undefined) return;
    let dueAtMs = Number.POSITIVE_INFINITY;
    for (const { nextPollAtMs } of waits) dueAtMs = Math.min(dueAtMs, nextPollAtMs);
    if (dueAtMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.max(dueAtMs, spacedUntilMs) - clock.monotonic();
    if (delayMs > 0) cancelTimer = clock.schedule(delayMs, () => void poll());
    else void poll();
  }

  async function poll(): Promise<void> {
    polling = new AbortController();
    const batch = nextBatch(waits);
    const { found, error } = await fetchTasks(engine, [...batch.keys()], polling.signal, () => {
      spacedUntilMs = Math.max(spacedUntilMs, clock.monotonic()) + spacingMs(engine);
    });
    for (const [id, waiting] of batch) {
      const task = found.get(id);
      for (const wait of waiting) {
        if (task !== undefined || error === undefined) wait.polled(task);
        else wait.failed(error, batch.size);
      }
    }
    polling = undefined;
    scheduleSoon();
  }

  return async (id, given = {}) => {
    // The service writes ids in lower case.
    const taskId = checkInput(operation.method, taskIdInput, id).toLowerCase();
    const input = checkInput(operation.method, waitForInput, given);
    const scope = engine.openScope({
      signal: input.signal,
      limitMs: input.deadlineMs ?? options.longDeadlineMs,
      onLimit(limitMs) {
        const message = `task ${taskId} did not finish within deadlineMs (${limitMs})`;
        return failure("DEADLINE_EXCEEDED", message, { cause: wait.lastFailure });
      },
    });
    const wait = new TaskWait(taskId, input, { client: options, scope, onDue: scheduleSoon });
    if (!wait.isOver) waits.add(wait);
    scheduleSoon();
    try {
      return await wait.result.promise;
    } finally {
      waits.delete(wait);
      scope.dispose();
      scheduleSoon();
    }
  };
}

interface FoundTasks {
  readonly found: ReadonlyMap<string, Task>;
  /** Why others are not in `found`; without one, they are not listed. */
  readonly error?: unknown;
}

/**
 * Fetches tasks by id, and never rejects. A service that limits its pages below the ids requested gets another request for
 * the rest.
 */
async function fetchTasks(
  { send }: Engine,
  ids: readonly string[],
  signal: AbortSignal,
  onRequest: () => void,
): Promise<FoundTasks> {
  const found = new Map<string, Task>();
  const keep = (data: ListTasksQuery) => {
    // The service may list null for a task that cannot be read, in spite of its schema.
    for (const task of workspaceIn(data).tasks) if (task) found.set(task.id, readTask(task));
    return found;
  };
  let missing = ids;
  let requested: number;
  do {
    requested = missing.length;
    onRequest();
    const variables = { filters: { ids: missing }, offset: 0, limit: requested };
    try {
      // The next poll is the retry.
      await send({ ...listTasks, method: "tasks.waitFor" }, variables, { signal, maxRetries: 0 }, keep);
    } catch (error) {
      if (isWorkspaceTasksError(error)) tryToRead(() => keep(error.data as ListTasksQuery));
      return { found, error };
    }
    missing = missing.filter((id) => !found.has(id));
  } while (missing.length > 0 && missing.length < requested);
  return { found };
}

/** Errors on fields that may be null leave the tasks in the data; after other errors there is none. */
function tryToRead(read: () => unknown): void {
  try {
    read();
  } catch {
    // There is no data.
  }
}

/** The waits that are due first, by task: as many tasks as a request with the first of them may ask for. */
function nextBatch(waits: Iterable<TaskWait>): ReadonlyMap<string, readonly TaskWait[]> {
  const byDueTime = [...waits]
    .filter(({ nextPollAtMs }) => nextPollAtMs !== Number.POSITIVE_INFINITY)
    .sort((one, other) => one.nextPollAtMs - other.nextPollAtMs);
  const idsMax = byDueTime[0]?.idsMax ?? tasksPerPollMax;
  const batch = new Map<string, TaskWait[]>();
  for (const wait of byDueTime) {
    const sharing = batch.get(wait.taskId);
    if (sharing) sharing.push(wait);
    else if (batch.size < idsMax && wait.idsMax === idsMax) batch.set(wait.taskId, [wait]);
  }
  return batch;
}

/** Time between two requests for polling to stay within its share of the rate limit. */
function spacingMs(engine: Engine): number {
  const rateLimit = engine.rateLimitSnapshot("base");
  if (rateLimit === undefined) return spacingWithoutLimitMs;
  return rateLimit.windowMs / rateLimit.limit / rateLimitShareMax;
}

const tasksPerPollMax = 100;
// A task that was only just started may not be listed yet.
const pollsUntilMissing = 3;

// Another poll may succeed; after any other failure (a rejected key, a lost permission) none would.
const transientCodes: ReadonlySet<ErrorCode> = new Set([
  "NETWORK_FAILED",
  "SERVICE_UNAVAILABLE",
  "SERVICE_FAILED",
  "RESPONSE_INVALID",
  "REQUEST_TIMEOUT",
  "DEADLINE_EXCEEDED",
  "API_KEY_UNAVAILABLE",
  "TOKEN_REJECTED",
  "RATE_LIMITED",
  "RATE_LIMIT_QUEUE_FULL",
  "RATE_LIMIT_WAIT_EXCEEDED",
  "RATE_LIMIT_STORE_FAILED",
]);

// One id of a request can be the cause of these.
const idCodes: ReadonlySet<ErrorCode> = new Set([
  "INPUT_INVALID",
  "NOT_FOUND",
  "PERMISSION_DENIED",
  "HTTP_REQUEST_REJECTED",
  "GRAPHQL_ERROR",
  "SERVICE_FAILED",
  "RESPONSE_INVALID",
]);

interface WaitDependencies {
  readonly client: ResolvedOptions;
  /** Ends with the wait's signal and deadline, and with the client. */
  readonly scope: CallScope;
  /** Called when the wait is due again after `onProgress`. */
  readonly onDue: () => void;
}

/**
 * One call of `waitFor`. It is settled once: by the task (`COMPLETED` or `FAILED`), after three polls in a row without the
 * task, by a failure that is not transient, by its deadline, its signal or `close`.
 */
class TaskWait {
  readonly taskId: string;
  isOver = false;
  /** Infinity while `onProgress` is running. */
  nextPollAtMs: number;
  /** Tasks that a request with this one may ask for. Waits share requests with those of the same number. */
  idsMax = tasksPerPollMax;
  lastFailure: unknown;
  readonly result = deferred<Task>();
  readonly #options: WaitInput;
  readonly #dependencies: WaitDependencies;
  #intervalMs = pollIntervalMs.first;
  #polls = 0;
  #missing = 0;
  #failuresInARow = 0;
  #lastSeen = "";

  constructor(taskId: string, options: WaitInput, dependencies: WaitDependencies) {
    this.taskId = taskId;
    this.nextPollAtMs = dependencies.client.clock.monotonic();
    this.#options = options;
    this.#dependencies = dependencies;
    dependencies.scope.onEnd((ended) => {
      const outcome = this.#polls === 0 ? "not_sent" : "unknown";
      this.#failWith({ ...ended, outcome });
    });
  }

  polled(task: Task | undefined): void {
    if (this.isOver) return;
    this.#polls += 1;
    this.#failuresInARow = 0;
    this.idsMax = tasksPerPollMax;
    this.#missing = task ? 0 : this.#missing + 1;
    if (this.#missing >= pollsUntilMissing) this.#failWith(taskNotFound(this.taskId));
    else if (task && this.#hasChanged(task)) void this.#report(task);
    else this.#next(task, task === undefined);
  }

  /** @param tasks how many the request asked for */
  failed(error: unknown, tasks: number): void {
    if (this.isOver) return;
    this.#polls += 1;
    this.#failuresInARow += 1;
    this.lastFailure = error;
    if (!isWorkspaceTasksError(error)) {
      this.#fail(error);
      return;
    }
    const isTransient = transientCodes.has(error.code);
    if (tasks > 1 && isOfOneId(error) && (!isTransient || this.#failuresInARow > 1)) {
      this.idsMax = Math.ceil(tasks / 2);
      this.nextPollAtMs = this.#dependencies.client.clock.monotonic();
    } else if (isTransient) this.#pollAgain(false, error.retryAfterMs);
    else this.#fail(error);
  }

  #failWith(failure: Failure): void {
    const { redactor } = this.#dependencies.client;
    this.#fail(toError(failure, { attempts: this.#polls, operation, redactor }));
  }

  #fail(error: unknown): void {
    this.isOver = true;
    this.result.reject(error);
  }

  #next(task: Task | undefined, hasChanged: boolean): void {
    if (this.isOver) return;
    if (task?.status === "FAILED") this.#fail(new TaskFailedError(task, this.#polls));
    else if (task?.status === "COMPLETED") {
      this.isOver = true;
      this.result.resolve(task);
    } else this.#pollAgain(hasChanged);
  }

  #pollAgain(hasChanged: boolean, retryAfterMs = 0): void {
    const { first, max } = pollIntervalMs;
    this.#intervalMs = hasChanged ? first : Math.min(this.#intervalMs * 2, max);
    this.nextPollAtMs =
      this.#dependencies.client.clock.monotonic() + Math.max(this.#intervalMs, retryAfterMs);
  }

  #hasChanged(task: Task): boolean {
    const seen = JSON.stringify(task);
    const hasChanged = seen !== this.#lastSeen;
    this.#lastSeen = seen;
    return hasChanged;
  }

  async #report(task: Task): Promise<void> {
    this.nextPollAtMs = Number.POSITIVE_INFINITY;
    try {
      await this.#options.onProgress?.(task);
      this.#next(task, true);
      this.#dependencies.onDue();
    } catch (error) {
      this.#failWith(onProgressFailed(error));
    }
  }
}

/** The service, and not a proxy in front of it, which knows no ids, responds with 500. */
function isOfOneId({ code, httpStatus }: WorkspaceTasksError): boolean {
  return idCodes.has(code) || (code === "SERVICE_UNAVAILABLE" && httpStatus === 500);
}

function taskNotFound(taskId: string): Failure {
  const message = `no task ${taskId} in this workspace (not found in ${pollsUntilMissing} consecutive polls)`;
  return failure("NOT_FOUND", message, { outcome: "rejected" });
}
