#!/usr/bin/env node
// Finds the command and loads nothing but its module. With node --conditions=workspace-tasks-source and a
// TypeScript loader it runs the sources instead of the build.
import { readFileSync } from "node:fs";

const fromSources = process.execArgv.includes("--conditions=workspace-tasks-source");
const load = (module) => import(fromSources ? `../${module}.ts` : `../dist/${module}.js`);

const commands = {
  mock: {
    about: "run the whole service in memory (mock exec: beside a command)",
    run: async () => (await load("mock-server/cli/mock-command")).runMockCommand,
  },
  trigger: {
    about: "make a running mock send an event",
    run: async () => (await load("mock-server/cli/trigger-command")).runTriggerCommand,
  },
  "check-receiver": {
    about: "attack a webhook receiver in any language, and report",
    run: async () => (await load("receiver-kit/cli/check-receiver-command")).runCheckReceiverCommand,
  },
  inbox: {
    about: "look into a receiver's inbox: quarantine, replay, what waits",
    run: async () => (await load("receiver-kit/cli/inbox-command")).runInboxCommand,
  },
};

const usage = `Usage: workspace-tasks <command> [options]

${Object.entries(commands)
  .map(([name, { about }]) => `  ${name.padEnd(16)}${about}`)
  .join("\n")}

  --version       print the version
  --help          this text; every command has its own
`;

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) {
  // Asked once it ends in order, asked again it ends at once.
  process.once(signal, () => stop.abort(signal));
}

const [name, ...argv] = process.argv.slice(2);
process.exitCode = await main();

async function main() {
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    (name === undefined ? process.stderr : process.stdout).write(usage);
    return name === undefined ? 2 : 0;
  }
  if (name === "--version") {
    const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    process.stdout.write(`${manifest.version}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    process.stderr.write(
      `workspace-tasks: there is no command ${JSON.stringify(name)}; try ${Object.keys(commands).join(", ")}\n`,
    );
    return 2;
  }
  const run = await command.run();
  const { stdout, stderr, env } = process;
  try {
    return await run(argv, { stdout, stderr, env, isTTY: stdout.isTTY === true, stop: stop.signal });
  } catch (error) {
    // What no command foresaw. The stack is for whoever reports it, not for everyone.
    stderr.write(`workspace-tasks ${name}: ${env.WORKSPACE_TASKS_DEBUG ? error.stack : error.message}\n`);
    return 1;
  }
}
