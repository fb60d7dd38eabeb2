// The commands of `npx workspace-tasks`: what each does, its module, and the function of the module that runs it.
export const commands = {
  mock: {
    about: "run the whole service in memory; mock exec -- <command>: while a command runs",
    module: "mock-server/cli/mock/mock-command",
    run: "runMockCommand",
  },
  trigger: {
    about: "make a running mock send an event",
    module: "mock-server/cli/running/trigger-command",
    run: "runTriggerCommand",
  },
  logs: {
    about: "follow the requests and deliveries of a running mock",
    module: "mock-server/cli/running/logs-command",
    run: "runLogsCommand",
  },
  clock: {
    about: "show or advance the time of a running mock",
    module: "mock-server/cli/running/clock-command",
    run: "runClockCommand",
  },
  resend: {
    about: "send deliveries again",
    module: "mock-server/cli/running/resend-command",
    run: "runResendCommand",
  },
  reset: {
    about: "return a running mock to its start",
    module: "mock-server/cli/running/reset-command",
    run: "runResetCommand",
  },
  snapshot: {
    about: "save or restore the state of a running mock",
    module: "mock-server/cli/running/snapshot-command",
    run: "runSnapshotCommand",
  },
  compare: {
    about: "compare the mock with the real service",
    module: "mock-server/tools/commands/compare/compare-command",
    run: "runCompareCommand",
  },
  "check-receiver": {
    about: "attack a webhook receiver in any language, and report",
    module: "receiver-kit/cli/check-receiver-command",
    run: "runCheckReceiverCommand",
  },
  inbox: {
    about: "inspect and repair a receiver's inbox",
    module: "receiver-kit/cli/inbox-command",
    run: "runInboxCommand",
  },
};
