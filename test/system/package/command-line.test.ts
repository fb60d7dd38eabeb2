import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { packageFlags } from "../../support/package-flags.ts";

const bin = join(import.meta.dirname, "../../../mock-server/tools/bin/workspace-tasks.js");
const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** Starts node with these arguments. */
function start(args: readonly string[], stdout: "pipe" | number = "pipe") {
  const child = spawn(process.execPath, args, { stdio: ["ignore", stdout, "pipe"] });
  started.push(child);
  let out = "";
  let err = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  const closed = once(child, "close");
  return {
    child,
    firstLine: async () => {
      while (child.stdout && !out.includes("\n")) await once(child.stdout, "data");
      return out.slice(0, out.indexOf("\n"));
    },
    ended: async () => {
      const [code, signal] = await closed;
      return { code, signal, out, err };
    },
  };
}

/** Runs the command in its own process. */
const run = (...argv: readonly string[]) => start([...packageFlags, bin, ...argv]);

describe("workspace-tasks", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "a running mock responds, and %s stops it with exit code 0",
    async (signal) => {
      const mock = run("mock", "--port", "0", "--json");
      const ready = JSON.parse(await mock.firstLine());
      const health = await fetch(`${ready.baseUrl}/_mock/v1/health`);
      expect(health.status).toBe(200);
      // An open event stream must not keep the process alive.
      const stream = await fetch(`${ready.baseUrl}/_mock/v1/stream`);
      const ended = mock.ended();
      mock.child.kill(signal);
      expect(await ended).toMatchObject({ code: 0, signal: null, err: "" });
      await stream.text().catch(() => "");
    },
  );

  it.each(["v18.20.4", "v20.18.3"])("workspace-tasks says which Node it needs on %s", async (version) => {
    const preload = `data:text/javascript,Object.defineProperty(process, "version", { value: "${version}" })`;
    const { code, err } = await start(["--import", preload, bin, "mock"]).ended();
    expect(code).toBe(70);
    expect(err).toBe(`workspace-tasks: expected Node 20.19.0 or newer, got ${version}; update Node\n`);
  });

  it("workspace-tasks --help lists every command", async () => {
    const { code, out, err } = await run("--help").ended();
    const listed = [...out.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name);
    expect([code, err]).toEqual([0, ""]);
    expect(listed).toEqual([
      ...["mock", "trigger", "logs", "clock", "resend", "reset", "snapshot"],
      ...["compare", "check-receiver"],
    ]);
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("workspace-tasks --version prints the version", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(await run("--version").ended()).toMatchObject({ code: 0, out: `${version}\n`, err: "" });
  });

  it.each([
    [[], "Usage: workspace-tasks <command> [options]"],
    [["triger"], "did you mean trigger?"],
    [["mock", "--colour"], "workspace-tasks mock: unknown flag --colour"],
  ])("workspace-tasks %j exits with 2 and prints %s on stderr", async (argv, message) => {
    const { code, out, err } = await run(...argv).ended();
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
    expect(err).not.toMatch(/\n {4}at /);
  });

  it.each([[["--help"]], [["check-receiver", "--list"]]])(
    "workspace-tasks %j ends without an error when its output is not read",
    async (argv) => {
      const command = run(...argv);
      command.child.stdout?.destroy();
      expect(await command.ended()).toMatchObject({ code: 0, signal: null, err: "" });
    },
  );

  it.skipIf(process.platform !== "linux")(
    "workspace-tasks returns 70 and says why when its output cannot be written",
    async () => {
      const full = openSync("/dev/full", "w");
      const command = start([...packageFlags, bin, "check-receiver", "--list"], full);
      closeSync(full);
      expect(await command.ended()).toMatchObject({ code: 70, signal: null });
      expect((await command.ended()).err).toMatch(/^workspace-tasks: cannot write the output: ENOSPC.+\n$/);
    },
  );

  it("an unexpected error is printed in one sentence, without a stack trace", async () => {
    // A lookup that fails for a reason without a message of its own.
    const host = ["--host", "a".repeat(300)];
    const plain = await run("mock", "--port", "0", ...host).ended();
    expect(plain.code).toBe(1);
    expect(plain.err).toMatch(/^[^\n]+\n$/);
  });
});
