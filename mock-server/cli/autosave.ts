import type { MockServer } from "../server.ts";
import { writeSnapshotFile } from "../snapshot/snapshot-file.ts";

const writeDelayMs = 1_000;
/** Share of the time that snapshots may take: a large state is written less often. */
const busyShareMax = 0.1;

/** Writes a snapshot file after changes, one at a time and about one per second, so that a crash loses a second. */
export function autosave(mock: MockServer, path: string): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();
  let snapshotMs = 0;

  const takeSnapshot = async () => {
    const startedMs = performance.now();
    // As text: `control.getSnapshot` would copy the whole state first.
    const text = await (await mock.fetch("/_mock/v1/snapshot")).text();
    snapshotMs = performance.now() - startedMs;
    return text;
  };
  const save = () => {
    timer = null;
    // A failed write is repeated after the next change, and once more at the end.
    writing = writing.catch(() => undefined).then(async () => writeSnapshotFile(path, await takeSnapshot()));
    writing.catch(() => undefined);
  };
  const unsubscribe = mock.subscribe(() => {
    timer ??= setTimeout(save, Math.max(writeDelayMs, snapshotMs / busyShareMax)).unref();
  });

  return {
    async stop() {
      unsubscribe();
      if (timer) clearTimeout(timer);
      await writing.catch(() => undefined);
      await writeSnapshotFile(path, await takeSnapshot());
    },
  };
}
