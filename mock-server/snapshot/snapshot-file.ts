import { mkdtemp, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Snapshot } from "./snapshot-schema.ts";

/** Reads a snapshot file; `null` without one. @throws MockServerError SNAPSHOT_INVALID for another file */
export async function readSnapshotFile(path: string): Promise<Snapshot | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  const { parseSnapshot } = await import("./read-snapshot.ts");
  return parseSnapshot(text);
}

/** Writes a snapshot to a temporary file, syncs and renames it: a reader finds the old file or the complete new one. */
export async function writeSnapshotFile(path: string, snapshotText: string): Promise<void> {
  // In a new folder that only this user can enter: nothing can be waiting there under the name of the file.
  const folder = await mkdtemp(join(dirname(path), `.${basename(path)}.draft-`));
  const draft = join(folder, "draft");
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(snapshotText);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
