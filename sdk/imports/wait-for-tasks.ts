// The tasks of imported works name their work in the attribute `workId`. The list of tasks is read again, with
// pauses, until every work has a task that has ended: one request has 100 tasks, as one of `tasks.waitFor` would.

import * as s from "@workspace-tasks/kernel/schema.ts";
import { FailureError, onProgressFailed, toError } from "../call/failure.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import { type Task, TaskFailedError, workIdOf } from "../operations/tasks.ts";
import { backgroundDeadlineMs } from "../options.ts";
import { checkInput } from "../validation.ts";
import type { ImportParts } from "./import-input.ts";
import type { ImportResult } from "./import-result.ts";
import { settle } from "./settle.ts";

/** The task of an imported client, or why there is none that is completed. */
export interface ClientTask {
  readonly externalId: string;
  /** As it was last seen. */
  readonly task: Task | undefined;
  /** `TASK_FAILED`, or `DEADLINE_EXCEEDED` for a task that has not ended or was not found. */
  readonly error: WorkspaceTasksError | undefined;
}

export interface WaitForTasksOptions {
  /** Ends the wait, not the tasks. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for all of them. Default: the client's `deadlineMs`, else 3,600,000 ms. */
  readonly deadlineMs?: number | undefined;
  /**
   * Called for each client as soon as its task has ended, and not after the deadline. A promise that it returns is awaited,
   * until the deadline; a failure ends the wait with `ON_PROGRESS_FAILED`.
   */
  readonly onTask?: ((task: ClientTask) => unknown) | undefined;
}

const method = "partner.imports.waitForTasks";
const context = { attempts: 0, operation: { method, name: undefined } };
const pauseMsMin = 2_000;
const pauseMsMax = 60_000;
// Reading takes a quarter of the time, and so at most a quarter of the rate limit.
const pausePerReading = 3;

const waitedFor: ReadonlySet<string> = new Set(["imported", "unchanged", "changed"]);

const waitInput = s.strictOptions<WaitForTasksOptions>()({
  signal: s.optional(s.abortSignal),
  deadlineMs: s.optional(s.durationMs),
  onTask: s.optional(s.functionOf<(task: ClientTask) => unknown>()),
});
const resultArgument = s.objectWith<ImportResult>("the result of an import", "clients");

export async function waitForTasks(
  result: ImportResult,
  options: WaitForTasksOptions,
  { engine, tasks, clock, random, longDeadlineMs }: ImportParts,
): Promise<readonly ClientTask[]> {
  const { signal, deadlineMs = longDeadlineMs, onTask } = checkInput(method, waitInput, options);
  const waiting = new Map<string, ClientTask>();
  const message = `${method}: the task has not ended within the deadline`;
  const error = new WorkspaceTasksError("DEADLINE_EXCEEDED", message, { outcome: "unknown" });
  for (const { status, workId, externalId } of checkInput(method, resultArgument, result).clients())
    if (waitedFor.has(status) && workId !== undefined)
      waiting.set(workId, { externalId, task: undefined, error });
  const ended: ClientTask[] = [];
  const scope = engine.openScope({ signal, limitMs: deadlineMs });
  const controller = new AbortController();
  scope.onEnd(() => controller.abort());

  async function end(client: ClientTask): Promise<void> {
    ended.push(client);
    try {
      await onTask?.(client);
    } catch (error) {
      throw toError(onProgressFailed(error), context);
    }
  }

  async function read(): Promise<void> {
    const call = { priority: "background", deadlineMs: backgroundDeadlineMs } as const;
    const all = tasks.list({ types: ["TAX_PREP"], limit: 100 }, { ...call, signal: controller.signal });
    for await (const task of all) {
      // The wait is over: `onTask` took longer.
      if (scope.failure) return;
      const workId = workIdOf(task) ?? "";
      const client = waiting.get(workId);
      if (!client) continue;
      waiting.set(workId, { ...client, task });
      if (task.status !== "COMPLETED" && task.status !== "FAILED") continue;
      waiting.delete(workId);
      const error = task.status === "FAILED" ? new TaskFailedError(task, 1) : undefined;
      await end({ ...client, task, error });
    }
  }

  async function readAll(): Promise<void> {
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(pauseMsMax, pauseMs * 2)) {
      const [startedMs, before] = [clock.monotonic(), waiting.size];
      const settled = await settle(() => scope.race(read()), { scope, random, repeatsDoubt: true });
      if (!settled.ok) throw settled.error;
      if (waiting.size === 0) return;
      if (waiting.size < before) pauseMs = pauseMsMin;
      await scope.sleep(Math.max(pauseMs, pausePerReading * (clock.monotonic() - startedMs)));
    }
  }

  try {
    if (waiting.size > 0) await readAll();
  } catch (error) {
    const isOwn = isWorkspaceTasksError(error, "ON_PROGRESS_FAILED");
    if (isOwn || scope.failure?.code !== "DEADLINE_EXCEEDED")
      throw error instanceof FailureError ? toError(error.failure, context) : error;
  } finally {
    scope.dispose();
  }
  return [...ended, ...waiting.values()];
}
