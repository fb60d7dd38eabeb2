import type { Admin } from "../control/admin.ts";
import { writeSnapshotFile } from "../snapshot/snapshot-file.ts";

/** Longest time between something happening and the file saying so. */
const writeDelayMs = 1_000;

/**
 * Keeps a snapshot file up to date while things happen: at most one write at a time and at most one a
 * second, so that a crash costs a second and not the day.
 */
export function keepState(admin: Admin, path: string): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  const write = () => {
    timer = null;
    // A write that fails is tried again with the next change, and once more at the end.
    writing = writing.catch(() => undefined).then(() => writeSnapshotFile(path, admin.snapshot()));
    writing.catch(() => undefined);
  };
  const stopListening = admin.listen(() => {
    timer ??= setTimeout(write, writeDelayMs).unref();
  });

  return {
    async stop() {
      stopListening();
      if (timer) clearTimeout(timer);
      await writing.catch(() => undefined);
      await writeSnapshotFile(path, admin.snapshot());
    },
  };
}
