/** A document that cannot be restored; nothing has changed. */
export class SnapshotError extends Error {
  override readonly name = "SnapshotError";
}
