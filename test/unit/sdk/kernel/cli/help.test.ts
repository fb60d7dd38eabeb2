import { expect, it } from "vitest";
import { runMockCommand } from "../../../../../mock-server/cli/mock/mock-command.ts";
import { runTriggerCommand } from "../../../../../mock-server/cli/running/trigger-command.ts";
import { runCheckReceiverCommand } from "../../../../../mock-server/tools/commands/check-receiver-command.ts";
import { runInboxCommand } from "../../../../../receiver-kit/cli/inbox-command.ts";
import type { RunCommand } from "../../../../../sdk/kernel/cli/command-line.ts";
import { runCommand } from "../../../../support/run-command.ts";

it.each([
  ["mock", runMockCommand, []],
  ["mock exec", runMockCommand, ["exec"]],
  ["trigger", runTriggerCommand, []],
  ["check-receiver", runCheckReceiverCommand, []],
] as const)("the help of workspace-tasks %s fits a terminal of 80 by 30", async (command, run, argv) => {
  await expectToFit("workspace-tasks", command, run, argv);
});

it.each(["", "list", "show", "replay", "discard", "stats"])(
  "the help of workspace-tasks-inbox %s fits a terminal of 80 by 30",
  (command) => expectToFit("workspace-tasks-inbox", command, runInboxCommand, command ? [command] : []),
);

async function expectToFit(program: string, command: string, run: RunCommand, argv: readonly string[]) {
  const { code, out, err } = await runCommand(run, [...argv, "--help"], { program });
  expect([code, err]).toEqual([0, ""]);
  const lines = out.trimEnd().split("\n");
  expect(lines[0]).toContain(`Usage: ${[program, command].filter(Boolean).join(" ")} `);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines.length).toBeLessThanOrEqual(30);
}
