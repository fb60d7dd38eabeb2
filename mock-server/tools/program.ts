// The command `workspace-tasks`: what each of its commands does, and the module that runs it, which only that command loads.

import { type RunCommand, runCommandGroup } from "@workspace-tasks/kernel/cli/command-line.ts";
import { runProgram } from "@workspace-tasks/kernel/cli/run-program.ts";
import { versionMismatch } from "@workspace-tasks/kernel/version.ts";
import {
  commands as mockCommands,
  version as mockServerVersion,
} from "@workspace-tasks/mock-server/commands";

interface LazyCommand {
  readonly about: string;
  load(): Promise<RunCommand>;
}

export const commands: Readonly<Record<string, LazyCommand>> = {
  ...mockCommands,
  listen: {
    about: "receive webhooks of the real service on this machine",
    load: async () => (await import("./commands/service/listen-command.ts")).runListenCommand,
  },
  endpoints: {
    about: "list, ensure, rotate, disable or delete webhook endpoints of the real service",
    load: async () => (await import("./commands/service/endpoints-command.ts")).runEndpointsCommand,
  },
  tasks: {
    about: "list or show tasks of the real service",
    load: async () => (await import("./commands/service/tasks-command.ts")).runTasksCommand,
  },
  compare: {
    about: "compare the mock with the real service",
    load: async () => (await import("./commands/compare/compare-command.ts")).runCompareCommand,
  },
  "check-receiver": {
    about: "attack a webhook receiver in any language, and report",
    load: async () => (await import("./commands/check-receiver-command.ts")).runCheckReceiverCommand,
  },
};

const flags = [["--version", "print the version"]] as const;

const subcommands = Object.fromEntries(
  Object.entries(commands).map(([name, { about, load }]) => {
    const run: RunCommand = async (argv, io) => (await load())(argv, io);
    return [name, { about, run }];
  }),
);

/** Runs the command that the arguments of this process name. */
export const run = (): Promise<void> =>
  runProgram({
    name: "workspace-tasks",
    run: (argv, io) => runCommandGroup({ name: "", subcommands, flags }, argv, io),
    problem: versionMismatch("workspace-tasks", "@workspace-tasks/mock-server", mockServerVersion),
  });
