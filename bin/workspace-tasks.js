#!/usr/bin/env node
// Loads the module of one command only. With node --conditions=workspace-tasks-source and a TypeScript loader it
// runs the sources instead of the build.
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";

const fromSources = process.execArgv.includes("--conditions=workspace-tasks-source");
const load = (module) => import(fromSources ? `../${module}.ts` : `../dist/${module}.js`);

const command = (about, module, name) => ({
  about,
  run: async (argv, io) => (await load(module))[name](argv, io),
});

const program = {
  name: "",
  subcommands: {
    mock: command(
      "run the whole service in memory; mock exec -- <command>: while a command runs",
      "mock-server/cli/mock-command",
      "runMockCommand",
    ),
    trigger: command(
      "make a running mock send an event",
      "mock-server/cli/trigger-command",
      "runTriggerCommand",
    ),
    logs: command(
      "follow the requests and deliveries of a running mock",
      "mock-server/cli/logs-command",
      "runLogsCommand",
    ),
    clock: command(
      "show or advance the time of a running mock",
      "mock-server/cli/clock-command",
      "runClockCommand",
    ),
    resend: command("send deliveries again", "mock-server/cli/resend-command", "runResendCommand"),
    reset: command("return a running mock to its start", "mock-server/cli/reset-command", "runResetCommand"),
    snapshot: command(
      "save or restore the state of a running mock",
      "mock-server/cli/snapshot-command",
      "runSnapshotCommand",
    ),
    worlds: command(
      "list, create and drop worlds of a running mock",
      "mock-server/cli/worlds-command",
      "runWorldsCommand",
    ),
    compare: command(
      "compare the mock with the real service",
      "mock-server/cli/compare-command",
      "runCompareCommand",
    ),
    "check-receiver": command(
      "attack a webhook receiver in any language, and report",
      "receiver-kit/cli/check-receiver-command",
      "runCheckReceiverCommand",
    ),
    inbox: command(
      "inspect and repair a receiver's inbox",
      "receiver-kit/cli/inbox-command",
      "runInboxCommand",
    ),
  },
  flags: [["--version", "print the version"]],
};

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) {
  // The first signal stops in order; the second one ends the process at once.
  process.once(signal, () => stop.abort(signal));
}

watchParent();
// A reader that closes its end, such as `| head`, ends the output and not the program.
let outputFailed = false;
process.stdout.on("error", ({ code, message }) => {
  if (code === "EPIPE" || outputFailed) return;
  outputFailed = true;
  process.exitCode ||= 1;
  process.stderr.write(`workspace-tasks: cannot write the output: ${message}\n`);
});
process.stderr.on("error", () => {});

const exitCode = await main(process.argv.slice(2));
process.exitCode = outputFailed ? exitCode || 1 : exitCode;

// npx and `npm run` start this program through a shell, and a signal to them ends the shell alone. A changed parent is
// then the only sign. Without npm a parent may end on purpose, as in `workspace-tasks mock &` of a script.
function watchParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop.abort("parent ended");
  }, 250);
  timer.unref();
}

// An older Node would fail with the name of a function that it does not have.
function isOlder(version, oldest) {
  const [own, needed] = [version, oldest].map((text) =>
    text.split(".").map((part) => Number.parseInt(part, 10)),
  );
  const index = needed.findIndex((part, at) => part !== own[at]);
  return index !== -1 && own[index] < needed[index];
}

async function askUser(question) {
  const { ask } = await load("cli/ask");
  return ask(question, { input: process.stdin, output: process.stderr, signal: stop.signal });
}

async function main(argv) {
  const { stdout, stderr, env } = process;
  const { version, engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  if (argv[0] === "--version") {
    stdout.write(`${version}\n`);
    return 0;
  }
  const oldest = engines.node.replace(">=", "");
  if (isOlder(process.version.slice(1), oldest)) {
    stderr.write(`workspace-tasks: expected Node ${oldest} or newer, got ${process.version}; update Node\n`);
    return 1;
  }
  const { runCommandGroup } = await load("cli/command-line");
  try {
    return await runCommandGroup(program, argv, {
      stdout,
      stderr,
      env,
      isTTY: stdout.isTTY === true,
      // The question is written to stderr.
      ask: isatty(0) && isatty(2) ? askUser : undefined,
      stop: stop.signal,
      endsUnread: (afterMs) => setTimeout(() => process.exit(), afterMs).unref(),
    });
  } catch (error) {
    // An unexpected error: one sentence, the stack only on request.
    stderr.write(`workspace-tasks ${argv[0]}: ${env.WORKSPACE_TASKS_DEBUG ? error.stack : error.message}\n`);
    return 1;
  }
}
