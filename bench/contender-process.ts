import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Sample } from "./samples.ts";

/** One contender in a process of its own. */
export class ContenderProcess implements AsyncDisposable {
  readonly name: string;
  readonly #child: ChildProcess;

  private constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
  }

  static async start(file: string, argument: string, name: string): Promise<ContenderProcess> {
    const child = fork(join(import.meta.dirname, "run-contender.ts"), [file, argument, name], {
      execArgv: ["--import", "tsx"],
    });
    await answerOf(child);
    return new ContenderProcess(name, child);
  }

  async run(count: number): Promise<Sample> {
    this.#child.send({ count });
    return (await answerOf(this.#child)) as Sample;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

function answerOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      child.off("exit", onExit);
      resolve(message);
    };
    const onExit = () => {
      child.off("message", onMessage);
      reject(new Error(`${child.spawnargs.slice(-3).join(" ")} ended`));
    };
    child.once("message", onMessage).once("exit", onExit);
  });
}
