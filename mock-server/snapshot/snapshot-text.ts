import { parseJson } from "../../sdk/kernel/json.ts";
import { MockServerError } from "../errors.ts";
import type { Snapshot } from "./snapshot-schema.ts";

/** Bytes of the longest snapshot as JSON: a little less than the engine's longest string has characters. */
export const snapshotBytesMax = 512_000_000;
/** More than a snapshot has around JSON that the API accepts, and less than recursive functions can take. */
export const snapshotDepthMax = 500;

/** The snapshot as JSON. @throws MockServerError CONFLICT for one that is too long to be read again */
export function snapshotText(snapshot: Snapshot, bytesMax = snapshotBytesMax): string {
  const text = stringify(snapshot);
  if (text !== null && Buffer.byteLength(text) <= bytesMax) return text;
  throw new MockServerError(
    "CONFLICT",
    `a snapshot may have ${bytesMax} bytes, and this one has more; reset the mock, or keep less in it`,
  );
}

function stringify(snapshot: Snapshot): string | null {
  try {
    return JSON.stringify(snapshot);
  } catch (error) {
    // Longer than any string.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** What a snapshot's JSON says, not validated. @throws MockServerError SNAPSHOT_INVALID for anything but JSON */
export function parseSnapshot(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes, snapshotDepthMax);
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : "not complete JSON in UTF-8";
    throw new MockServerError("SNAPSHOT_INVALID", `the snapshot is ${reason}`, { cause });
  }
}
