import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { promisify } from "node:util";

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

// Servers and programs that a test process has started end with it, also when SIGKILL ends it and while they are stopped.

/**
 * Reads `+ pid folder` and `- pid`. When its input ends, the process that wrote it has ended: what is left is killed, with its
 * group and its children (stopped ones must continue to notice that their parent has ended), and its folder is deleted.
 */
const script = `
entries=
while read -r sign pid folder; do
  entries=$(printf '%s\\n' "$entries" | while read -r known rest; do
    [ -z "$known" ] || [ "$known" = "$pid" ] || printf '%s %s\\n' "$known" "$rest"
  done)
  [ "$sign" = - ] || entries="$entries
$pid $folder"
done
printf '%s\\n' "$entries" | while read -r pid folder; do
  [ -n "$pid" ] || continue
  children=$(ps -A -o pid= -o ppid= | while read -r child parent; do [ "$parent" != "$pid" ] || echo "$child"; done)
  kill -s KILL -- "-$pid" || kill -s KILL "$pid"
  for child in $children; do kill -s CONT "$child"; done
  [ -z "$folder" ] || rm -rf "$folder"
done 2> /dev/null
`;

let watcher: Writable | undefined;

function startWatcher(): Writable {
  const child = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.unref();
  const input = child.stdin as Writable & { unref(): void };
  input.on("error", () => {});
  input.unref();
  return input;
}

/** @param folder is deleted when this process ends before the child does */
export function endWithThisProcess(child: ChildProcess, folder = ""): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (process.platform === "win32") {
    const end = () => child.kill();
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    return;
  }
  watcher ??= startWatcher();
  watcher.write(`+ ${pid} ${folder}\n`);
  child.once("exit", () => watcher?.write(`- ${pid}\n`));
}

export const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null;

/** Sends a process a signal and resolves when it has ended, which SIGKILL makes sure of after a minute. */
export async function endProcess(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || hasEnded(child)) return;
  const ended = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  child.kill(signal);
  await ended.finally(() => clearTimeout(timer));
}

const sources = ["--conditions=workspace-tasks-source", "--import", "tsx"];

/**
 * URLs of every module that a process loads while it runs `script`, an ES module.
 *
 * @param project a folder with packages; default: the sources of this repository
 */
export async function loadedModules(script: string, project?: string): Promise<readonly string[]> {
  const hooks = `export async function load(url, context, next) {
    process.stdout.write(url + "\\n");
    return next(url, context);
  }`;
  const registered = `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
    ${script}`;
  const args = [...(project ? [] : sources), "--input-type=module", "-e", registered];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: project,
    maxBuffer: 16 * 1_048_576,
  });
  return stdout.split("\n");
}

/** Whether a process runs or is stopped. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
