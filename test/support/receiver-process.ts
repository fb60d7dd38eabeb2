import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./receiver-program.ts", import.meta.url));

/** Tables that the program's handlers write to; a test makes them before it starts the program. */
export const programTables = [
  `CREATE TABLE effects
     (webhook_id TEXT, task TEXT, occurred_at TEXT, stale TEXT, process TEXT, began BIGINT, ended BIGINT)`,
  "CREATE TABLE task_states (task TEXT PRIMARY KEY, status TEXT, occurred_at TEXT)",
] as const;

export type ReceiverProgramOptions = {
  /** A SQLite file or a `postgres://` URL. */
  readonly store: string;
  readonly leaseMs?: number;
  readonly concurrency?: number;
  /** How long each handler waits for something outside. */
  readonly handlerMs?: number;
};

/** The receiver program in a process of its own. Its modules are loaded when this resolves; `begin` makes it work. */
export class ReceiverProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<void>;
  #errors = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => child.once("exit", () => resolve()));
    child.stderr?.on("data", (chunk) => {
      this.#errors += String(chunk);
    });
  }

  static async load(options: ReceiverProgramOptions): Promise<ReceiverProcess> {
    const child = spawn(
      process.execPath,
      ["--conditions=workspace-tasks-source", "--import", "tsx", script, JSON.stringify(options)],
      { stdio: ["pipe", "pipe", "pipe"] },
    );
    const started = new ReceiverProcess(child);
    await started.#line("loaded");
    return started;
  }

  /** Opens the inbox, starts handling, and resolves to the port that deliveries go to. */
  async begin(): Promise<number> {
    this.#child.stdin?.write("begin\n");
    return Number(await this.#line("port"));
  }

  async #line(name: string): Promise<string> {
    const { value, done } = await this.#lines.next();
    const [given, rest = ""] = String(value).split(" ");
    if (!done && given === name) return rest;
    throw new Error(`receiver process: expected ${name}, got ${String(value)}\n${this.#errors}`);
  }

  /** Ends the process as a power cut would, as far as it can tell. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Asks it to finish what it handles and to end. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
    if (this.#child.exitCode !== 0) throw new Error(`receiver process ended badly:\n${this.#errors}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
  }
}
