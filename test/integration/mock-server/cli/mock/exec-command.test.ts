import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { runExecCommand } from "../../../../../mock-server/cli/mock/exec-command.ts";
import { runCommand, startCommand } from "../../../../support/run-command.ts";
import { withFolder } from "../../../../support/with-folder.ts";

const env = { PATH: process.env["PATH"] };
const node = (script: string, ...args: string[]) => ["--", process.execPath, "-e", script, ...args];

describe("mock exec", () => {
  it.each([0, 3])("mock exec returns the exit code %i of its command", async (code) => {
    const argv = node("process.exit(Number(process.argv[1]))", String(code));
    expect((await runCommand(runExecCommand, argv, { env })).code).toBe(code);
  });

  it("mock exec passes the URLs and keys of the mock to its command, and stops the mock afterwards", () =>
    withFolder(async (folder) => {
      const path = join(folder, "env.json");
      const script = `
        const own = Object.entries(process.env).filter(([name]) => name.startsWith("WORKSPACE_TASKS_"));
        fetch(process.env.WORKSPACE_TASKS_BASE_URL + "/_mock/v1/health").then((health) =>
          require("fs").writeFileSync(${JSON.stringify(path)}, JSON.stringify({ ...Object.fromEntries(own), status: health.status })));`;
      const { code } = await runCommand(runExecCommand, ["--seed", "7", ...node(script)], { env });
      expect(code).toBe(0);
      const passed = JSON.parse(await readFile(path, "utf8"));
      await using twin = await createMockServer({ seed: 7, listen: false });
      expect(passed).toMatchObject({
        status: 200,
        WORKSPACE_TASKS_API_KEY: twin.apiKey,
        WORKSPACE_TASKS_PARTNER_API_KEY: twin.partnerApiKey,
        WORKSPACE_TASKS_GATEWAY_URL: `${passed.WORKSPACE_TASKS_BASE_URL}/gateway`,
      });
      await expect(fetch(passed.WORKSPACE_TASKS_BASE_URL)).rejects.toThrow();
    }));

  it("mock exec returns 127 when the command was not found", async () => {
    const { code, err } = await runCommand(runExecCommand, ["--", "no-such-command-anywhere"], { env });
    expect([code, err]).toEqual([
      127,
      'workspace-tasks mock exec: the command "no-such-command-anywhere" was not found\n',
    ]);
  });

  it("mock exec returns 126 when the command exists but cannot be run", () =>
    withFolder(async (folder) => {
      const file = join(folder, "not-executable");
      await writeFile(file, "");
      const { code, err } = await runCommand(runExecCommand, ["--", file], { env });
      expect([code, err]).toEqual([126, expect.stringContaining(`"${file}" could not be run: spawn`)]);
    }));

  it("mock exec forwards SIGTERM to its command and returns 128 and the signal's number", async () => {
    const command = startCommand(runExecCommand, node("setInterval(() => {}, 1000)"), { env });
    command.stop();
    expect((await command.result()).code).toBe(128 + 15);
  });

  it("mock exec does not forward Ctrl+C at a terminal, which the command receives itself", async () => {
    const script =
      'fetch(process.env.WORKSPACE_TASKS_BASE_URL + "/_mock/v1/health").then(() => process.exit(4))';
    const command = startCommand(runExecCommand, node(script), { env, isTTY: true });
    command.stop("SIGINT");
    expect((await command.result()).code).toBe(4);
  });

  it.each([
    [[], "expected a command after --, such as -- npm test"],
    [["--port", "0"], "expected a command after --, such as -- npm test"],
    [["stop", "--", "true"], 'expected flags, then -- and the command, got "stop"'],
    [["--prot", "0", "--", "true"], "unknown flag --prot; did you mean --port?"],
  ])("mock exec rejects %j", async (argv, sentence) => {
    const result = await runCommand(runExecCommand, argv, { env });
    const err = `workspace-tasks mock exec: ${sentence}\nTry workspace-tasks mock exec --help\n`;
    expect(result).toEqual({ code: 2, out: "", err });
  });
});
