import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lockFile } from "../../../../sdk/kernel/file-lock.ts";
import { withFolder } from "../../../support/with-folder.ts";

async function locked(path: string) {
  const lock = await lockFile(path);
  if (typeof lock === "string") throw new Error(lock);
  return lock;
}

const deadPid = spawnSync(process.execPath, ["--version"]).pid;
const ownedBy = (pid: number, host = hostname()) => JSON.stringify({ pid, host, id: "other" });

describe("lockFile", () => {
  it("gives a file to one process at a time", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      const lock = await locked(path);
      expect(await lockFile(path)).toMatch(`process ${process.pid} on ${hostname()} uses it`);
      await lock.release();
      expect(existsSync(`${path}.lock`)).toBe(false);
      await (await locked(path)).release();
    }));

  it("is one for a file and the links to it", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      const link = join(folder, "link.json");
      await writeFile(path, "{}");
      await symlink("state.json", link);
      const lock = await locked(link);
      expect(await lockFile(path)).toMatch(`process ${process.pid} on ${hostname()} uses it`);
      await lock.release();
      await (await locked(path)).release();
    }));

  it("replaces the lock of a process that no longer runs", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      await writeFile(`${path}.lock`, ownedBy(deadPid));
      const lock = await locked(path);
      expect(JSON.parse(await readFile(`${path}.lock`, "utf8"))).toMatchObject({ pid: process.pid });
      await lock.release();
    }));

  it.skipIf(process.platform !== "linux")("replaces the lock of a process whose id another one has now", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      const owner = { pid: process.pid, host: hostname(), started: "another boot/1", id: "other" };
      await writeFile(`${path}.lock`, JSON.stringify(owner));
      await (await locked(path)).release();
    }),
  );

  it("gives a stale lock to one of many processes that start together", () =>
    withFolder(async (folder) => {
      for (let round = 0; round < 20; round++) {
        const path = join(folder, `state-${round}.json`);
        await writeFile(`${path}.lock`, ownedBy(deadPid));
        const locks = await Promise.all(Array.from({ length: 8 }, () => lockFile(path)));
        expect(locks.filter((lock) => typeof lock !== "string")).toHaveLength(1);
      }
    }));

  it.each([
    ["another computer", ownedBy(1, "other-host")],
    ["an unknown program", "not JSON"],
  ])("respects the lock of %s", (_, text) =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      await writeFile(`${path}.lock`, text);
      expect(await lockFile(path)).toContain(`delete ${path}.lock`);
      expect(await readFile(`${path}.lock`, "utf8")).toBe(text);
    }),
  );

  it("says what to delete when a process was killed while it replaced a lock", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      await writeFile(`${path}.lock`, ownedBy(deadPid));
      await writeFile(`${path}.lock.replacing`, ownedBy(deadPid));
      const text = `if none does, delete ${path}.lock, and ${path}.lock.replacing if it exists`;
      expect(await lockFile(path)).toContain(text);
      await rm(`${path}.lock`);
      await rm(`${path}.lock.replacing`);
      await (await locked(path)).release();
    }));

  it("does not follow a link in the place of the lock, and leaves a lock that is no longer its own", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      const victim = join(folder, "victim");
      await symlink(victim, `${path}.lock`);
      expect(await lockFile(path)).toContain("another process uses it");
      expect(existsSync(victim)).toBe(false);
      const other = join(folder, "other.json");
      const lock = await locked(other);
      await writeFile(`${other}.lock`, "taken over");
      await lock.release();
      expect(await readFile(`${other}.lock`, "utf8")).toBe("taken over");
    }));
});
