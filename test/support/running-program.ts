import { type ChildProcess, spawn } from "node:child_process";
import { endWithThisProcess } from "./end-with-this-process.ts";

export interface ProgramOptions {
  /** Default: this Node. */
  readonly command?: string | undefined;
  readonly cwd?: string | undefined;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A file that its standard output goes to. */
  readonly stdout?: number;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const ownGroup = process.platform !== "win32";

/** A program in a child process, whose output a test can wait for. Disposing kills it and what it started. */
export class RunningProgram implements Disposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;
  readonly #listeners = new Set<() => void>();
  readonly #texts = { stdout: "", stderr: "" };
  #output = "";
  #over = false;

  /** @param args of the command */
  constructor(
    args: readonly string[],
    { command = process.execPath, cwd, env, stdout }: ProgramOptions = {},
  ) {
    this.#child = spawn(command, args, {
      stdio: ["pipe", stdout ?? "pipe", "pipe"],
      detached: ownGroup,
      env: { ...process.env, ...env },
      cwd,
    });
    endWithThisProcess(this.#child);
    for (const name of ["stdout", "stderr"] as const) {
      this.#child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this.#texts[name] += text;
        this.#output += text;
        this.#notify();
      });
    }
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        this.#over = true;
        this.#notify();
        resolve({ code, signal });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when the program has ended, with its exit code and its output. */
  async ended(): Promise<{ readonly code: number | null; readonly output: string }> {
    const { code } = await this.#ended;
    return { code, output: this.#output };
  }

  /** Resolves when the program has ended, with what it wrote to each of its streams. */
  async result(): Promise<Ended & { readonly out: string; readonly err: string }> {
    const { stdout: out, stderr: err } = await this.#ended.then(() => this.#texts);
    return { ...(await this.#ended), out, err };
  }

  /** Nothing reads its output any more. */
  closeOutput(): void {
    this.#child.stdout?.destroy();
  }

  /** Resolves with the first match of `pattern` in the output; rejects when the program ends without one. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = pattern.exec(this.#output);
        if (found) resolve(found);
        else if (this.#over) reject(new Error(`the program ended without ${pattern}:\n${this.#output}`));
        else return;
        this.#listeners.delete(check);
      };
      this.#listeners.add(check);
      check();
    });
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** `SIGSTOP` and `SIGCONT` stop it and let it continue. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  [Symbol.dispose](): void {
    if (!ownGroup || this.#child.pid === undefined) {
      this.#child.kill("SIGKILL");
      return;
    }
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // The group has no process left.
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
