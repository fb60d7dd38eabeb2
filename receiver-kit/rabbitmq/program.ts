// The command `workspace-tasks-rabbitmq`.

import { runProgram } from "@workspace-tasks/kernel/cli/run-program.ts";

/** Runs the command that the arguments of this process name. */
export const run = (): Promise<void> =>
  runProgram({
    name: "workspace-tasks-rabbitmq",
    run: async (argv, io) => (await import("./cli/unpark.ts")).runRabbitmqCommand(argv, io),
  });
