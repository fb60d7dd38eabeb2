// All waits of a client share one poller. Each poll fetches up to 100 tasks in order of due time, including ones not yet
// due, so more waits do not mean more requests. Polls are spaced so that they use at most a quarter of the rate limit;
// other calls keep the rest.
//
// One id can make a request fail that would succeed without it. So the waits of a request that failed, and whose ids can
// be the reason, are polled in halves until the one that fails alone is known. Each of these polls keeps the spacing.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { failure } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Engine } from "../engine/engine.ts";
import { isWorkspaceTasksError } from "../errors.ts";
import type { ListTasksQuery } from "../generated/operations.ts";
import { checkInput } from "../validation/check-input.ts";
import { workspaceIn } from "./me.ts";
import { listTasks, readTask, type Task } from "./task.ts";
import {
  TaskWait,
  taskIdInput,
  tasksPerPollMax,
  type WaitForTaskOptions,
  waitForInput,
} from "./task-wait.ts";

export interface TaskPollerOptions {
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** The deadline of a wait that has none. */
  readonly longDeadlineMs: number;
}

export interface TaskPoller {
  waitFor(taskId: string, options?: WaitForTaskOptions): Promise<Task>;
}

const rateLimitShareMax = 0.25;
const spacingWithoutLimitMs = 1_000;

export function createTaskPoller(engine: Engine, options: TaskPollerOptions): TaskPoller {
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

  return {
    async waitFor(id, given = {}) {
      // As the service writes it.
      const taskId = checkInput("tasks.waitFor", taskIdInput, id).toLowerCase();
      const input = checkInput("tasks.waitFor", waitForInput, given);
      const scope = engine.openScope({
        signal: input.signal,
        limitMs: input.deadlineMs ?? options.longDeadlineMs,
        onLimit(limitMs) {
          const message = `task ${taskId} did not finish within deadlineMs (${limitMs})`;
          return failure("DEADLINE_EXCEEDED", message, { cause: wait.lastFailure });
        },
      });
      const wait = new TaskWait(taskId, input, { ...options, scope, onDue: scheduleSoon });
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
    // Of a task that cannot be read the service may list null, in spite of its schema.
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
    // Without data.
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
