import { readFile, stat } from "node:fs/promises";
import { findOutputFile, type OutputKind, writeOutputFile } from "@workspace-tasks/kernel/output-file.ts";
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

const outputKind: OutputKind = {
  name: "a snapshot of a mock",
  mark: /"format"\s*:\s*"workspace-tasks-mock"/,
};

/** The path of a snapshot file without links. @throws Error for what `writeSnapshotFile` would not replace */
export const findSnapshotFile = async (path: string): Promise<string> =>
  (await findOutputFile(path, outputKind)).path;

/**
 * A reader finds the old file or the complete new one.
 * @throws Error for what is no regular file, is read-only, or is no snapshot
 */
export const writeSnapshotFile = (path: string, text: string): Promise<string> =>
  writeOutputFile(path, text, outputKind);
