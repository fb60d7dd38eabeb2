import { parseJson } from "@workspace-tasks/kernel/json.ts";
import { MockServerError } from "../errors.ts";
import type { Snapshot } from "./snapshot-schema.ts";

/** Bytes of the longest snapshot as JSON: a little less than the engine's longest string has characters. */
export const snapshotBytesMax = 512_000_000;
/** More than a snapshot has around JSON that the API accepts, and less than recursive functions can take. */
export const snapshotDepthMax = 500;

/** The snapshot as JSON. @throws MockServerError CONFLICT for one that is longer than any string */
export function snapshotText(snapshot: Snapshot): string {
  try {
    return JSON.stringify(snapshot);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const message = "the snapshot is too long; reset the mock, or keep less in it";
    throw new MockServerError("CONFLICT", message, { cause });
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
