import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { widthOf } from "../../../sdk/kernel/layout.ts";
import { runOnTerminal } from "../../support/debian-programs.ts";
import { listen } from "../../support/listen.ts";
import { packageFlags } from "../../support/package-flags.ts";
import { secret } from "../../support/receivers/audit-fixture.ts";
import { missingProgram } from "../../support/shared-server.ts";

const missing = await missingProgram("pseudoTerminal");
const binOf = (path: string) => [
  ...packageFlags,
  fileURLToPath(new URL(`../../../${path}`, import.meta.url)),
];
const tasks = binOf("mock-server/tools/bin/workspace-tasks.js");
const inbox = binOf("receiver-kit/bin/workspace-tasks-inbox.js");

const tooWide = (text: string, columns: number) =>
  text.split("\n").filter((line) => widthOf(line.replace(/^.*\r/, "")) > columns);

// test/integration/tools/terminal-width.test.ts has every command; here the programs find the width themselves.
describe.skipIf(missing)("the programs on a terminal", () => {
  it.each([60, 200])("workspace-tasks fits %i columns", async (columns) => {
    expect(tooWide(await runOnTerminal([...tasks, "mock", "exec", "--help"], columns), columns)).toEqual([]);
    const list = await runOnTerminal([...tasks, "check-receiver", "--list"], columns);
    expect(tooWide(list, columns)).toEqual([]);
    expect(list.includes("rejects a byte that is not UTF-8 in place of a signed replacement character")).toBe(
      columns === 200,
    );
    expect(tooWide(await runOnTerminal([...inbox, "list", "--help"], columns), columns)).toEqual([]);
  });

  it("check-receiver has colours on a terminal, unless NO_COLOR is set", async () => {
    await using receiver = await listen(createServer((_, response) => void response.end()));
    const args = [...tasks, "check-receiver", `${receiver.origin}/`, "--only", "methods"];
    // Exit code 0: the failed check is a SHOULD.
    const env = { WORKSPACE_TASKS_SIGNING_SECRET: secret };
    expect(await runOnTerminal(args, 80, env)).toContain("\u001b[31mFAIL");
    const plain = await runOnTerminal(args, 80, { ...env, NO_COLOR: "1" });
    expect(plain).toContain("FAIL  methods.other");
    expect(plain).not.toContain("\u001b[31m");
  });
});
