import { defineCommand, noArgument, write } from "@workspace-tasks/kernel/cli/command-line.ts";
import { mockUrlFlags, mockUrlOf, withRunningMock } from "./running-mock.ts";

/** Runs `workspace-tasks reset` and returns its exit code. */
export const runResetCommand = defineCommand({
  name: "reset",
  synopsis: "[options]",
  about: `Returns a running mock to its start: state, ids, keys, time, rate limits,
journal, faults, overrides and settings.`,
  flags: mockUrlFlags,
  notes: "Exit code: 0 done, 1 the mock did not respond, 2 wrong arguments.",
  run(args, io) {
    noArgument(args);
    return withRunningMock(args.flags, io, async (control) => {
      await control.reset();
      return write(io, `${mockUrlOf(args.flags, io)} was reset\n`);
    });
  },
});
