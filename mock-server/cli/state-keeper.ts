import type { Admin } from "../control/admin.ts";
import { writeSnapshotFile } from "../snapshot/snapshot-file.ts";

/** From something happening to the file saying so. */
const writeDelayMs = 1_000;
/** Part of the time that keeping may take: a large state is written more rarely. */
const busyPartMax = 0.1;

/**
 * Keeps a snapshot file up to date while things happen: one write at a time, about one a second, so that
 * a crash costs a second and not the day.
 */
export function keepState(admin: Admin, path: string): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  let takingMs = 0;

  const takeText = () => {
    const startedMs = performance.now();
    const text = admin.snapshotText();
    takingMs = performance.now() - startedMs;
    return text;
  };
  const write = () => {
    timer = null;
    // A write that fails is tried again with the next change, and once more at the end.
    writing = writing.catch(() => undefined).then(() => writeSnapshotFile(path, takeText()));
    writing.catch(() => undefined);
  };
  const stopListening = admin.listen(() => {
    timer ??= setTimeout(write, Math.max(writeDelayMs, takingMs / busyPartMax)).unref();
  });

  return {
    async stop() {
      stopListening();
      if (timer) clearTimeout(timer);
      await writing.catch(() => undefined);
      await writeSnapshotFile(path, takeText());
    },
  };
}
