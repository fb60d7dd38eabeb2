import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const inbox = ["list", "show", "replay", "discard", "stats"].map((name) => `inbox ${name}`);
const commands = ["", "mock", "mock exec", "trigger", "check-receiver", "inbox", ...inbox];

async function helpOf(name: string) {
  const args = ["--conditions=workspace-tasks-source", "--import", "tsx", "bin/workspace-tasks.js"];
  return promisify(execFile)(process.execPath, [...args, ...name.split(" ").filter(Boolean), "--help"]);
}

describe.concurrent("--help", () => {
  it.for(commands)("the help of workspace-tasks %s fits a terminal of 80 by 24", async (name, { expect }) => {
    const { stdout, stderr } = await helpOf(name);
    const lines = stdout.trimEnd().split("\n");
    expect(stderr).toBe("");
    expect(lines[0]).toContain(`Usage: workspace-tasks ${name}`.trimEnd());
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(24);
  });

  it.for(["", "inbox"])("the help of workspace-tasks %s lists every subcommand", async (name, { expect }) => {
    const { stdout } = await helpOf(name);
    const listed = [...stdout.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, subcommand]) => subcommand);
    const prefix = name ? `${name} ` : "";
    const known = commands.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
    expect(listed).toEqual(known.filter((each) => each && !each.includes(" ")));
  });
});

it("the help of inbox show has no flags of other subcommands", async () => {
  const { stdout } = await helpOf("inbox show");
  const flags = [...stdout.matchAll(/^ {2}(--[a-z]+)/gm)].map(([, flag]) => flag);
  expect(flags).toEqual(["--store", "--schema", "--json", "--source", "--help"]);
});
