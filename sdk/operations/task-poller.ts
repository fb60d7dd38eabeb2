// All waits of a client share one poller. Each poll fetches up to 100 tasks in order of due time, including ones not yet
// due, so more waits do not mean more requests. Polls are spaced so that they use at most a quarter of the rate limit;
// other calls keep the rest.
//
// A wait is `waiting` until it is settled, once: by the task (`COMPLETED` or `FAILED`), after three polls in a row
// without the task, by a failure that is not transient, by its deadline, its signal or `close`.

import type { CallScope } from "../call/call-scope.ts";
import { failure, toError } from "../call/failure.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine/engine.ts";
import { type ErrorCode, isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import { checkInput } from "../validation/check-input.ts";
import {
  abortSignal,
  durationMs,
  functionOf,
  nonEmptyString,
  optional,
  strictObject,
  withDefault,
} from "../validation/schema.ts";
import { workspaceIn } from "./me.ts";
import { listTasks, readTask, type Task } from "./task.ts";

/** The task that `tasks.waitFor` waited for is `FAILED`. `task` is its last state, with its stages and `errorMessage`. */
export class TaskFailedError extends WorkspaceTasksError {
  // Private, so that printing the error does not print the task's content.
  readonly #task: Task;

  constructor(task: Task, polls: number) {
    super("TASK_FAILED", `task ${task.id} failed`, { outcome: "rejected", attempts: polls });
    this.#task = task;
  }

  get task(): Task {
    return this.#task;
  }
}

export interface WaitForTaskOptions {
  /** Ends the wait, not the task. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait. Default 3,600,000 ms, at most 2,147,483,647 ms. */
  readonly deadlineMs?: number | undefined;
  /** Pause after the first poll, doubled while nothing changes. Default 2,000 ms. */
  readonly pollIntervalMs?: number | undefined;
  /** Longest pause between two polls. Default 15,000 ms. */
  readonly maxPollIntervalMs?: number | undefined;
  /** Called with the task when it is first found and whenever it or one of its stages has changed. */
  readonly onProgress?: ((task: Task) => void) | undefined;
}

export interface TaskPoller {
  waitFor(taskId: string, options?: WaitForTaskOptions): Promise<Task>;
}

const waitForInput = strictObject({
  signal: optional(abortSignal),
  deadlineMs: withDefault(durationMs, 3_600_000),
  pollIntervalMs: withDefault(durationMs, 2_000),
  maxPollIntervalMs: withDefault(durationMs, 15_000),
  onProgress: optional(functionOf<(task: Task) => void>()),
});
type WaitInput = ReturnType<typeof waitForInput>;

const idsPerPollMax = 100;
const rateLimitShareMax = 0.25;
// A task that was only just started may not be listed yet.
const pollsUntilMissing = 3;
const spacingWithoutLimitMs = 1_000;

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

export function createTaskPoller(engine: Engine, clock: Clock): TaskPoller {
  const waits = new Set<Wait>();
  let cancelTimer: (() => void) | undefined;
  let polling: AbortController | undefined;
  let spacedUntilMs = 0;
  let isScheduling = false;

  /** Schedules after the current work, once for all waits that begin or end in it: they share a poll. */
  function scheduleSoon(): void {
    if (isScheduling) return;
    isScheduling = true;
    queueMicrotask(() => {
      isScheduling = false;
      schedule();
    });
  }

  function schedule(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    if (waits.size === 0) polling?.abort();
    if (waits.size === 0 || polling !== undefined) return;
    let dueAtMs = Number.POSITIVE_INFINITY;
    for (const { nextPollAtMs } of waits) dueAtMs = Math.min(dueAtMs, nextPollAtMs);
    const delayMs = Math.max(dueAtMs, spacedUntilMs) - clock.monotonic();
    if (delayMs > 0) cancelTimer = clock.schedule(delayMs, () => void poll());
    else void poll();
  }

  async function poll(): Promise<void> {
    polling = new AbortController();
    const batch = nextBatch(waits);
    try {
      const found = await fetchTasks(engine, [...batch.keys()], polling.signal, () => {
        spacedUntilMs = Math.max(spacedUntilMs, clock.monotonic()) + spacingMs(engine);
      });
      for (const [id, waiting] of batch) for (const wait of waiting) wait.polled(found.get(id));
    } catch (error) {
      for (const wait of [...batch.values()].flat()) wait.failed(error);
    }
    polling = undefined;
    scheduleSoon();
  }

  return {
    async waitFor(id, given = {}) {
      const taskId = checkInput("tasks.waitFor", nonEmptyString, id);
      const options = checkInput("tasks.waitFor", waitForInput, given);
      const scope = engine.openScope({
        signal: options.signal,
        limitMs: options.deadlineMs,
        onLimit(limitMs) {
          const message = `task ${taskId} did not finish within ${limitMs} ms`;
          return failure("DEADLINE_EXCEEDED", message, { cause: wait.lastFailure });
        },
      });
      const wait = new Wait(taskId, options, clock, scope);
      if (!wait.isOver) waits.add(wait);
      scheduleSoon();
      try {
        return await wait.settled;
      } finally {
        waits.delete(wait);
        scope.dispose();
        scheduleSoon();
      }
    },
  };
}

/** One call of `waitFor`. */
class Wait {
  readonly taskId: string;
  readonly settled: Promise<Task>;
  isOver = false;
  nextPollAtMs: number;
  lastFailure: unknown;
  readonly #clock: Clock;
  readonly #options: WaitInput;
  #intervalMs: number;
  #polls = 0;
  #missing = 0;
  #lastSeen = "";
  #resolve: (task: Task) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(taskId: string, options: WaitInput, clock: Clock, scope: CallScope) {
    this.taskId = taskId;
    this.nextPollAtMs = clock.monotonic();
    this.#clock = clock;
    this.#options = options;
    this.#intervalMs = options.pollIntervalMs;
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    scope.onEnd((failure) => {
      const outcome = this.#polls === 0 ? "not_sent" : "unknown";
      this.#fail(toError({ ...failure, outcome }, { attempts: this.#polls }));
    });
  }

  polled(task: Task | undefined): void {
    if (this.isOver) return;
    this.#polls += 1;
    this.#missing = task ? 0 : this.#missing + 1;
    try {
      this.#pollAgain(task ? this.#report(task) : true);
    } catch (error) {
      this.#fail(error);
    }
    if (this.#missing >= pollsUntilMissing) this.#fail(taskNotFound(this.taskId, this.#polls));
    if (task?.status === "FAILED") this.#fail(new TaskFailedError(task, this.#polls));
    if (task?.status !== "COMPLETED") return;
    this.isOver = true;
    this.#resolve(task);
  }

  failed(error: unknown): void {
    this.#polls += 1;
    this.lastFailure = error;
    if (isWorkspaceTasksError(error) && transientCodes.has(error.code)) this.#pollAgain(false);
    else this.#fail(error);
  }

  #fail(error: unknown): void {
    this.isOver = true;
    this.#reject(error);
  }

  #pollAgain(hasChanged: boolean): void {
    const { pollIntervalMs, maxPollIntervalMs } = this.#options;
    this.#intervalMs = hasChanged ? pollIntervalMs : Math.min(this.#intervalMs * 2, maxPollIntervalMs);
    this.nextPollAtMs = this.#clock.monotonic() + this.#intervalMs;
  }

  /** Returns whether the task differs from the one of the last poll. */
  #report(task: Task): boolean {
    const seen = JSON.stringify(task);
    if (seen === this.#lastSeen) return false;
    this.#lastSeen = seen;
    this.#options.onProgress?.(task);
    return true;
  }
}

/** Fetches tasks by id. A service that limits its pages below the ids requested gets another request for the rest. */
async function fetchTasks(
  { send }: Engine,
  ids: readonly string[],
  signal: AbortSignal,
  onRequest: () => void,
): Promise<ReadonlyMap<string, Task>> {
  const found = new Map<string, Task>();
  let missing = ids;
  let requested: number;
  do {
    requested = missing.length;
    onRequest();
    const variables = { filters: { ids: missing }, offset: 0, limit: requested };
    const tasks = await send(listTasks, variables, (data) => workspaceIn(data).tasks, { signal });
    for (const task of tasks) found.set(task.id, readTask(task));
    missing = missing.filter((id) => !found.has(id));
  } while (missing.length > 0 && missing.length < requested);
  return found;
}

/** The waits that are due first, by task: as many tasks as one request may ask for. */
function nextBatch(waits: Iterable<Wait>): ReadonlyMap<string, readonly Wait[]> {
  const byDueTime = [...waits].sort((one, other) => one.nextPollAtMs - other.nextPollAtMs);
  const batch = new Map<string, Wait[]>();
  for (const wait of byDueTime) {
    const sharing = batch.get(wait.taskId);
    if (sharing) sharing.push(wait);
    else if (batch.size < idsPerPollMax) batch.set(wait.taskId, [wait]);
  }
  return batch;
}

/** Time between two requests for polling to stay within its share of the rate limit. */
function spacingMs(engine: Engine): number {
  const rateLimit = engine.rateLimitSnapshot("base");
  if (rateLimit === undefined) return spacingWithoutLimitMs;
  return rateLimit.windowMs / rateLimit.limit / rateLimitShareMax;
}

function taskNotFound(taskId: string, polls: number): WorkspaceTasksError {
  const message = `no task ${taskId} in this workspace (not found in ${pollsUntilMissing} consecutive polls)`;
  return new WorkspaceTasksError("NOT_FOUND", message, { outcome: "rejected", attempts: polls });
}
