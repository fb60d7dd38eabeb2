import { expect, it } from "vitest";
import { runMockCommand } from "../../../../../mock-server/cli/mock/mock-command.ts";
import { runTriggerCommand } from "../../../../../mock-server/cli/running/trigger-command.ts";
import { runCheckReceiverCommand } from "../../../../../mock-server/tools/commands/check-receiver-command.ts";
import { runInboxCommand } from "../../../../../receiver-kit/cli/inbox-command.ts";
import { runCommand } from "../../../../support/run-command.ts";

it.each([
  ["mock", runMockCommand, []],
  ["mock exec", runMockCommand, ["exec"]],
  ["trigger", runTriggerCommand, []],
  ["check-receiver", runCheckReceiverCommand, []],
  ["inbox", runInboxCommand, []],
  ...["list", "show", "replay", "discard", "stats"].map(
    (name) => [`inbox ${name}`, runInboxCommand, [name]] as const,
  ),
] as const)("the help of workspace-tasks %s fits a terminal of 80 by 30", async (command, run, argv) => {
  const { code, out, err } = await runCommand(run, [...argv, "--help"]);
  expect([code, err]).toEqual([0, ""]);
  const lines = out.trimEnd().split("\n");
  expect(lines[0]).toContain(`Usage: workspace-tasks ${command} `);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines.length).toBeLessThanOrEqual(30);
});
