// The commands of the mock server: what each does, and the module that runs it, which only that command loads. Not public:
// the package `workspace-tasks` makes a program of them.

export { version } from "@workspace-tasks/kernel/version.ts";

export const commands = {
  mock: {
    about: "run the whole service in memory; mock exec -- <command>: while a command runs",
    load: async () => (await import("./cli/mock-command.ts")).runMockCommand,
  },
  trigger: {
    about: "make a running mock send an event",
    load: async () => (await import("./cli/trigger-command.ts")).runTriggerCommand,
  },
  logs: {
    about: "follow the requests and deliveries of a running mock",
    load: async () => (await import("./cli/logs-command.ts")).runLogsCommand,
  },
  clock: {
    about: "show or advance the time of a running mock",
    load: async () => (await import("./cli/running-mock.ts")).runClockCommand,
  },
  resend: {
    about: "send deliveries again",
    load: async () => (await import("./cli/running-mock.ts")).runResendCommand,
  },
  reset: {
    about: "return a running mock to its start",
    load: async () => (await import("./cli/running-mock.ts")).runResetCommand,
  },
  snapshot: {
    about: "save or restore the state of a running mock",
    load: async () => (await import("./cli/running-mock.ts")).runSnapshotCommand,
  },
};
