import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { runExecCommand } from "../../../../mock-server/cli/mock-command.ts";
import { runCommand, startCommand } from "../../../support/run-command.ts";
import { withFolder } from "../../../support/with-folder.ts";

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

  it("mock exec names the state file that it cannot write at the end", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      const argv = ["--state", path, ...node(`require("fs").chmodSync(${JSON.stringify(path)}, 0o444)`)];
      const { code, err } = await runCommand(runExecCommand, argv, { env });
      expect(code).toBe(1);
      expect(err).toMatch(
        `workspace-tasks mock exec: --state: cannot write ${path}: the file is read-only\n`,
      );
    }));

  it("mock exec passes no other variable of its family, and names those that it removes", () =>
    withFolder(async (folder) => {
      const path = join(folder, "env.json");
      const script = `require("fs").writeFileSync(${JSON.stringify(path)}, JSON.stringify(process.env))`;
      const production = {
        WORKSPACE_TASKS_API_KEY: "wtk_production",
        WORKSPACE_TASKS_READ_ONLY_API_KEY: "wtk_production",
        WORKSPACE_TASKS_SIGNING_SECRET: "whsec_production",
        WORKSPACE_TASKS_INBOX: "postgres://production",
      };
      const run = (...argv: string[]) =>
        runCommand(runExecCommand, [...argv, ...node(script)], {
          env: { ...env, OTHER: "1", ...production },
        });
      const { code, err } = await run();
      expect([code, err]).toEqual([
        0,
        expect.stringMatching(
          /^workspace-tasks mock exec: not passed to the command: WORKSPACE_TASKS_READ_ONLY_API_KEY, WORKSPACE_TASKS_SIGNING_SECRET, WORKSPACE_TASKS_INBOX; see mock exec --help$/m,
        ),
      ]);
      const passed = await readFile(path, "utf8");
      expect(passed).not.toContain("production");
      expect(JSON.parse(passed)).toMatchObject({ OTHER: "1" });
      await run("--deliver-to", "http://127.0.0.1:1/webhooks");
      const { WORKSPACE_TASKS_SIGNING_SECRET: secret } = JSON.parse(await readFile(path, "utf8"));
      expect(secret).toMatch(/^whsec_/);
      expect(secret).not.toBe(production.WORKSPACE_TASKS_SIGNING_SECRET);
    }));

  it("mock exec prints the addresses of the mock on stderr, and with --verbose the log", async () => {
    const script = 'fetch(process.env.WORKSPACE_TASKS_BASE_URL + "/graphql", { method: "POST" })';
    const quiet = await runCommand(runExecCommand, node(script), { env });
    expect(quiet.err).toMatch(
      /^workspace-tasks mock exec: mock at http:\/\/127\.0\.0\.1:\d+\nworkspace-tasks mock exec: inspector http:\/\/127\.0\.0\.1:\d+\/_mock\/\n$/,
    );
    const verbose = await runCommand(runExecCommand, ["--verbose", ...node(script)], { env });
    expect(verbose.err).toMatch(/^[\d:.]+Z request {2}4\d\d no operation in \d+ ms/m);
    expect(verbose.out).toBe("");
  });

  it("mock exec returns 127 when the command was not found", async () => {
    const { code, err } = await runCommand(runExecCommand, ["--", "no-such-command-anywhere"], { env });
    expect(code).toBe(127);
    expect(err).toContain(
      'workspace-tasks mock exec: the command "no-such-command-anywhere" was not found\n',
    );
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

  it.each([
    ["a terminal", { isTTY: true }],
    ["a terminal behind | tee", { isTTY: false, stderr: { isTTY: true, write: () => {} } }],
  ])("mock exec does not forward Ctrl+C at %s, which the command receives itself", async (_, terminal) => {
    const script =
      'fetch(process.env.WORKSPACE_TASKS_BASE_URL + "/_mock/v1/health").then(() => process.exit(4))';
    const command = startCommand(runExecCommand, node(script), { env, ...terminal });
    command.stop("SIGINT");
    expect((await command.result()).code).toBe(4);
  });

  it.each([
    [[], "expected a command after --, such as -- npm test"],
    [["stop", "--", "true"], 'expected flags, then -- and the command, got "stop"'],
    [["--prot", "0", "--", "true"], "unknown flag --prot; did you mean --port?"],
  ])("mock exec rejects %j", async (argv, sentence) => {
    const result = await runCommand(runExecCommand, argv, { env });
    const err = `workspace-tasks mock exec: ${sentence}\nTry workspace-tasks mock exec --help\n`;
    expect(result).toEqual({ code: 2, out: "", err });
  });
});
