import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const commands = ["", "mock", "mock exec", "trigger", "check-receiver", "inbox"];

test.concurrent.for(commands)(
  "the help of workspace-tasks %s fits a terminal of 80 by 24",
  async (name, { expect }) => {
    const args = ["--conditions=workspace-tasks-source", "--import", "tsx", "bin/workspace-tasks.js"];
    const words = name.split(" ").filter(Boolean);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args, ...words, "--help"]);
    const lines = stdout.trimEnd().split("\n");
    expect(stderr).toBe("");
    expect(lines[0]).toContain(`Usage: workspace-tasks ${name}`.trimEnd());
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(24);
  },
);

test("there is no other command", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["bin/workspace-tasks.js", "--help"]);
  const listed = [...stdout.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name);
  expect(listed).toEqual(commands.filter((name) => name && !name.includes(" ")));
});
