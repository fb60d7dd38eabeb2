import { fileURLToPath } from "node:url";
import { bundledProgram } from "./bundled-program.ts";
import { type ProgramOptions, RunningProgram } from "./running-program.ts";

const receiverProgram = fileURLToPath(new URL("./killable-receiver-program.ts", import.meta.url));

/** The tables that its handlers write to; times are those of `machineMicros`. A test creates them before the start. */
export const receiverTables = [
  `CREATE TABLE effects
     (webhook_id TEXT, task TEXT, occurred_at TEXT, stale TEXT, process TEXT, began BIGINT, ended BIGINT)`,
  "CREATE TABLE task_states (task TEXT PRIMARY KEY, status TEXT, occurred_at TEXT)",
] as const;

export interface KillableReceiverOptions {
  /** A SQLite file, or a `postgres://` URL; several, divided by spaces, of which one is the primary. */
  readonly store: string;
  readonly leaseMs?: number;
  /** How long each handler takes. */
  readonly handlerMs?: number;
  /** The pool's `connectionTimeoutMillis`. Default 2,000. */
  readonly connectionTimeoutMs?: number;
  /** How many of its handlers' attempts throw, before or after they write. */
  readonly failingShare?: number;
  /** Of the choice which ones throw. */
  readonly seed?: number;
  /** Its handler is one of batches of up to 10 events. */
  readonly batches?: boolean | undefined;
  /** True when it acknowledges deliveries before they are stored. */
  readonly losesDeliveries?: boolean | undefined;
}

/** A receiver in a child process, for tests that kill it. `load` resolves when its modules are loaded; `begin` starts it. */
export class KillableReceiver implements AsyncDisposable {
  readonly #program: RunningProgram;

  private constructor(program: RunningProgram) {
    this.#program = program;
  }

  /**
   * @param entry another program with the same protocol
   * @param project a folder with the release that it uses
   */
  static async load(
    options: KillableReceiverOptions,
    programOptions: ProgramOptions = {},
    entry = receiverProgram,
    project?: string,
  ): Promise<KillableReceiver> {
    const args = await bundledProgram(entry, project);
    const program = new RunningProgram([...args, JSON.stringify(options)], programOptions);
    await program.said(/^loaded$/m);
    return new KillableReceiver(program);
  }

  /** Opens the inbox, starts the receiver and resolves to its port. */
  async begin(): Promise<number> {
    this.#program.write("begin\n");
    const [, port] = await this.#program.said(/^port (\d+)$/m);
    return Number(port);
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Resolves when it has logged what matches. */
  async logged(pattern: RegExp): Promise<void> {
    await this.#program.said(pattern);
  }

  /** Stops the process and lets it continue, as the host of an overloaded virtual machine does. */
  freeze(): () => void {
    this.#program.signal("SIGSTOP");
    return () => this.#program.signal("SIGCONT");
  }

  /** Ends the process without warning. */
  async kill(): Promise<void> {
    this.#program.signal("SIGKILL");
    await this.#program.ended();
  }

  /** Lets it finish the running handlers and exit. */
  async stop(): Promise<void> {
    this.#program.signal("SIGTERM");
    const { code, output } = await this.#program.ended();
    if (code !== 0) throw new Error(`receiver process failed:\n${output}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
