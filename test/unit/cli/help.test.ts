import { describe, expect, it } from "vitest";
import { runMockCommand } from "../../../mock-server/cli/mock-command.ts";
import { runTriggerCommand } from "../../../mock-server/cli/trigger-command.ts";
import { runCheckReceiverCommand } from "../../../receiver-kit/cli/check-receiver-command.ts";
import { runInboxCommand } from "../../../receiver-kit/cli/inbox-command.ts";
import { runCommand } from "../../support/run-command.ts";

const subcommands = ["list", "show", "replay", "discard", "stats", "heads"];
const commands = ["mock", "mock exec", "trigger", "check-receiver", "inbox"].concat(
  subcommands.map((name) => `inbox ${name}`),
);
const runs: Record<string, typeof runMockCommand> = {
  mock: runMockCommand,
  trigger: runTriggerCommand,
  "check-receiver": runCheckReceiverCommand,
  inbox: runInboxCommand,
};

async function helpOf(command: string): Promise<string> {
  const [name = "", ...argv] = command.split(" ");
  const { code, out, err } = await runCommand(runs[name]!, [...argv, "--help"]);
  expect([code, err]).toEqual([0, ""]);
  return out;
}

describe("--help", () => {
  it.each(commands)("the help of workspace-tasks %s fits a terminal of 80 by 30", async (command) => {
    const lines = (await helpOf(command)).trimEnd().split("\n");
    expect(lines[0]).toContain(`Usage: workspace-tasks ${command} `);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(30);
  });

  it("the help of inbox lists every subcommand", async () => {
    const listed = [...(await helpOf("inbox")).matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    expect(listed).toEqual(subcommands);
  });

  it("the help of inbox show has no flags of other subcommands", async () => {
    const flags = [...(await helpOf("inbox show")).matchAll(/^ {2}(--[a-z]+)/gm)].map(([, flag]) => flag);
    expect(flags).toEqual(["--store", "--schema", "--json", "--source", "--help"]);
  });
});
