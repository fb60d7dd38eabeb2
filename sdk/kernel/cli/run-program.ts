import { isatty } from "node:tty";
import { version } from "../version.ts";
import { visible, visibleLines, visibleOutput } from "../visible.ts";
import { ask, type CommandIo, type RunCommand, writeNotice, writeUnexpected } from "./command-line.ts";
import { withoutProxyForThisComputer } from "./proxy-exceptions.ts";

/** What a program does with its arguments. */
export interface Program {
  readonly name: string;
  /** Why no command can run. */
  readonly problem?: string | undefined;
  readonly run: RunCommand;
}

/** Runs the program with the arguments, the streams and the signals of this process, and sets its exit code. */
export async function runProgram(program: Program): Promise<void> {
  const { stdout, stderr, env } = process;
  // The `fetch` of this process reads them at each request, and the commands that it starts have them, too.
  Object.assign(env, withoutProxyForThisComputer(env));
  const stop = new AbortController();
  let killText = () => "";
  onSignals(stop, () => killText());
  watchParent(stop);
  // A reader that closes its end, such as `| head`, ends the output and not the program.
  let outputFailed = false;
  const unread = new AbortController();
  stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") unread.abort();
    if (code === "EPIPE" || outputFailed) return;
    outputFailed = true;
    process.exitCode ||= notRun;
    stderr.write(`${program.name}: cannot write the output: ${visible(message)}\n`);
  });
  stderr.on("error", () => {});
  const exitCode = await main(program, process.argv.slice(2), {
    program: program.name,
    stdout: shown(stdout),
    stderr: shown(stderr),
    env,
    isTTY: stdout.isTTY === true,
    // The question is written to stderr.
    ask:
      isatty(0) && isatty(2)
        ? (question) =>
            ask(visibleLines(question), { input: process.stdin, output: stderr, signal: stop.signal })
        : undefined,
    stop: stop.signal,
    unread: unread.signal,
    onKill: (text) => {
      killText = text;
    },
    endsUnread: (afterMs) => setTimeout(() => process.exit(), afterMs).unref(),
  });
  process.exitCode = outputFailed ? exitCode || notRun : exitCode;
}

/** The stream, to which no text can be written that a terminal obeys, wherever a command has it from. */
const shown = <Stream extends NodeJS.WriteStream>(stream: Stream): Stream =>
  Object.create(stream, { write: { value: (text: string) => stream.write(visibleOutput(text)) } });

/** No command could run, or its output is lost. Another code than those of commands, for some of which 1 is a result. */
const notRun = 70;

async function main(program: Program, argv: readonly string[], io: CommandIo): Promise<number> {
  if (argv[0] === "--version") {
    io.stdout.write(`${version}\n`);
    return 0;
  }
  if (program.problem) {
    writeNotice(io, "", program.problem);
    return notRun;
  }
  try {
    return await program.run(argv, io);
  } catch (error) {
    writeUnexpected(io, "", error);
    return notRun;
  }
}

/** The first signal stops in order; the second one ends the process at once, after this text. */
function onSignals(stop: AbortController, killText: () => string): void {
  let count = 0;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      count += 1;
      if (count === 1) return stop.abort(signal);
      process.removeAllListeners(signal);
      const end = () => process.kill(process.pid, signal);
      const text = killText();
      if (text === "") end();
      else process.stderr.write(visibleLines(text), end);
    });
  }
}

// npx and `npm run` start a program through a shell, and a signal to them ends the shell alone. A changed parent is then
// the only sign. Without npm a parent may end on purpose, as in `workspace-tasks mock &` of a script.
function watchParent(stop: AbortController): void {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop.abort("parent ended");
  }, 250);
  timer.unref();
}
