import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { autosave } from "../../../../mock-server/cli/start-mock.ts";
import { readSnapshotFile } from "../../../../mock-server/node/snapshot-file.ts";
import { withFolder } from "../../../support/with-folder.ts";

const lockOf = (isOwn: () => boolean) => ({ isOwn: async () => isOwn(), release: async () => {} });

describe("autosave", () => {
  it("never writes a file that another mock has taken over", () =>
    withFolder(async (folder) => {
      await using mock = await createMockServer({ listen: false });
      const path = join(folder, "state.json");
      let isOwn = true;
      const warnings: unknown[] = [];
      const warn = (error: unknown) => warnings.push(error);
      const saving = await autosave(mock, { path, lock: lockOf(() => isOwn) }, warn);
      isOwn = false;
      await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
      while (warnings.length === 0) await wait(20);
      await expect(saving.stop()).rejects.toThrow("another mock has taken the file over");
      expect((await readSnapshotFile(path))?.state.tasks).toEqual([]);
    }));

  it("writes what was made during the first write, without another change", () =>
    withFolder(async (folder) => {
      await using mock = await createMockServer({ listen: false });
      const path = join(folder, "state.json");
      let reads = 0;
      const fetch = async (input: string) => {
        const response = await mock.fetch(input);
        if (reads++ === 0) await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
        return response;
      };
      const saving = await autosave(
        { ...mock, fetch } as MockServer,
        { path, lock: lockOf(() => true) },
        () => {},
      );
      expect((await readSnapshotFile(path))?.state.tasks).toEqual([]);
      await expect
        .poll(async () => (await readSnapshotFile(path))?.state.tasks.length, { timeout: 20_000 })
        .toBe(1);
      await saving.stop();
    }));

  it("warns of the first write that fails, and writes again after the next change", () =>
    withFolder(async (folder) => {
      await using mock = await createMockServer({ listen: false });
      const [inner, moved] = [join(folder, "inner"), join(folder, "moved")];
      await mkdir(inner);
      const warnings: unknown[] = [];
      const path = join(inner, "state.json");
      const saving = await autosave(mock, { path, lock: lockOf(() => true) }, (error) =>
        warnings.push(error),
      );
      await rename(inner, moved);
      await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
      while (warnings.length === 0) await wait(20);
      expect(warnings).toMatchObject([{ code: "ENOENT" }]);
      await mkdir(inner);
      await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
      await saving.stop();
      expect((await readSnapshotFile(path))?.state.tasks).toHaveLength(2);
      expect(warnings).toHaveLength(1);
      await rm(moved, { recursive: true });
    }));
});
