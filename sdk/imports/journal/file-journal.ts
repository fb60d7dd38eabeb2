// The file: a numbered line for each entry.
//
//   1 ["import",1,"…"]
//
// What follows the last line end is the rest of a write that did not end, and is cut off. A file whose end is lost is an older
// journal: an import asks the service about what it does not show.

import type { FileHandle } from "node:fs/promises";
import { type FileLock, lockFile } from "@workspace-tasks/kernel/file-lock.ts";
import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { foreignFile, privacyOf, warnOfOpenFile } from "@workspace-tasks/kernel/private-file.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../../errors.ts";
import { type ImportJournal, journalError } from "./import-journal.ts";

// A crash can leave zeros where nothing was written yet.
const tornStart = /^(\0*|1|1 |1 \[.*)$/s;

/**
 * A journal in a file, which is created when it does not exist. Every entry is synced before the import depends on it.
 *
 * One process at a time has it: a file beside it, `<path>.lock`, names the process, which rewrites it every 10 s; for a link,
 * it is beside the target. A process that was killed here is replaced at once, one in another container or on another
 * computer after its lock did not change for a minute. A process that was halted for so long ends with `JOURNAL_IN_USE`
 * when it continues, within a write with `JOURNAL_FAILED`; only one that was halted between its look at the lock and the
 * write itself may add a line to those of its successor, whose next process then reports `JOURNAL_DAMAGED`. A file that has
 * lost its end is used as one that is older. A file of another user is not used. Needs `node:fs`.
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
  let lines = 0;

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
    file = await nodeModule("node:fs/promises").open(path, "a+", 0o600);
    await makePrivate(file, path);
    return file;
  }

  async function* open(): AsyncGenerator<string> {
    const opened = await acquire().catch(failed("open"));
    const { size } = await opened.stat();
    let rest = "";
    lines = 0;
    for await (const text of textOf(opened, size)) {
      const complete = (rest + text).split("\n");
      rest = complete.pop() ?? "";
      for (const line of complete) {
        const prefix = `${++lines} `;
        if (!line.startsWith(prefix)) throw damaged(`line ${lines}: expected number ${lines}, got another`);
        yield Buffer.from(line.slice(prefix.length), "latin1").toString();
      }
    }
    if (lines === 0 && !tornStart.test(rest))
      throw damaged("line 1: expected the first entry of a journal, got another text");
    if (rest !== "") await opened.truncate(size - rest.length);
    // Lines that were written and not synced count from now on.
    await (lines === 0 ? syncFolderOf(path) : opened.sync());
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
    await file.appendFile(text);
    await file.datasync();
    // Nothing is sent on the strength of entries that another process does not know.
    await requireLock();
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

async function makePrivate(file: FileHandle, path: string): Promise<void> {
  const found = await file.stat();
  const privacy = privacyOf(found);
  if (privacy === "foreign") throw new Error(foreignFile(path, found));
  if (privacy === "private") return;
  await file.chmod(0o600);
  warnOfOpenFile(path);
}

/** The name of a new file is durable too. */
async function syncFolderOf(path: string): Promise<void> {
  // Windows has no folders that can be opened.
  if (process.platform === "win32") return;
  const folder = await nodeModule("node:fs/promises").open(path.replace(/[^/\\]*$/, "") || ".");
  await folder.sync().finally(() => folder.close());
}

/** A character for each byte. No more than the file has: a device may have no end. */
const textOf = (file: FileHandle, size: number): AsyncIterable<string> | readonly string[] =>
  size === 0 ? [] : file.createReadStream({ start: 0, end: size - 1, autoClose: false, encoding: "latin1" });
