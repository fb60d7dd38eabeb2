// All waits of a client share one poller. A look asks for the 100 tasks whose turn is next, those that are
// not due yet included, so the number of waits does not multiply the requests. Looks are spaced so that
// polling takes at most a quarter of the allowance; the calls that do the work keep the rest.
//
// A wait is `waiting` until it is settled, once: by the task (`COMPLETED` or `FAILED`), by its absence in
// three looks in a row, by a failure that polling again cannot mend, by its deadline, its signal or `close`.

import { CallScope } from "../call/call-scope.ts";
import { toError } from "../call/failure.ts";
import type { Engine } from "../engine/engine.ts";
import { type ErrorCode, isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import { workspaceIn } from "./me.ts";
import { listTasksOperation, readTask, type Task } from "./task.ts";

/** A task that was waited for ended as `FAILED`. `task` is its last state, with the stages and the failure text. */
export class TaskFailedError extends WorkspaceTasksError {
  // Private, so that printing the error does not print what the task is about.
  readonly #task: Task;

  constructor(task: Task, looks: number) {
    super("TASK_FAILED", `task ${task.id} failed`, { outcome: "rejected", attempts: looks });
    this.#task = task;
  }

  get task(): Task {
    return this.#task;
  }
}

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs: number;
  readonly pollIntervalMs: number;
  readonly pollIntervalMsMax: number;
  readonly onProgress?: ((task: Task) => void) | undefined;
}

export interface TaskPoller {
  waitFor(taskId: string, options: WaitOptions): Promise<Task>;
  /** Ends every wait with `CLIENT_CLOSED`. */
  close(): void;
}

const idsPerRequestMax = 100;
const allowanceShareMax = 0.25;
// A task that was only just started may not be listed yet.
const looksUntilMissing = 3;
const spacingWithoutAllowanceMs = 1_000;

// Another look later may go better; anything else (a refused key, a lost permission) would fail for ever.
const passingFailures: ReadonlySet<ErrorCode> = new Set([
  "NETWORK_FAILED",
  "SERVICE_UNAVAILABLE",
  "SERVICE_FAILED",
  "RESPONSE_INVALID",
  "REQUEST_TIMEOUT",
  "DEADLINE_EXCEEDED",
  "RATE_LIMITED",
  "RATE_LIMIT_QUEUE_FULL",
  "RATE_LIMIT_WAIT_EXCEEDED",
  "RATE_LIMIT_STORE_FAILED",
]);

export function createTaskPoller(engine: Engine): TaskPoller {
  const { clock } = engine;
  const waits = new Set<Wait>();
  let cancelTimer: (() => void) | undefined;
  let looking: AbortController | undefined;
  let spacedUntil = 0;
  let planning = false;
  let closed = false;

  /** Plans after the current work, once for all waits that begin or end in it: they look together. */
  function planSoon(): void {
    if (planning) return;
    planning = true;
    queueMicrotask(() => {
      planning = false;
      plan();
    });
  }

  function plan(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    if (waits.size === 0) looking?.abort();
    if (waits.size === 0 || looking !== undefined) return;
    let dueAt = Number.POSITIVE_INFINITY;
    for (const { nextLookAt } of waits) dueAt = Math.min(dueAt, nextLookAt);
    const delayMs = Math.max(dueAt, spacedUntil) - clock.monotonic();
    if (delayMs > 0) cancelTimer = clock.schedule(delayMs, () => void look());
    else void look();
  }

  async function look(): Promise<void> {
    const controller = new AbortController();
    looking = controller;
    const batch = nextBatch(waits);
    try {
      const seen = await fetchTasks(engine, [...batch.keys()], controller.signal, () => {
        spacedUntil = Math.max(spacedUntil, clock.monotonic()) + spacingMs(engine);
      });
      for (const [id, waiting] of batch) for (const wait of waiting) wait.looked(seen.get(id));
    } catch (error) {
      for (const wait of [...batch.values()].flat()) wait.failed(error);
    }
    looking = undefined;
    planSoon();
  }

  return {
    async waitFor(taskId, options) {
      if (closed) throw clientClosed();
      const wait = createWait(engine, taskId, options);
      if (!wait.over) waits.add(wait);
      planSoon();
      try {
        return await wait.settled;
      } finally {
        waits.delete(wait);
        planSoon();
      }
    },
    close() {
      closed = true;
      for (const wait of waits) wait.end(clientClosed());
    },
  };
}

interface Wait {
  readonly taskId: string;
  readonly settled: Promise<Task>;
  /** True once it is settled; a signal that was aborted before ends it at its creation. */
  readonly over: boolean;
  readonly nextLookAt: number;
  looked(task: Task | undefined): void;
  failed(error: unknown): void;
  end(error: unknown): void;
}

function createWait({ clock }: Engine, taskId: string, options: WaitOptions): Wait {
  const { promise, resolve, reject } = withResolvers<Task>();
  let looks = 0;
  let missing = 0;
  let intervalMs = options.pollIntervalMs;
  let nextLookAt = clock.monotonic();
  let over = false;
  let lastSeen = "";
  let lastFailure: unknown;

  const scope = new CallScope({
    clock,
    signal: options.signal,
    limitMs: options.deadlineMs,
    onLimit: (limitMs) => ({
      code: "DEADLINE_EXCEEDED",
      message: `task ${taskId} did not finish within ${limitMs} ms`,
      outcome: "unknown",
      remedy: "none",
      cause: lastFailure,
    }),
  });
  scope.onEnd((failure) => {
    const outcome = looks === 0 ? "not_sent" : "unknown";
    end(toError({ ...failure, outcome }, { attempts: looks }));
  });

  function end(error: unknown): void {
    over = true;
    scope.dispose();
    reject(error);
  }

  function lookAgain(changed: boolean): void {
    intervalMs = changed ? options.pollIntervalMs : Math.min(intervalMs * 2, options.pollIntervalMsMax);
    nextLookAt = clock.monotonic() + intervalMs;
  }

  /** Tells whether the task is another than at the last look. */
  function report(task: Task): boolean {
    const now = JSON.stringify(task);
    if (now === lastSeen) return false;
    lastSeen = now;
    options.onProgress?.(task);
    return true;
  }

  return {
    taskId,
    settled: promise,
    end,
    get over() {
      return over;
    },
    get nextLookAt() {
      return nextLookAt;
    },
    looked(task) {
      if (over) return;
      looks += 1;
      if (task === undefined) {
        missing += 1;
        if (missing >= looksUntilMissing) end(taskNotFound(taskId, looks));
        lookAgain(true);
        return;
      }
      missing = 0;
      try {
        lookAgain(report(task));
      } catch (error) {
        end(error);
        return;
      }
      if (task.status === "FAILED") end(new TaskFailedError(task, looks));
      if (task.status !== "COMPLETED") return;
      over = true;
      scope.dispose();
      resolve(task);
    },
    failed(error) {
      looks += 1;
      lastFailure = error;
      if (isWorkspaceTasksError(error) && passingFailures.has(error.code)) lookAgain(false);
      else end(error);
    },
  };
}

/** Reads tasks by id. A service that caps its pages below the ids asked for is asked for the rest. */
async function fetchTasks(
  engine: Engine,
  ids: readonly string[],
  signal: AbortSignal,
  onRequest: () => void,
): Promise<ReadonlyMap<string, Task>> {
  const found = new Map<string, Task>();
  let wanted = ids;
  let asked: number;
  do {
    asked = wanted.length;
    const variables = { filters: { ids: wanted }, offset: 0, limit: asked };
    onRequest();
    const data = await engine.execute(listTasksOperation, variables, { signal });
    for (const task of workspaceIn(data).tasks) found.set(task.id, readTask(task));
    wanted = wanted.filter((id) => !found.has(id));
  } while (wanted.length > 0 && wanted.length < asked);
  return found;
}

/** The waits whose turn is next, by task: as many tasks as one request may ask for. */
function nextBatch(waits: Iterable<Wait>): ReadonlyMap<string, readonly Wait[]> {
  const inTurn = [...waits].sort((one, other) => one.nextLookAt - other.nextLookAt);
  const batch = new Map<string, Wait[]>();
  for (const wait of inTurn) {
    const sharing = batch.get(wait.taskId);
    if (sharing) sharing.push(wait);
    else if (batch.size < idsPerRequestMax) batch.set(wait.taskId, [wait]);
  }
  return batch;
}

/** Time that one request must keep from the next for polling to stay within its share. */
function spacingMs(engine: Engine): number {
  const allowance = engine.rateLimitSnapshot("base");
  if (allowance === undefined) return spacingWithoutAllowanceMs;
  return allowance.windowMs / allowance.limit / allowanceShareMax;
}

function taskNotFound(taskId: string, looks: number): WorkspaceTasksError {
  const message = `the workspace has no task ${taskId}, in ${looksUntilMissing} looks in a row`;
  return new WorkspaceTasksError("NOT_FOUND", message, { outcome: "rejected", attempts: looks });
}

function clientClosed(): WorkspaceTasksError {
  return new WorkspaceTasksError("CLIENT_CLOSED", "the client was closed while it waited for a task");
}

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
