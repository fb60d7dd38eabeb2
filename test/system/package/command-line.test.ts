import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageFlags } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";

const bin = join(import.meta.dirname, "../../../mock-server/tools/bin/workspace-tasks.js");
const run = (...argv: readonly string[]) => new RunningProgram([...packageFlags, bin, ...argv]);

describe("workspace-tasks", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "a running mock responds, and %s stops it with exit code 0",
    async (signal) => {
      using mock = run("mock", "--port", "0", "--json");
      const [line] = await mock.said(/.+\n/);
      const ready = JSON.parse(line);
      const health = await fetch(`${ready.baseUrl}/_mock/v1/health`);
      expect(health.status).toBe(200);
      // An open event stream must not keep the process alive.
      const stream = await fetch(`${ready.baseUrl}/_mock/v1/stream`);
      mock.signal(signal);
      expect(await mock.result()).toMatchObject({ code: 0, signal: null, err: "" });
      await stream.text().catch(() => "");
    },
  );

  it.each(["v18.20.4", "v20.18.3"])("workspace-tasks says which Node it needs on %s", async (version) => {
    const preload = `data:text/javascript,Object.defineProperty(process, "version", { value: "${version}" })`;
    const { code, err } = await new RunningProgram(["--import", preload, bin, "mock"]).result();
    expect(code).toBe(70);
    expect(err).toBe(`workspace-tasks: expected Node 20.19.0 or newer, got ${version}; update Node\n`);
  });

  it("workspace-tasks --help lists every command", async () => {
    const { code, out, err } = await run("--help").result();
    const listed = [...out.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name);
    expect([code, err]).toEqual([0, ""]);
    expect(listed).toEqual([
      ...["mock", "trigger", "logs", "clock", "resend", "reset", "snapshot"],
      ...["listen", "endpoints", "tasks", "compare", "check-receiver"],
    ]);
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("workspace-tasks --version prints the version", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(await run("--version").result()).toMatchObject({ code: 0, out: `${version}\n`, err: "" });
  });

  it.each([
    [[], "Usage: workspace-tasks <command> [options]"],
    [["triger"], "did you mean trigger?"],
    [["mock", "--colour"], "workspace-tasks mock: unknown flag --colour"],
  ])("workspace-tasks %j exits with 2 and prints %s on stderr", async (argv, message) => {
    const { code, out, err } = await run(...argv).result();
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
    expect(err).not.toMatch(/\n {4}at /);
  });

  it.each([[["--help"]], [["check-receiver", "--list"]]])(
    "workspace-tasks %j ends without an error when its output is not read",
    async (argv) => {
      const command = run(...argv);
      command.closeOutput();
      expect(await command.result()).toMatchObject({ code: 0, signal: null, err: "" });
    },
  );

  it.skipIf(process.platform !== "linux")(
    "workspace-tasks returns 70 and says why when its output cannot be written",
    async () => {
      const full = openSync("/dev/full", "w");
      const command = new RunningProgram([...packageFlags, bin, "check-receiver", "--list"], {
        stdout: full,
      });
      closeSync(full);
      expect(await command.result()).toMatchObject({ code: 70, signal: null });
      expect((await command.result()).err).toMatch(/^workspace-tasks: cannot write the output: ENOSPC.+\n$/);
    },
  );

  it("an unexpected error is printed in one sentence, without a stack trace", async () => {
    // A lookup that fails for a reason without a message of its own.
    const host = ["--host", "a".repeat(300)];
    const plain = await run("mock", "--port", "0", ...host).result();
    expect(plain.code).toBe(1);
    expect(plain.err).toMatch(/^[^\n]+\n$/);
  });
});
