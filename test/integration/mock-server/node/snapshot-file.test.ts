import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  findSnapshotFile,
  readSnapshotFile,
  writeSnapshotFile,
} from "../../../../mock-server/node/snapshot-file.ts";
import { withFolder } from "../../../support/with-folder.ts";

const snapshot = '{"format":"workspace-tasks-mock"}';

describe("writeSnapshotFile", () => {
  it("writes a file that only its owner can read, and leaves no other", () =>
    withFolder(async (folder) => {
      const path = join(folder, "s.json");
      await writeSnapshotFile(path, "{}");
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readdir(folder)).toEqual(["s.json"]);
    }));

  it("follows a link to a snapshot, to an empty file and to none, and the link stays", () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, "old"), snapshot, { mode: 0o640 });
      await writeFile(join(folder, "empty"), "");
      for (const target of ["old", "empty", "new"]) {
        const link = join(folder, `${target}.json`);
        await symlink(target, link);
        await writeSnapshotFile(link, `${snapshot} `);
        expect(await readlink(link)).toBe(target);
        expect(await readFile(join(folder, target), "utf8")).toBe(`${snapshot} `);
      }
      expect((await stat(join(folder, "old"))).mode & 0o777).toBe(0o640);
    }));

  it("finds the target of a link from the folder that has it", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "real", "inner"), { recursive: true });
      await symlink(join("real", "inner"), join(folder, "states"));
      await symlink(join("..", "target.json"), join(folder, "real", "inner", "s.json"));
      await writeSnapshotFile(join(folder, "states", "s.json"), snapshot);
      expect(await readFile(join(folder, "real", "target.json"), "utf8")).toBe(snapshot);
    }));

  it("replaces nothing that is not a writable snapshot, and says what is there", () =>
    withFolder(async (folder) => {
      const place = (name: string) => join(folder, name);
      await writeFile(place("other"), '{"name":"package"}');
      await writeFile(place("read-only"), snapshot, { mode: 0o444 });
      await mkdir(place("folder"));
      execFileSync("mkfifo", [place("pipe")]);
      const socket = createServer().listen(place("socket"));
      await once(socket, "listening");
      const before = await readdir(folder);
      for (const [name, reason] of [
        ["other", "not a snapshot of a mock"],
        ["read-only", "read-only"],
        ["folder", "expected a regular file, got a folder"],
        ["pipe", "expected a regular file, got a pipe"],
        ["socket", "expected a regular file, got a socket"],
      ] as const) {
        const link = place("link");
        await symlink(name, link);
        for (const path of [place(name), link])
          await expect(writeSnapshotFile(path, snapshot)).rejects.toThrow(reason);
        await rm(link);
      }
      expect(await readdir(folder)).toEqual(before);
      expect(await readFile(place("other"), "utf8")).toBe('{"name":"package"}');
      // Nothing is written here: as root a mistake would replace the device of the machine.
      await expect(findSnapshotFile("/dev/full")).rejects.toThrow("expected a regular file, got a device");
      socket.close();
    }));

  it("follows no link that another user has put in the place of its draft", () =>
    withFolder(async (folder) => {
      const victim = join(folder, "victim");
      await writeFile(victim, "untouched");
      await symlink(victim, join(folder, `.s.json.${process.pid}.draft`));
      await writeSnapshotFile(join(folder, "s.json"), "{}");
      expect(await readFile(victim, "utf8")).toBe("untouched");
      expect(await readFile(join(folder, "s.json"), "utf8")).toBe("{}");
    }));

  it("leaves the old file, and no other, when the new one cannot be written", () =>
    withFolder(async (folder) => {
      const [path, place] = [join(folder, "s.json"), join(folder, "folder")];
      await writeFile(path, snapshot);
      await mkdir(place);
      await expect(writeSnapshotFile(path, Symbol("no text") as never)).rejects.toThrow();
      await expect(writeSnapshotFile(place, "{}")).rejects.toThrow();
      expect(await readFile(path, "utf8")).toBe(snapshot);
      expect(await readdir(folder)).toEqual(["folder", "s.json"]);
    }));
});

describe("readSnapshotFile", () => {
  it.each([
    ["is longer than a snapshot may be", "{}", 1],
    ["is truncated", '{"format":"workspace-tasks-mock"', 100],
    ["is not UTF-8", Buffer.from([0x22, 0xff, 0x22]), 100],
    ["nests too deeply", "[".repeat(2_000), 10_000],
  ])("rejects a file that %s", (_, content, bytesMax) =>
    withFolder(async (folder) => {
      const path = join(folder, "s.json");
      await writeFile(path, content);
      await expect(readSnapshotFile(path, bytesMax)).rejects.toMatchObject({ code: "SNAPSHOT_INVALID" });
    }),
  );
});
