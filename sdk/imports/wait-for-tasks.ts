// The tasks of imported works name their work in the attribute `workId`. The list of tasks is read again, with
// pauses, until every work has a task that has ended: one request has 100 tasks, as one of `tasks.waitFor` would.

import * as s from "@workspace-tasks/kernel/schema.ts";
import { FailureError, toError } from "../call/failure.ts";
import { WorkspaceTasksError } from "../errors.ts";
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
}

const method = "partner.imports.waitForTasks";
const context = { attempts: 0, operation: { method, name: undefined } };
const pauseMsMin = 10_000;
// Reading takes a quarter of the time, and so at most a quarter of the rate limit.
const pausePerReading = 3;

const waitedFor: ReadonlySet<string> = new Set(["imported", "unchanged", "changed"]);

const waitInput = s.strictOptions<WaitForTasksOptions>()({
  signal: s.optional(s.abortSignal),
  deadlineMs: s.optional(s.durationMs),
});
const resultArgument = s.objectWith<ImportResult>("the result of an import", "clients");

export async function waitForTasks(
  result: ImportResult,
  options: WaitForTasksOptions,
  { engine, tasks, clock, random, longDeadlineMs }: ImportParts,
): Promise<readonly ClientTask[]> {
  const { signal, deadlineMs = longDeadlineMs } = checkInput(method, waitInput, options);
  const message = `${method}: the task has not ended within the deadline`;
  const error = new WorkspaceTasksError("DEADLINE_EXCEEDED", message, { outcome: "unknown" });
  /** By id of the work. */
  const found = new Map<string, ClientTask>();
  const waiting = new Set<string>();
  for (const { status, workId, externalId } of checkInput(method, resultArgument, result).clients()) {
    if (!waitedFor.has(status) || workId === undefined) continue;
    found.set(workId, { externalId, task: undefined, error });
    waiting.add(workId);
  }
  const scope = engine.openScope({ signal, limitMs: deadlineMs });
  const controller = new AbortController();
  scope.onEnd(() => controller.abort());

  async function read(): Promise<void> {
    const call = { priority: "background", deadlineMs: backgroundDeadlineMs } as const;
    const all = tasks.list({ types: ["TAX_PREP"], limit: 100 }, { ...call, signal: controller.signal });
    for await (const task of all) {
      const workId = workIdOf(task) ?? "";
      const client = waiting.has(workId) && found.get(workId);
      if (!client) continue;
      const { externalId } = client;
      const failed = task.status === "FAILED" ? new TaskFailedError(task, 1) : undefined;
      const hasEnded = failed || task.status === "COMPLETED";
      found.set(workId, { externalId, task, error: hasEnded ? failed : error });
      if (hasEnded) waiting.delete(workId);
    }
  }

  try {
    while (waiting.size > 0) {
      const startedMs = clock.monotonic();
      const settled = await settle(() => scope.race(read()), { scope, random, repeatsDoubt: true });
      if (!settled.ok) throw settled.error;
      if (waiting.size > 0)
        await scope.sleep(Math.max(pauseMsMin, pausePerReading * (clock.monotonic() - startedMs)));
    }
  } catch (error) {
    if (scope.failure?.code !== "DEADLINE_EXCEEDED")
      throw error instanceof FailureError ? toError(error.failure, context) : error;
  } finally {
    scope.dispose();
  }
  return [...found.values()];
}
