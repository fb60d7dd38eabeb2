import { type FileHandle, mkdtemp, open, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Snapshot } from "./snapshot-schema.ts";

/** Reads a snapshot file; `null` without one. @throws MockServerError SNAPSHOT_INVALID for another file */
export async function readSnapshotFile(path: string): Promise<Snapshot | null> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  try {
    const { readSnapshotText } = await import("./read-snapshot.ts");
    return await readSnapshotText(file.createReadStream({ highWaterMark: 1_048_576, autoClose: false }));
  } finally {
    await file.close();
  }
}

/** Writes a snapshot to a temporary file, syncs and renames it: a reader finds the old file or the complete new one. */
export async function writeSnapshotFile(
  path: string,
  text: Iterable<string> | AsyncIterable<Uint8Array>,
): Promise<void> {
  // In a new folder that only this user can enter: nothing can be waiting there under the name of the file.
  const folder = await mkdtemp(join(dirname(path), `.${basename(path)}.draft-`));
  const draft = join(folder, "draft");
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await writeFile(file, text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
