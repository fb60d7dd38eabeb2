import { readFile, stat } from "node:fs/promises";
import {
  findOutputFile,
  type OutputKind,
  unlessMissing,
  writeOutputFile,
} from "@workspace-tasks/kernel/output-file.ts";
import { MockServerError } from "../errors.ts";
import { parseSnapshot, snapshotBytesMax } from "../snapshot/snapshot.ts";
import type { Snapshot } from "../snapshot/snapshot-schema.ts";

/** Reads a snapshot file; `null` without one. @throws MockServerError SNAPSHOT_INVALID for another file */
export async function readSnapshotFile(path: string, bytesMax = snapshotBytesMax): Promise<Snapshot | null> {
  const found = await unlessMissing(stat(path));
  if (found === null) return null;
  if (found.size > bytesMax) {
    const message = `a snapshot may have ${bytesMax} bytes, this file has ${found.size}`;
    throw new MockServerError("SNAPSHOT_INVALID", message);
  }
  const { readSnapshot } = await import("../snapshot/read-snapshot.ts");
  return readSnapshot(parseSnapshot(await readFile(path)));
}

const mark = /"format"\s*:\s*"workspace-tasks-mock"/;
const outputKind: OutputKind = { name: "a snapshot of a mock", mark };

/** The path of a snapshot file without links. @throws Error for what `writeSnapshotFile` would not replace */
export const findSnapshotFile = async (path: string): Promise<string> =>
  (await findOutputFile(path, outputKind)).path;

/**
 * A reader finds the old file or the complete new one.
 * @throws Error for what is no regular file, is read-only, or is no snapshot
 */
export const writeSnapshotFile = (path: string, text: string): Promise<string> =>
  writeOutputFile(path, text, outputKind);
