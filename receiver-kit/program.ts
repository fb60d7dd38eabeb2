// The command `workspace-tasks-inbox`. It is a part of this package because it is needed in production, without the mock.

import { runProgram } from "@workspace-tasks/kernel/cli/run-program.ts";

/** Runs the command that the arguments of this process name. */
export const run = (): Promise<void> =>
  runProgram({
    name: "workspace-tasks-inbox",
    run: async (argv, io) => (await import("./cli/inbox-command.ts")).runInboxCommand(argv, io),
  });
