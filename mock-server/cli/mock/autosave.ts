import type { FileLock } from "@workspace-tasks/kernel/file-lock.ts";
import type { MockServer } from "../../create-mock.ts";
import { writeSnapshotFile } from "../../node/snapshot-file.ts";

const writeDelayMs = 1_000;
/** Share of the time that snapshots may take: a large state is written less often. */
const busyShareMax = 0.1;

export interface StateFile {
  readonly path: string;
  readonly lock: FileLock;
}

export interface Autosave {
  /** Writes the file a last time. */
  stop(): Promise<void>;
}

/**
 * Writes a snapshot file now, and after changes: one at a time and about one per second, so that a crash loses a second.
 * @param warn called with the first failure, and again after a write that succeeded; writes are repeated with every change
 * @throws the error of the first write
 */
export async function autosave(
  mock: MockServer,
  { path, lock }: StateFile,
  warn: (error: unknown) => void,
): Promise<Autosave> {
  let timer: NodeJS.Timeout | null = null;
  let hasFailed = false;
  let writeMs = 0;

  const write = async () => {
    if (!(await lock.isOwn())) throw new Error("another mock has taken the file over");
    const startedMs = performance.now();
    // As text: `control.getSnapshot` would copy the whole state first.
    const response = await mock.fetch("/_mock/v1/snapshot");
    const text = await response.text();
    if (!response.ok) throw new Error(JSON.parse(text).error.message);
    await writeSnapshotFile(path, text);
    writeMs = performance.now() - startedMs;
    hasFailed = false;
  };
  const writeOrWarn = () =>
    write().catch((error: unknown) => {
      if (!hasFailed) warn(error);
      hasFailed = true;
    });
  // Before the first write: the mock responds already, and what is made meanwhile may not be in it.
  let writing: Promise<void> = Promise.resolve();
  const unsubscribe = mock.subscribe(() => {
    timer ??= setTimeout(
      () => {
        timer = null;
        writing = writing.then(writeOrWarn);
      },
      Math.max(writeDelayMs, writeMs / busyShareMax),
    ).unref();
  });

  const stopWatching = () => {
    unsubscribe();
    if (timer) clearTimeout(timer);
  };
  const first = write();
  writing = first.catch(() => undefined);
  await first.catch((error: unknown) => {
    stopWatching();
    throw error;
  });

  return {
    async stop() {
      stopWatching();
      await writing;
      await write();
    },
  };
}
