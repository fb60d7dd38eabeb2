import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSnapshotFile, writeSnapshotFile } from "../../../../mock-server/snapshot/snapshot-file.ts";
import { withFolder } from "../../../support/with-folder.ts";

describe("writeSnapshotFile", () => {
  it("writes a file that only its owner can read, and leaves no other", () =>
    withFolder(async (folder) => {
      const path = join(folder, "s.json");
      await writeSnapshotFile(path, "{}");
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readdir(folder)).toEqual(["s.json"]);
    }));

  it("follows no link that another user has put in the place of its draft, or of the file", () =>
    withFolder(async (folder) => {
      const victim = join(folder, "victim");
      await writeFile(victim, "untouched");
      for (const name of [`.s.json.${process.pid}.draft`, "s.json"])
        await symlink(victim, join(folder, name));
      await writeSnapshotFile(join(folder, "s.json"), "{}");
      expect(await readFile(victim, "utf8")).toBe("untouched");
      expect(await readFile(join(folder, "s.json"), "utf8")).toBe("{}");
    }));

  it("leaves the old file, and no other, when the new one cannot be written", () =>
    withFolder(async (folder) => {
      const [path, place] = [join(folder, "s.json"), join(folder, "folder")];
      await writeFile(path, "the old one");
      await mkdir(place);
      await expect(writeSnapshotFile(path, Symbol("no text") as never)).rejects.toThrow();
      await expect(writeSnapshotFile(place, "{}")).rejects.toThrow();
      expect(await readFile(path, "utf8")).toBe("the old one");
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
