import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import type { CommandIo } from "../../sdk/kernel/cli/command-line.ts";

type Run = (argv: readonly string[], io: CommandIo) => Promise<number>;

export interface CapturedCommand {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface GivenIo extends Partial<CommandIo> {
  /** Of the terminal that the command writes to. */
  readonly columns?: number | undefined;
}

/** Starts a command in this process and captures what it writes. */
export function startCommand(
  run: Run,
  argv: readonly string[],
  { columns, isTTY = columns !== undefined, ...given }: GivenIo = {},
) {
  const stopper = new AbortController();
  const written = deferred();
  let out = "";
  let err = "";
  const io: CommandIo = {
    program: "workspace-tasks",
    stdout: {
      columns,
      write(text) {
        out += text;
        written.resolve();
      },
    },
    stderr: {
      columns,
      isTTY,
      write(text) {
        err += text;
      },
    },
    env: {},
    stop: stopper.signal,
    isTTY,
    ...given,
  };
  const code = run(argv, io);
  return {
    written: () => out,
    /** Resolves with the first output, or when the command ends without any. */
    firstOutput: () => Promise.race([written.promise, code]).then(() => out),
    stop: (signal = "SIGTERM") => stopper.abort(signal),
    result: async (): Promise<CapturedCommand> => ({ code: await code, out, err }),
  };
}

/** Runs a command in this process to its end. */
export function runCommand(run: Run, argv: readonly string[], io?: GivenIo): Promise<CapturedCommand> {
  return startCommand(run, argv, io).result();
}
