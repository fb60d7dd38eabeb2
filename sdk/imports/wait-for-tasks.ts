// Finds the tasks of imported works, which name their work in the attribute `workId`, and waits for them. The list is
// read again, with growing pauses, until every work has its task.

import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure, onProgressFailed, toError } from "../call/failure.ts";
import type { Engine } from "../engine/engine.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { Task } from "../operations/task.ts";
import { TaskFailedError } from "../operations/task-wait.ts";
import type { Tasks } from "../operations/tasks.ts";
import { checkInput } from "../validation/check-input.ts";
import { settle } from "./import-calls.ts";
import type { ImportResult } from "./import-result.ts";

/** The task of an imported client, or why there is none that is completed. */
export interface ClientTask {
  readonly externalId: string;
  /** As it was last seen. */
  readonly task: Task | undefined;
  /** `TASK_FAILED`, `DEADLINE_EXCEEDED`, or another error of `tasks.waitFor`. */
  readonly error: WorkspaceTasksError | undefined;
}

export interface WaitForTasksOptions {
  /** Ends the wait, not the tasks. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for all of them. Default: the client's `deadlineMs`, else 3,600,000 ms. */
  readonly deadlineMs?: number | undefined;
  /** Called for each client as soon as its task has ended; a failure ends the wait with `ON_PROGRESS_FAILED`. */
  readonly onTask?: ((task: ClientTask) => unknown) | undefined;
}

export interface TaskFinder {
  readonly engine: Engine;
  readonly tasks: Tasks;
  readonly random: () => number;
  readonly longDeadlineMs: number;
}

const method = "partner.imports.waitForTasks";
const pauseMsMin = 2_000;
const pauseMsMax = 60_000;
const waitsMax = 500;

const waitInput = s.strictOptions<WaitForTasksOptions>()({
  signal: s.optional(s.abortSignal),
  deadlineMs: s.optional(s.durationMs),
  onTask: s.optional(s.functionOf<(task: ClientTask) => unknown>()),
});
const resultArgument = s.objectWith<ImportResult>("the result of an import", "clients");

/** The attribute of a task that names its work, as `ImportedClient.workId` does. */
export const workIdOf = ({ attributes }: Pick<Task, "attributes">): string | undefined =>
  attributes.find(({ name }) => name === "workId")?.value;

export async function waitForTasks(
  result: ImportResult,
  options: WaitForTasksOptions,
  finder: TaskFinder,
): Promise<readonly ClientTask[]> {
  const { signal, deadlineMs = finder.longDeadlineMs, onTask } = checkInput(method, waitInput, options);
  const clients = checkInput(method, resultArgument, result).clients();
  const wanted = new Map<string, string>();
  for (const { status, workId, externalId } of clients)
    if (status === "imported" && workId !== undefined) wanted.set(workId, externalId);
  const scope = finder.engine.openScope({ signal, limitMs: deadlineMs });
  try {
    return await new TasksWait(wanted, scope, onTask, finder).run();
  } catch (error) {
    throw error instanceof FailureError
      ? toError(error.failure, { attempts: 0, operation: { method, name: undefined } })
      : error;
  } finally {
    scope.dispose();
  }
}

class TasksWait {
  /** External ids by work, without those whose task was found. */
  readonly #wanted: Map<string, string>;
  readonly #scope: CallScope;
  readonly #onTask: WaitForTasksOptions["onTask"];
  readonly #finder: TaskFinder;
  readonly #controller = new AbortController();
  readonly #waits = new Set<Promise<void>>();
  readonly #ended: ClientTask[] = [];
  #failure: unknown;

  constructor(
    wanted: Map<string, string>,
    scope: CallScope,
    onTask: WaitForTasksOptions["onTask"],
    finder: TaskFinder,
  ) {
    this.#wanted = wanted;
    this.#scope = scope;
    this.#onTask = onTask;
    this.#finder = finder;
    // At the deadline each wait ends by its own, and is reported.
    scope.onEnd(({ code }) => code !== "DEADLINE_EXCEEDED" && this.#controller.abort());
  }

  async run(): Promise<readonly ClientTask[]> {
    try {
      await this.#findAll();
    } catch (error) {
      // After the deadline the others are reported without a task.
      if (this.#scope.failure?.code !== "DEADLINE_EXCEEDED") this.#fail(error);
    }
    await Promise.all(this.#waits);
    if (this.#failure !== undefined) throw this.#failure;
    for (const [workId, externalId] of this.#wanted) {
      const message = `${method}: no task of work ${workId} was found within the deadline`;
      const error = new WorkspaceTasksError("DEADLINE_EXCEEDED", message, { outcome: "unknown" });
      await this.#end({ externalId, task: undefined, error });
    }
    if (this.#failure !== undefined) throw this.#failure;
    return this.#ended;
  }

  async #findAll(): Promise<void> {
    const { random } = this.#finder;
    for (let pauseMs = pauseMsMin; this.#wanted.size > 0; ) {
      const missing = this.#wanted.size;
      const find = () => this.#scope.race(this.#find());
      const settled = await settle(find, { scope: this.#scope, random, repeatsDoubt: true });
      if (!settled.ok) throw settled.error;
      pauseMs = this.#wanted.size < missing ? pauseMsMin : Math.min(pauseMsMax, pauseMs * 2);
      if (this.#wanted.size > 0) await this.#scope.sleep(pauseMs);
    }
  }

  async #find(): Promise<void> {
    const call = {
      signal: this.#controller.signal,
      priority: "background",
      deadlineMs: this.#remainingMs(),
    } as const;
    for await (const task of this.#finder.tasks.list({ types: ["TAX_PREP"], limit: 100 }, call)) {
      const workId = workIdOf(task) ?? "";
      const externalId = this.#wanted.get(workId);
      if (externalId !== undefined) {
        this.#wanted.delete(workId);
        if (this.#waits.size >= waitsMax) await Promise.race(this.#waits);
        const wait = this.#wait(externalId, task).finally(() => this.#waits.delete(wait));
        this.#waits.add(wait);
      }
      if (this.#wanted.size === 0) return;
    }
  }

  async #wait(externalId: string, listed: Task): Promise<void> {
    try {
      await this.#end({ externalId, task: await this.#completed(listed), error: undefined });
    } catch (error) {
      if (!isWorkspaceTasksError(error) || this.#controller.signal.aborted) this.#fail(error);
      else
        await this.#end({ externalId, task: error instanceof TaskFailedError ? error.task : listed, error });
    }
  }

  async #completed(task: Task): Promise<Task> {
    if (task.status === "COMPLETED") return task;
    if (task.status === "FAILED") throw new TaskFailedError(task, 1);
    const options = { signal: this.#controller.signal, deadlineMs: this.#remainingMs() };
    return this.#finder.tasks.waitFor(task.id, options);
  }

  #remainingMs(): number {
    return Math.max(1, Math.floor(this.#scope.remainingMs()));
  }

  async #end(ended: ClientTask): Promise<void> {
    this.#ended.push(ended);
    try {
      await this.#onTask?.(ended);
    } catch (error) {
      this.#fail(toError(onProgressFailed(error), { attempts: 0, operation: { method, name: undefined } }));
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#scope.end(failure("ABORTED", "the wait has ended"));
  }
}
