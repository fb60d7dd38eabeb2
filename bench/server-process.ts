import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A server in a process of its own: a file of `bench/`, given arguments, that calls `served`. */
export class ServerProcess implements AsyncDisposable {
  readonly port: number;
  /** A key of the service, where the server is one. */
  readonly apiKey: string | undefined;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number, apiKey: string | undefined) {
    this.#child = child;
    this.port = port;
    this.apiKey = apiKey;
  }

  static async start(file: string, args: readonly string[] = []): Promise<ServerProcess> {
    const child = fork(join(import.meta.dirname, file), [...args], {
      execArgv: file.endsWith(".ts") ? ["--import", "tsx"] : [],
      env: { ...process.env, NODE_ENV: "production" },
    });
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`${file} ${args.join(" ")} ended with ${code} before it listened`);
    });
    const [{ port, apiKey }] = await Promise.race([once(child, "message"), ended]);
    ended.catch(() => {}); // It ends some day, and that is then as it should be.
    return new ServerProcess(child, port, apiKey);
  }

  /** Processor time of the whole process so far, in microseconds. */
  async cpuUs(): Promise<number> {
    return (await this.#ask("cpu")).cpuUs ?? Number.NaN;
  }

  /** How much work is done, as the server counts it. */
  async count(): Promise<number> {
    return (await this.#ask("count")).count ?? Number.NaN;
  }

  async #ask(question: string): Promise<{ cpuUs?: number; count?: number }> {
    const answered = once(this.#child, "message");
    this.#child.send(question);
    const [answer] = await answered;
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}
