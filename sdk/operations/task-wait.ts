// One call of `tasks.waitFor`. It is settled once: by the task (`COMPLETED` or `FAILED`), after three polls in a row without
// the task, by a failure that is not transient, by its deadline, its signal or `close`.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, failure, onProgressFailed, toError } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";
import { type ErrorCode, isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { Task } from "./task.ts";

const operation = { method: "tasks.waitFor", name: undefined };

/** The task that `tasks.waitFor` waited for is `FAILED`. `task` is its last state, with its stages and `errorMessage`. */
export class TaskFailedError extends WorkspaceTasksError {
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

export interface WaitForTaskOptions {
  /** Ends the wait, not the task. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait. Default: the client's `deadlineMs`, else 3,600,000 ms; at most 2,147,483,647 ms. */
  readonly deadlineMs?: number | undefined;
  /** Pause after the first poll, doubled while nothing changes. Default 2,000 ms. */
  readonly pollIntervalMs?: number | undefined;
  /** Longest pause between two polls. Default 15,000 ms. */
  readonly maxPollIntervalMs?: number | undefined;
  /**
   * Called with the task when it is first found and whenever it or one of its stages has changed. A promise that it
   * returns is awaited before the next poll of this task; a failure ends the wait with `ON_PROGRESS_FAILED`.
   */
  readonly onProgress?: ((task: Task) => unknown) | undefined;
}

export const taskIdInput = s.refineString(
  "the id of a task, a UUID",
  (value) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value),
  "another string",
);
export const waitForInput = s.strictObject(
  {
    signal: s.optional(s.abortSignal),
    deadlineMs: s.optional(s.durationMs),
    pollIntervalMs: s.withDefault(s.durationMs, 2_000),
    maxPollIntervalMs: s.withDefault(s.durationMs, 15_000),
    onProgress: s.optional(s.functionOf<(task: Task) => unknown>()),
  },
  {
    timeout: "did you mean deadlineMs?",
    timeoutMs: "did you mean deadlineMs? timeoutMs of the client limits one request",
  },
);
export type WaitInput = ReturnType<typeof waitForInput>;

export const tasksPerPollMax = 100;
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
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** Ends with the wait's signal and deadline, and with the client. */
  readonly scope: CallScope;
  /** Called when the wait is due again after `onProgress`. */
  readonly onDue: () => void;
}

/** One call of `waitFor`. */
export class TaskWait {
  readonly taskId: string;
  isOver = false;
  /** Infinity while `onProgress` is running. */
  nextPollAtMs: number;
  /** Tasks that a request with this one may ask for. Waits share requests with those of the same number. */
  idsMax = tasksPerPollMax;
  lastFailure: unknown;
  readonly #options: WaitInput;
  readonly #dependencies: WaitDependencies;
  #intervalMs: number;
  #polls = 0;
  #missing = 0;
  #failuresInARow = 0;
  #lastSeen = "";
  readonly #result = deferred<Task>();

  constructor(taskId: string, options: WaitInput, dependencies: WaitDependencies) {
    this.taskId = taskId;
    this.nextPollAtMs = dependencies.clock.monotonic();
    this.#options = options;
    this.#dependencies = dependencies;
    this.#intervalMs = options.pollIntervalMs;
    dependencies.scope.onEnd((ended) => {
      const outcome = this.#polls === 0 ? "not_sent" : "unknown";
      this.#failWith({ ...ended, outcome });
    });
  }

  get settled(): Promise<Task> {
    return this.#result.promise;
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
      this.nextPollAtMs = this.#dependencies.clock.monotonic();
    } else if (isTransient) this.#pollAgain(false, error.retryAfterMs);
    else this.#fail(error);
  }

  #failWith(failure: Failure): void {
    const { redactor } = this.#dependencies;
    this.#fail(toError(failure, { attempts: this.#polls, operation, redactor }));
  }

  #fail(error: unknown): void {
    this.isOver = true;
    this.#result.reject(error);
  }

  #next(task: Task | undefined, hasChanged: boolean): void {
    if (this.isOver) return;
    if (task?.status === "FAILED") this.#fail(new TaskFailedError(task, this.#polls));
    else if (task?.status === "COMPLETED") {
      this.isOver = true;
      this.#result.resolve(task);
    } else this.#pollAgain(hasChanged);
  }

  #pollAgain(hasChanged: boolean, retryAfterMs = 0): void {
    const { pollIntervalMs, maxPollIntervalMs } = this.#options;
    this.#intervalMs = hasChanged ? pollIntervalMs : Math.min(this.#intervalMs * 2, maxPollIntervalMs);
    this.nextPollAtMs = this.#dependencies.clock.monotonic() + Math.max(this.#intervalMs, retryAfterMs);
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
