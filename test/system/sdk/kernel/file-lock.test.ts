import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../../sdk/kernel/clock.ts";
import { type FileLock, lockFile } from "../../../../sdk/kernel/file-lock.ts";
import { bundledModule } from "../../../support/bundled-program.ts";
import { RunningProgram } from "../../../support/running-program.ts";
import { withFolder } from "../../../support/with-folder.ts";

// A thousand times as fast: a lease of 60 ms, which is renewed every 10 ms.
const clock: Clock = {
  ...systemClock,
  schedule: (delayMs, run, options) => systemClock.schedule(delayMs / 1_000, run, options),
};
const isLinux = process.platform === "linux";
const hasNamespaces = isLinux && spawnSync("unshare", ["-p", "-f", "--mount-proc", "true"]).status === 0;

async function locked(path: string): Promise<FileLock> {
  const lock = await lockFile(path, { clock });
  if (typeof lock === "string") throw new Error(lock);
  return lock;
}

/** The lock of another process, made from a real one. */
async function writeLock(path: string, changes: object): Promise<void> {
  const lock = await locked(path);
  const owner = JSON.parse(await readFile(`${path}.lock`, "utf8")) as object;
  await lock.release();
  await writeFile(`${path}.lock`, JSON.stringify({ ...owner, id: "other", ...changes }));
}

const deadPid = spawnSync(process.execPath, ["--version"]).pid;
const elsewhere = { space: "another container" };
const inFolder = (use: (path: string) => Promise<void>) => () =>
  withFolder((folder) => use(join(folder, "state.json")));
const ownName = `process ${process.pid} on ${hostname()}`;

describe("lockFile", () => {
  it(
    "gives a file to one process at a time, and to the next when it is released",
    inFolder(async (path) => {
      const lock = await locked(path);
      expect(await lockFile(path, { clock })).toContain(`${ownName} uses it`);
      expect(await lock.isOwn()).toBe(true);
      await lock.release();
      expect(existsSync(`${path}.lock`)).toBe(false);
      await (await locked(path)).release();
    }),
  );

  it(
    "is one for a file and the links to it",
    inFolder(async (path) => {
      await writeFile(path, "{}");
      await symlink("state.json", `${path}.link`);
      const lock = await locked(`${path}.link`);
      expect(await lockFile(path, { clock })).toContain(`${ownName} uses it`);
      await lock.release();
      await (await locked(path)).release();
    }),
  );

  it.skipIf(!isLinux).each([
    ["a process that no longer runs", { pid: deadPid }],
    ["a process whose id another one has now", { started: "1" }],
  ])("replaces the lock of %s at once", (_, changes) =>
    inFolder(async (path) => {
      await writeLock(path, changes);
      const waits: string[] = [];
      const lock = await lockFile(path, { onWait: (owner) => waits.push(owner) });
      expect(waits).toEqual([]);
      expect(await readdir(join(path, ".."))).toEqual(["state.json.lock.1"]);
      await (lock as FileLock).release();
      expect(await readdir(join(path, ".."))).toEqual([]);
    })(),
  );

  it.each([
    ["of another container", elsewhere],
    ["of a process of which the system says nothing", { space: null }],
    ["of a process here that started at an unknown time", { started: null }],
  ])("takes a lock %s after a minute in which it did not change", (_, changes) =>
    inFolder(async (path) => {
      await writeLock(path, changes);
      const waits: string[] = [];
      const delays: number[] = [];
      const counting: Clock = {
        ...clock,
        schedule(delayMs, run, options) {
          if (!options?.background) delays.push(delayMs);
          return clock.schedule(delayMs, run, options);
        },
      };
      const lock = await lockFile(path, { clock: counting, onWait: (owner) => waits.push(owner) });
      expect(waits).toEqual([ownName]);
      // Looks are counted: a halt of both processes between two of them is no minute without a change.
      expect(delays).toEqual(Array(60).fill(1_000));
      await (lock as FileLock).release();
    })(),
  );

  it(
    "takes a lock without a text after a minute: its process was killed before it wrote its name",
    inFolder(async (path) => {
      await writeFile(`${path}.lock`, "");
      await (await locked(path)).release();
    }),
  );

  it(
    "leaves a lock that changes, and ends its wait with its signal",
    inFolder(async (path) => {
      await writeLock(path, elsewhere);
      let looks = 0;
      const beating: Clock = {
        ...clock,
        schedule(_, run, options) {
          if (++looks === 30) appendFileSync(`${path}.lock`, " ");
          return systemClock.schedule(5, run, options);
        },
      };
      expect(await lockFile(path, { clock: beating })).toMatch(/ uses it: its lock .+ has changed$/);
      expect(looks).toBeLessThan(60);
      const signal = AbortSignal.abort(new Error("enough"));
      await expect(lockFile(path, { clock, signal })).rejects.toThrow("enough");
    }),
  );

  it(
    "gives a stale lock to one of many that start together",
    inFolder(async (path) => {
      for (const changes of [{ pid: deadPid }, elsewhere])
        for (let round = 0; round < 10; round++) {
          const own = `${path}.${round}`;
          await writeLock(own, changes);
          const found = await Promise.all(Array.from({ length: 8 }, () => lockFile(own, { clock })));
          const locks = found.filter((lock) => typeof lock !== "string");
          expect(locks).toHaveLength(1);
          expect(await locks[0]?.isOwn()).toBe(true);
          await locks[0]?.release();
        }
    }),
  );

  it(
    "tells a process that was halted that another one has its lock, and never writes over that one",
    inFolder(async (path) => {
      const timers: (() => void)[] = [];
      const schedule: Clock["schedule"] = (_, run) => {
        timers.push(run);
        return () => {};
      };
      const halted: Clock = { ...systemClock, schedule };
      const first = (await lockFile(path, { clock: halted })) as FileLock;
      const text = await readFile(`${path}.lock`, "utf8");
      // For the second, the first is in another container.
      await writeFile(`${path}.lock`, text.replace(/"space":[^,]+/, '"space":"elsewhere"'));
      const second = await locked(path);
      for (const run of timers.splice(0)) run();
      expect(await first.isOwn()).toBe(false);
      await first.release();
      expect(await second.isOwn()).toBe(true);
      await second.release();
    }),
  );

  it.each([
    ["of an unknown program", "not JSON"],
    ["of an older format", JSON.stringify({ pid: 1, host: "other-host", id: 1 })],
  ])("respects a lock %s, and does not follow a link in its place", (_, text) =>
    inFolder(async (path) => {
      await writeFile(`${path}.lock`, text);
      expect(await lockFile(path, { clock })).toContain(`delete ${path}.lock`);
      expect(await readFile(`${path}.lock`, "utf8")).toBe(text);
      await symlink(`${path}.victim`, `${path}.other.lock`);
      expect(await lockFile(`${path}.other`, { clock })).toContain("another process uses it");
      expect(existsSync(`${path}.victim`)).toBe(false);
    })(),
  );

  it.skipIf(!hasNamespaces)(
    "is of one process at a time in two process namespaces with the same process ids and host name",
    () =>
      withFolder(async (folder) => {
        const path = join(folder, "state.json");
        // Twenty times as fast: a lease of 3 s, which is renewed every 500 ms.
        const program = `import { lockFile } from ${await bundledModule("sdk/kernel/file-lock.ts")};
          const schedule = (delayMs, run, { background = false } = {}) => {
            const timer = setTimeout(run, delayMs / 20);
            if (background) timer.unref();
            return () => clearTimeout(timer);
          };
          const clock = { now: Date.now, monotonic: () => performance.now(), schedule };
          const lock = await lockFile(${JSON.stringify(path)}, { clock });
          console.log(process.pid, typeof lock === "string" ? lock : "has it");
          if (typeof lock !== "string") setInterval(() => {}, 1_000);`;
        const start = (...flags: string[]) =>
          new RunningProgram(["-p", "-f", ...flags, process.execPath, "--input-type=module", "-e", program], {
            command: "unshare",
          });
        using first = start("--mount-proc");
        await first.said(/1 has it/);
        // The third, without a /proc of its own, sees ids of another namespace there.
        using second = start("--mount-proc");
        using third = start();
        for (const { output } of await Promise.all([second.ended(), third.ended()]))
          expect(output).toMatch(/^1 process 1 on .+ uses it: its lock .+ has changed/);
      }),
    60_000,
  );
});
