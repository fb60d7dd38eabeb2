import { mkdtemp, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MockServerError } from "../errors.ts";
import type { Snapshot } from "./snapshot-schema.ts";
import { parseSnapshot, snapshotBytesMax } from "./snapshot-text.ts";

/** Reads a snapshot file; `null` without one. @throws MockServerError SNAPSHOT_INVALID for another file */
export async function readSnapshotFile(path: string, bytesMax = snapshotBytesMax): Promise<Snapshot | null> {
  const size = await sizeOf(path);
  if (size === null) return null;
  if (size > bytesMax) {
    throw new MockServerError(
      "SNAPSHOT_INVALID",
      `a snapshot may have ${bytesMax} bytes, this file has ${size}`,
    );
  }
  const { readSnapshot } = await import("./read-snapshot.ts");
  return readSnapshot(parseSnapshot(await readFile(path)));
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Writes a snapshot to a temporary file, syncs and renames it: a reader finds the old file or the complete new one. */
export async function writeSnapshotFile(path: string, text: string): Promise<void> {
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
