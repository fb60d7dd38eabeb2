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
import { type ImportJournal, journalError } from "./import-journal.ts";

const header = (syncedBytes: number) =>
  `workspace-tasks journal 1 ${String(syncedBytes).padStart(16, "0")}\n`;
const headerBytes = header(0).length;
const readBytes = 65_536;
const newline = 0x0a;

/**
 * A journal in a file, which is created when it does not exist. Every entry is synced before the import depends on it.
 *
 * One process at a time has it: a file beside it, `<path>.lock`, names the process, and is replaced when that process does
 * not run any more; for a link, it is beside the target. Needs `node:fs`, and a disk of this computer: on a network file
 * system the lock of another computer is respected until it is deleted. Errors, of the import: `JOURNAL_IN_USE`,
 * `JOURNAL_DAMAGED`, `JOURNAL_FAILED`.
 */
export function fileJournal(path: string): ImportJournal {
  let lock: FileLock | undefined;
  let file: FileHandle | undefined;
  let syncedBytes = 0;
  let lines = 0;

  const fail = (what: string) => (cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : "unknown";
    throw journalError("JOURNAL_FAILED", `could not ${what} ${path}: ${reason}`, cause);
  };

  async function acquire(): Promise<FileHandle> {
    const locked = await lockFile(path);
    if (typeof locked === "string") throw journalError("JOURNAL_IN_USE", locked);
    lock = locked;
    file = await openOrCreate(path);
    await writeHeader(file, path);
    return file;
  }

  async function* open(): AsyncGenerator<string> {
    const opened = await acquire().catch((error: unknown) => {
      if ((error as { code?: unknown }).code === "JOURNAL_IN_USE") throw error;
      return fail("open")(error);
    });
    const { size } = await opened.stat();
    const expected = await readHeader(opened, size, path);
    [syncedBytes, lines] = [headerBytes, 0];
    for await (const line of linesOf(opened)) {
      lines += 1;
      const text = line.toString();
      const number = `${lines} `;
      if (!text.startsWith(number))
        throw damaged(path, `line ${lines + 1}: expected number ${lines}, got another`);
      syncedBytes += line.byteLength + 1;
      yield text.slice(number.length);
    }
    if (syncedBytes < expected)
      throw damaged(
        path,
        `line ${lines + 2}: expected ${expected} bytes, got ${syncedBytes}: its end is missing`,
      );
    if (syncedBytes < size) await opened.truncate(syncedBytes);
    // Lines that were written and not synced count from now on.
    await opened.sync();
  }

  async function append(entries: readonly string[]): Promise<void> {
    if (!file) throw new Error("it is not open");
    const text = entries.map((entry, index) => `${lines + index + 1} ${entry}\n`).join("");
    const bytes = Buffer.from(text);
    await writeAll(file, bytes, syncedBytes);
    await writeAll(file, Buffer.from(header(syncedBytes)), 0);
    await file.datasync();
    syncedBytes += bytes.byteLength;
    lines += entries.length;
  }

  return {
    open,
    append: (entries) => append(entries).catch(fail("write")),
    async close() {
      const [opened, locked] = [file, lock];
      file = lock = undefined;
      await opened?.close().finally(() => locked?.release());
      if (!opened) await locked?.release();
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

/** Writes the header of a new file, or of one whose creation was interrupted, and syncs its folder: its name is durable too. */
async function writeHeader(file: FileHandle, path: string): Promise<void> {
  const { size } = await file.stat();
  if (size >= headerBytes || !(await startsLikeHeader(file, size))) return;
  await writeAll(file, Buffer.from(header(headerBytes)), 0);
  await file.sync();
  await syncFolder(path);
}

async function startsLikeHeader(file: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(size), 0, size, 0);
  return header(headerBytes).startsWith(buffer.toString());
}

async function syncFolder(path: string): Promise<void> {
  // Windows has no folders that can be opened.
  if (process.platform === "win32") return;
  const folder = await nodeModule("node:fs/promises").open(path.replace(/[^/\\]*$/, "") || ".");
  await folder.sync().finally(() => folder.close());
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.byteLength - written, position + written);
    written += bytesWritten;
  }
}

/** @returns the number of bytes that the file must have */
async function readHeader(file: FileHandle, size: number, path: string): Promise<number> {
  const { buffer } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
  const syncedBytes = Number(/(\d{16})\n$/.exec(buffer.toString())?.[1]);
  if (buffer.toString() !== header(syncedBytes))
    throw damaged(path, "line 1: expected the header of a journal, got another text");
  if (size < syncedBytes)
    throw damaged(path, `expected at least ${syncedBytes} bytes, got ${size}: its end is missing`);
  return syncedBytes;
}

/** The lines after the header, without what follows the last line end. */
async function* linesOf(file: FileHandle): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for (let position = headerBytes; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(readBytes), 0, readBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    let start = 0;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline, start)) {
      yield rest.subarray(start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
  }
}

const damaged = (path: string, problem: string) =>
  journalError("JOURNAL_DAMAGED", `${path}: ${problem}; restore the file, or start with a new one`);
