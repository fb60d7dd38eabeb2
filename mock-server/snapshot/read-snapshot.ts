import { findInconsistency } from "./consistency.ts";
import { SnapshotError } from "./snapshot-error.ts";
import { envelopeSchema, type Snapshot, snapshotSchema, snapshotVersion } from "./snapshot-schema.ts";

/**
 * Validates a parsed document.
 * @throws SnapshotError for anything but a complete snapshot of a version this mock reads
 */
export function readSnapshot(value: unknown): Snapshot {
  const envelope = envelopeSchema.safeParse(value);
  if (!envelope.success) throw new SnapshotError("this is not a snapshot of the mock");
  const { version } = envelope.data;
  if (version !== snapshotVersion) {
    throw new SnapshotError(
      `the snapshot has version ${version}, this mock reads version ${snapshotVersion}`,
    );
  }
  const parsed = snapshotSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new SnapshotError(
      `the snapshot is damaged at ${issue?.path.join(".") || "its root"}: ${issue?.message}`,
    );
  }
  const inconsistency = findInconsistency(parsed.data);
  if (inconsistency) throw new SnapshotError(`the snapshot is damaged: ${inconsistency}`);
  return parsed.data;
}

/** Reads a snapshot from text. @throws SnapshotError also for a truncated text */
export function parseSnapshot(text: string): Snapshot {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SnapshotError("the snapshot is not complete JSON", { cause });
  }
  return readSnapshot(value);
}
