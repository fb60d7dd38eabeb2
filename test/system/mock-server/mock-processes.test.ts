import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { freePort } from "../../support/listen.ts";
import { jsonPost } from "../../support/mock-client.ts";
import { packageFlags } from "../../support/package-flags.ts";
import { isAlive, RunningProgram } from "../../support/running-program.ts";

const bin = join(import.meta.dirname, "../../../mock-server/tools/bin/workspace-tasks.js");
const node = [process.execPath, ...packageFlags, bin];
const shell = (script: string, args: readonly string[], env = {}) =>
  new RunningProgram(["-c", script, "sh", ...args], {
    command: "sh",
    env: { npm_lifecycle_event: undefined, ...env },
  });

describe("a mock whose output is not read", () => {
  it("responds to all requests, and ends on SIGTERM", async () => {
    const port = await freePort();
    // A pipe of the shell, which holds 64 KiB, to a program that reads nothing.
    const pipeline = `{ sh -c 'echo pid $$ end >&2; exec "$@"' sh "$@"; echo ended $? >&2; } | sleep 600`;
    using piped = shell(pipeline, [...node, "mock", "--port", String(port)]);
    const [, pid = ""] = await piped.said(/pid (\d+) end/);
    const url = `http://127.0.0.1:${port}`;
    const isReady = () =>
      fetch(`${url}/_mock/v1/health`).then(
        (response) => response.ok,
        () => false,
      );
    await expect.poll(isReady).toBe(true);
    // The longest lines, of which 100 per second are written: more than the pipe holds.
    const request = jsonPost({ query: `{ me { ${"x".repeat(450)} } }` });
    const endMs = Date.now() + 2_200;
    for (let sent = 0; sent < 300 || Date.now() < endMs; sent++) {
      await (await fetch(`${url}/graphql`, request)).text();
    }
    const ended = piped.said(/ended (\d+)/);
    process.kill(Number(pid), "SIGTERM");
    // The reader has not ended.
    expect((await ended)[1]).toBe("0");
  });
});

describe("workspace-tasks logs", () => {
  it("ends at the next line when its reader is gone, as after | head -1", async () => {
    await using mock = await createMockServer();
    const request = () => mock.fetch("/graphql", { method: "POST", body: "{}" });
    await request();
    using logs = new RunningProgram([...packageFlags, bin, "logs", "--mock", mock.baseUrl]);
    await logs.said(/request/);
    logs.closeOutput();
    await request();
    expect(await logs.ended()).toMatchObject({ code: 0 });
  });
});

describe("mock exec where the environment names a proxy", () => {
  it("excepts this computer for its command, beside what was excepted before", async () => {
    const script = "console.log(process.env.NO_PROXY, process.env.no_proxy, process.env.HTTP_PROXY, 'end')";
    const exec = [...packageFlags, bin, "mock", "exec", "--", process.execPath, "-e", script];
    const env = { HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: ".corp", no_proxy: undefined };
    using program = new RunningProgram(exec, { env });
    const [, ...values] = await program.said(/(\S+) (\S+) (\S+) end/);
    const exceptions = ".corp,127.0.0.1,localhost,::1";
    expect(values).toEqual([exceptions, exceptions, "http://127.0.0.1:9"]);
  });
});

// npx and npm run start a program through a shell; a signal to them ends the shell alone.
describe("a command that npm started", () => {
  it("mock exec and its command end when the shell of npm ends", async () => {
    const script =
      'console.log("pids", process.pid, process.ppid, "url", process.env.WORKSPACE_TASKS_BASE_URL, "end"); setInterval(() => {}, 1000)';
    const exec = [...node, "mock", "exec", "--", process.execPath, "-e", script];
    using npm = shell('"$@"; true', exec, { npm_lifecycle_event: "npx" });
    const [, command = "", mock = "", url = ""] = await npm.said(/pids (\d+) (\d+) url (\S+) end/);
    expect((await fetch(`${url}/_mock/v1/health`)).status).toBe(200);
    npm.signal("SIGTERM");
    await expect.poll(() => [isAlive(Number(command)), isAlive(Number(mock))]).toEqual([false, false]);
  });
});
