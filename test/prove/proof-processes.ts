import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { ProofTask, ProofTaskResults } from "./prove-process.ts";

/** Processes that run one task each at a time. */
export class ProofProcesses implements Disposable {
  readonly #children: readonly ChildProcess[];

  constructor(count: number) {
    const file = join(import.meta.dirname, "prove-process.ts");
    // A seed creates much that does not outlive it, and runs most of its code a few times.
    const flags = ["--max-semi-space-size=128", "--min-semi-space-size=64", "--always-sparkplug"];
    const execArgv = [...process.execArgv, ...flags];
    this.#children = Array.from({ length: count }, () => fork(file, { execArgv }));
  }

  /** Gives tasks to so many processes until there is none for any of them. */
  async run(next: () => PlannedTask | undefined, count: number): Promise<void> {
    await Promise.all(
      this.#children.slice(0, count).map(async (child) => {
        for (let planned = next(); planned; planned = next()) {
          planned.done(await runTask(child, planned.task));
        }
      }),
    );
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) if (child.connected) child.disconnect();
  }
}

export interface PlannedTask {
  readonly task: ProofTask;
  /** Notes the result. */
  done(result: unknown): void;
}

/** A task whose result has the type of its kind. */
export const plan = <Task extends ProofTask>(
  task: Task,
  done: (result: ProofTaskResults[Task["kind"]]) => void,
): PlannedTask => ({ task, done: done as (result: unknown) => void });

function runTask(child: ChildProcess, task: ProofTask): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null, signal: string | null) =>
      reject(new Error(`a process ended while it ran ${JSON.stringify(task)}: ${signal ?? code}`));
    child.once("exit", onExit);
    child.once("message", (message: { readonly result?: unknown; readonly error?: string }) => {
      child.off("exit", onExit);
      if (message.error === undefined) resolve(message.result);
      else reject(new Error(message.error));
    });
    child.send(task);
  });
}
