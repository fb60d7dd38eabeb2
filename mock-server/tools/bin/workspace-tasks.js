#!/usr/bin/env node
// Loads the module of one command only. With node --conditions=workspace-tasks-source and a TypeScript loader it
// runs the sources instead of the build.
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { commands } from "./commands.js";

const fromSources = process.execArgv.includes("--conditions=workspace-tasks-source");
const load = (module) => import(fromSources ? `../${module}.ts` : `../dist/${module}.js`);

const program = {
  name: "",
  subcommands: Object.fromEntries(
    Object.entries(commands).map(([name, { about, module, run }]) => [
      name,
      { about, run: async (argv, io) => (await load(module))[run](argv, io) },
    ]),
  ),
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
  const { ask } = await load("sdk/kernel/cli/ask");
  return ask(question, { input: process.stdin, output: process.stderr, signal: stop.signal });
}

async function main(argv) {
  const { stdout, stderr, env } = process;
  const { version, engines } = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  );
  if (argv[0] === "--version") {
    stdout.write(`${version}\n`);
    return 0;
  }
  const oldest = engines.node.replace(">=", "");
  if (isOlder(process.version.slice(1), oldest)) {
    stderr.write(`workspace-tasks: expected Node ${oldest} or newer, got ${process.version}; update Node\n`);
    return 1;
  }
  const { runCommandGroup } = await load("sdk/kernel/cli/command-line");
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
