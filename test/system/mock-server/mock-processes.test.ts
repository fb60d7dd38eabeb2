import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { isAlive } from "../../support/is-alive.ts";
import { jsonPost } from "../../support/json-post.ts";
import { freePort } from "../../support/listen.ts";
import { packageFlags } from "../../support/package-flags.ts";

const bin = join(import.meta.dirname, "../../../mock-server/tools/bin/workspace-tasks.js");
const node = [process.execPath, ...packageFlags, bin];
const started: ChildProcess[] = [];

afterEach(() => {
  for (const { pid } of started.splice(0)) if (pid !== undefined) killGroup(pid);
});

function start(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [file = "", ...args] = command;
  const child = spawn(file, args, {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, npm_lifecycle_event: undefined, ...env },
  });
  started.push(child);
  return child;
}

/** The process and all that it started. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has no process left.
  }
}

async function firstMatch(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  for (;;) {
    const found = pattern.exec(text);
    if (found) return found;
    const [chunk] = await once(stream, "data");
    text += String(chunk);
  }
}

describe("a mock whose output is not read", () => {
  it("responds to all requests, and ends on SIGTERM", async () => {
    const port = await freePort();
    // A pipe of the shell, which holds 64 KiB, to a program that reads nothing.
    const pipeline = `{ sh -c 'echo pid $$ end >&2; exec "$@"' sh "$@"; echo ended $? >&2; } | sleep 600`;
    const shell = start(["sh", "-c", pipeline, "sh", ...node, "mock", "--port", String(port)]);
    const [, pid = ""] = await firstMatch(shell.stderr, /pid (\d+) end/);
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
    const ended = firstMatch(shell.stderr, /ended (\d+)/);
    process.kill(Number(pid), "SIGTERM");
    // The reader has not ended.
    expect((await ended)[1]).toBe("0");
  });
});

// npx and npm run start a program through a shell; a signal to them ends the shell alone.
describe("a command that npm started", () => {
  it("mock exec and its command end when the shell of npm ends", async () => {
    const script =
      'console.log("pids", process.pid, process.ppid, "url", process.env.WORKSPACE_TASKS_BASE_URL, "end"); setInterval(() => {}, 1000)';
    const exec = [...node, "mock", "exec", "--", process.execPath, "-e", script];
    const env = { npm_lifecycle_event: "npx" };
    const shell = start(["sh", "-c", '"$@"; true', "sh", ...exec], env);
    const [, command = "", mock = "", url = ""] = await firstMatch(
      shell.stdout,
      /pids (\d+) (\d+) url (\S+) end/,
    );
    expect((await fetch(`${url}/_mock/v1/health`)).status).toBe(200);
    shell.kill("SIGTERM");
    await expect.poll(() => [isAlive(Number(command)), isAlive(Number(mock))]).toEqual([false, false]);
  });
});
