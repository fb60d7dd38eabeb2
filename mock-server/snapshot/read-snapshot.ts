import { MockServerError } from "../errors.ts";
import { findInconsistency } from "./consistency.ts";
import { envelopeSchema, type Snapshot, snapshotSchema, snapshotVersion } from "./snapshot-schema.ts";

/**
 * Validates a parsed document.
 * @throws MockServerError SNAPSHOT_INVALID for anything but a complete snapshot of a version this mock reads
 */
export function readSnapshot(value: unknown): Snapshot {
  const envelope = envelopeSchema.safeParse(value);
  if (!envelope.success) throw new MockServerError("SNAPSHOT_INVALID", "this is not a snapshot of the mock");
  const { version } = envelope.data;
  if (version !== snapshotVersion) {
    throw new MockServerError(
      "SNAPSHOT_INVALID",
      `the snapshot has version ${version}, this mock reads version ${snapshotVersion}`,
    );
  }
  const parsed = snapshotSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new MockServerError(
      "SNAPSHOT_INVALID",
      `the snapshot is damaged at ${issue?.path.join(".") || "its root"}: ${issue?.message}`,
    );
  }
  const inconsistency = findInconsistency(parsed.data);
  if (inconsistency)
    throw new MockServerError("SNAPSHOT_INVALID", `the snapshot is damaged: ${inconsistency}`);
  return parsed.data;
}

/** Reads a snapshot from text. @throws MockServerError SNAPSHOT_INVALID also for a truncated text */
export function parseSnapshot(text: string): Snapshot {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MockServerError("SNAPSHOT_INVALID", "the snapshot is not complete JSON", { cause });
  }
  return readSnapshot(value);
}
