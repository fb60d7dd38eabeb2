// The file: a header with the number of bytes that are known to be synced, then a numbered line for each entry.
//
//   workspace-tasks journal 1 0000000000000123
//   1 ["import",1,"…","…"]
//
// The header is written over together with the next entries, so it never says more than what is synced. A file that is
// shorter was truncated; what follows the last line end is the rest of a write that did not end, and is cut off.

import type { FileHandle } from "node:fs/promises";
import { type FileLock, lockFile } from "@workspace-tasks/kernel/file-lock.ts";
import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { foreignFile, privacyOf, warnOfOpenFile } from "@workspace-tasks/kernel/private-file.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../../errors.ts";
import { type ImportJournal, journalError } from "./import-journal.ts";

const header = (syncedBytes: number) =>
  `workspace-tasks journal 1 ${String(syncedBytes).padStart(16, "0")}\n`;
const headerBytes = header(0).length;

/**
 * A journal in a file, which is created when it does not exist. Every entry is synced before the import depends on it.
 *
 * One process at a time has it: a file beside it, `<path>.lock`, names the process, which rewrites it every 10 s; for a link,
 * it is beside the target. A process that was killed here is replaced at once, one in another container or on another
 * computer after its lock did not change for a minute. A process that was halted for so long ends with `JOURNAL_IN_USE`
 * when it continues, within a write with `JOURNAL_FAILED`; only one that was halted between its look at the lock and the
 * write itself may write over a line of its successor, whose next process then reports `JOURNAL_DAMAGED`. A file of another user is not used. Needs `node:fs`.
 *
 * Errors: `CONFIGURATION_INVALID` without a path, thrown at once; of the import, `JOURNAL_IN_USE`, `JOURNAL_DAMAGED`,
 * `JOURNAL_FAILED`.
 */
export function fileJournal(path: string): ImportJournal {
  s.parse(
    s.nonEmptyString,
    path,
    ({ message }) => new WorkspaceTasksError("CONFIGURATION_INVALID", `fileJournal: path: ${message}`),
  );
  let lock: FileLock | undefined;
  let file: FileHandle | undefined;
  let closing = new AbortController();
  let [syncedBytes, lines] = [headerBytes, 0];

  const failed = (what: string) => (cause: unknown) => {
    const reason = isError(cause) ? cause.message : "unknown";
    throw isWorkspaceTasksError(cause)
      ? cause
      : journalError("JOURNAL_FAILED", `could not ${what} ${path}: ${reason}`, cause);
  };
  const damaged = (problem: string) =>
    journalError("JOURNAL_DAMAGED", `${path}: ${problem}; restore the file, or start with a new one`);

  async function acquire(): Promise<FileHandle> {
    closing = new AbortController();
    const { signal } = closing;
    const locked = await lockFile(path, { signal });
    if (typeof locked === "string") throw journalError("JOURNAL_IN_USE", locked);
    lock = locked;
    if (signal.aborted) {
      await release();
      signal.throwIfAborted();
    }
    file = await openOrCreate(path);
    await makePrivate(file, path);
    await writeNewHeader(file, path);
    return file;
  }

  async function* open(): AsyncGenerator<string> {
    const opened = await acquire().catch(failed("open"));
    const { buffer } = await opened.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
    const expectedBytes = Number(/(\d{16})\n$/.exec(buffer.toString())?.[1]);
    if (buffer.toString() !== header(expectedBytes))
      throw damaged("line 1: expected the header of a journal, got another text");
    [syncedBytes, lines] = [headerBytes, 0];
    for await (const line of linesOf(opened)) {
      const prefix = `${++lines} `;
      if (!line.startsWith(prefix)) throw damaged(`line ${lines + 1}: expected number ${lines}, got another`);
      syncedBytes += line.length + 1;
      yield Buffer.from(line.slice(prefix.length), "latin1").toString();
    }
    const { size } = await opened.stat();
    if (syncedBytes < expectedBytes)
      throw damaged(`line ${lines + 2}: expected ${expectedBytes} bytes, got ${size}: its end is missing`);
    if (syncedBytes < size) await opened.truncate(syncedBytes);
    // Lines that were written and not synced count from now on.
    await opened.sync();
  }

  async function requireLock(): Promise<void> {
    const taken = "another process has taken it over, because this one did not renew its lock for a minute";
    if (!(await lock?.isOwn())) throw journalError("JOURNAL_IN_USE", `${path}: ${taken}`);
  }

  async function release(): Promise<void> {
    const [opened, locked] = [file, lock];
    file = lock = undefined;
    await opened?.close().finally(() => locked?.release());
    if (!opened) await locked?.release();
  }

  async function append(entries: readonly string[]): Promise<void> {
    if (!file) throw new Error("it is not open");
    await requireLock();
    const text = entries.map((entry, index) => `${lines + index + 1} ${entry}\n`).join("");
    const bytes = await writeAt(file, text, syncedBytes);
    await writeAt(file, header(syncedBytes), 0);
    await file.datasync();
    // Nothing is sent on the strength of entries that another process does not know.
    await requireLock();
    syncedBytes += bytes;
    lines += entries.length;
  }

  return {
    open,
    append: (entries) => append(entries).catch(failed("write")),
    close() {
      // It may wait for the lock.
      closing.abort();
      return release();
    },
  };
}

async function openOrCreate(path: string): Promise<FileHandle> {
  const { open } = nodeModule("node:fs/promises");
  // Not "a+": on Linux it would write the header at the end.
  return open(path, "r+").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return open(path, "wx+", 0o600);
    throw error;
  });
}

async function makePrivate(file: FileHandle, path: string): Promise<void> {
  const found = await file.stat();
  const privacy = privacyOf(found);
  if (privacy === "foreign") throw new Error(foreignFile(path, found));
  if (privacy === "private") return;
  await file.chmod(0o600);
  warnOfOpenFile(path);
}

/** The header of a new file, or of one whose creation was interrupted; syncs its folder: its name is durable too. */
async function writeNewHeader(file: FileHandle, path: string): Promise<void> {
  const { size } = await file.stat();
  const { buffer } = await file.read(Buffer.alloc(Math.min(size, headerBytes)), 0);
  if (size >= headerBytes || !header(headerBytes).startsWith(buffer.toString())) return;
  await writeAt(file, header(headerBytes), 0);
  await file.sync();
  // Windows has no folders that can be opened.
  if (process.platform === "win32") return;
  const folder = await nodeModule("node:fs/promises").open(path.replace(/[^/\\]*$/, "") || ".");
  await folder.sync().finally(() => folder.close());
}

/** @returns the number of bytes that were written: all of them */
async function writeAt(file: FileHandle, text: string, position: number): Promise<number> {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.byteLength; )
    written += (await file.write(bytes, written, undefined, position + written)).bytesWritten;
  return bytes.byteLength;
}

/** The lines after the header, a character for each byte, without what follows the last line end. */
async function* linesOf(file: FileHandle): AsyncGenerator<string> {
  let rest = "";
  const stream = file.createReadStream({ start: headerBytes, autoClose: false, encoding: "latin1" });
  for await (const text of stream) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
