import { MockServerError } from "../errors.ts";

/** A document that cannot be restored; nothing has changed. */
export class SnapshotError extends MockServerError {
  constructor(message: string, options?: ErrorOptions) {
    super("SNAPSHOT_INVALID", message, options);
  }
}
