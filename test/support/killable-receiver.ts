import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./killable-receiver-program.ts", import.meta.url));

/** The tables that its handlers write to. A test creates them before the start. */
export const receiverTables = [
  `CREATE TABLE effects
     (webhook_id TEXT, task TEXT, occurred_at TEXT, stale TEXT, process TEXT, began BIGINT, ended BIGINT)`,
  "CREATE TABLE task_states (task TEXT PRIMARY KEY, status TEXT, occurred_at TEXT)",
] as const;

export type KillableReceiverOptions = {
  /** A SQLite file or a `postgres://` URL. */
  readonly store: string;
  readonly leaseMs?: number;
  readonly concurrency?: number;
  /** How long each handler takes. */
  readonly handlerMs?: number;
};

/** A receiver in a child process, for tests that kill it. `load` resolves when its modules are loaded; `begin` starts it. */
export class KillableReceiver implements AsyncDisposable {
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

  static async load(options: KillableReceiverOptions): Promise<KillableReceiver> {
    const child = spawn(
      process.execPath,
      ["--conditions=workspace-tasks-source", "--import", "tsx", script, JSON.stringify(options)],
      { stdio: ["pipe", "pipe", "pipe"] },
    );
    const started = new KillableReceiver(child);
    await started.#line("loaded");
    return started;
  }

  /** Opens the inbox, starts the receiver and resolves to its port. */
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

  /** Ends the process without warning. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Lets it finish the running handlers and exit. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
    if (this.#child.exitCode !== 0) throw new Error(`receiver process failed:\n${this.#errors}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
  }
}
