import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive } from "../support/is-alive.ts";
import { RunningProgram } from "../support/running-program.ts";

const support = path.join(import.meta.dirname, "../support/end-with-this-process.ts");

/** Starts a shell, whose child it also prints, and stops both. */
const program = (endsWithIt: boolean, folder: string) => `
  import { spawn } from "node:child_process";
  import { endWithThisProcess } from ${JSON.stringify(support)};
  const server = spawn("sh", ["-c", "sleep 600 & echo $$ $!; wait"], { stdio: ["ignore", "pipe", "ignore"], detached: true });
  if (${endsWithIt}) endWithThisProcess(server, ${JSON.stringify(folder)});
  server.stdout.once("data", (pids) => {
    process.kill(-server.pid, "SIGSTOP");
    console.log("started " + pids);
  });
`;

async function killedProcess(endsWithIt: boolean, folder = "") {
  using test = new RunningProgram([
    "--import",
    "tsx",
    "--input-type=module",
    "-e",
    program(endsWithIt, folder),
  ]);
  const [, shell, sleep] = await test.said(/started (\d+) (\d+)/);
  test.signal("SIGKILL");
  await test.ended();
  return [Number(shell), Number(sleep)] as const;
}

describe.skipIf(process.platform === "win32")("a test process that SIGKILL ends", () => {
  it("ends the servers that it started, stopped ones and their children too, and deletes their folder", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "workspace-tasks-killed-"));
    const pids = await killedProcess(true, folder);
    await expect.poll(() => pids.filter(isAlive), { timeout: 30_000 }).toEqual([]);
    await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
  });

  it("leaves a server behind that is not to end with it", async () => {
    const [shell, sleep] = await killedProcess(false);
    try {
      expect([shell, sleep].filter(isAlive)).toEqual([shell, sleep]);
    } finally {
      process.kill(-shell, "SIGKILL");
    }
  });
});
