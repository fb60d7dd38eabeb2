import { version } from "@workspace-tasks/events/catalog";
import { versionMismatch } from "@workspace-tasks/kernel/version.ts";
import { ReceiverError } from "./errors.ts";

/** @throws {ReceiverError} `VERSION_MISMATCH` */
export function requireEventsVersion(): void {
  const mismatch = versionMismatch("@workspace-tasks/receiver-kit", "@workspace-tasks/events", version);
  if (mismatch) throw new ReceiverError("VERSION_MISMATCH", mismatch);
}
