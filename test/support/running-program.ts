import { type ChildProcess, spawn } from "node:child_process";
import { endWithThisProcess } from "./end-with-this-process.ts";

export interface ProgramOptions {
  readonly cwd?: string | undefined;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const ownGroup = process.platform !== "win32";

/** A Node program in a child process, whose output a test can wait for. Disposing kills it and what it started. */
export class RunningProgram implements Disposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<{ readonly code: number | null; readonly output: string }>;
  readonly #listeners = new Set<() => void>();
  #output = "";
  #over = false;

  /** @param args arguments of `node` */
  constructor(args: readonly string[], { cwd, env }: ProgramOptions = {}) {
    this.#child = spawn(process.execPath, args, {
      stdio: "pipe",
      detached: ownGroup,
      env: { ...process.env, ...env },
      cwd,
    });
    endWithThisProcess(this.#child);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#notify();
      });
    }
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        this.#over = true;
        this.#notify();
        resolve({ code, output: this.#output });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when the program has ended, with its exit code and its output. */
  ended(): Promise<{ readonly code: number | null; readonly output: string }> {
    return this.#ended;
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
