import { versionMismatch } from "@workspace-tasks/kernel/version-mismatch.ts";
import { ReceiverError } from "@workspace-tasks/receiver-kit";
import { version } from "@workspace-tasks/receiver-kit/parts";

/** @throws {ReceiverError} `VERSION_MISMATCH` */
export function requireReceiverKitVersion(): void {
  const mismatch = versionMismatch(
    "@workspace-tasks/receiver-rabbitmq",
    "@workspace-tasks/receiver-kit",
    version,
  );
  if (mismatch) throw new ReceiverError("VERSION_MISMATCH", mismatch);
}
