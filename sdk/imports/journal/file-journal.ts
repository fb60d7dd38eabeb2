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
import * as s from "@workspace-tasks/kernel/schema.ts";
import { WorkspaceTasksError } from "../../errors.ts";
import { type ImportJournal, journalError, type OpenJournal } from "./import-journal.ts";

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
  return {
    async open(signal) {
      const lock = await lockFile(path, { signal });
      if (typeof lock === "string") throw journalError("JOURNAL_IN_USE", lock);
      try {
        return await openFile(path, lock);
      } catch (error) {
        await lock.release();
        throw error;
      }
    },
  };
}

async function openFile(path: string, lock: FileLock): Promise<OpenJournal> {
  const file = await nodeModule("node:fs/promises").open(path, "a+", 0o600);
  await makePrivate(file, path).catch(async (error: unknown) => {
    await file.close();
    throw error;
  });
  let lines = 0;

  const damaged = (problem: string) =>
    journalError("JOURNAL_DAMAGED", `${path}: ${problem}; restore the file, or start with a new one`);

  async function requireLock(): Promise<void> {
    const taken = "another process has taken it over, because this one did not renew its lock for a minute";
    if (!(await lock.isOwn())) throw journalError("JOURNAL_IN_USE", `${path}: ${taken}`);
  }

  return {
    async *read() {
      const bytes = await file.readFile();
      let start = 0;
      for (let end = bytes.indexOf("\n"); end >= 0; end = bytes.indexOf("\n", start)) {
        const prefix = `${++lines} `;
        const line = bytes.toString("utf8", start, end);
        if (!line.startsWith(prefix)) throw damaged(`line ${lines}: expected number ${lines}, got another`);
        yield line.slice(prefix.length);
        start = end + 1;
      }
      if (lines === 0 && !tornStart.test(bytes.toString("latin1")))
        throw damaged("line 1: expected the first entry of a journal, got another text");
      if (start < bytes.length) await file.truncate(start);
      // Lines that were written and not synced count from now on.
      await (lines === 0 ? syncFolderOf(path) : file.sync());
    },
    async append(entries) {
      await requireLock();
      const text = entries.map((entry, index) => `${lines + index + 1} ${entry}\n`).join("");
      await file.appendFile(text);
      await file.datasync();
      // Nothing is sent on the strength of entries that another process does not know.
      await requireLock();
      lines += entries.length;
    },
    close: () => file.close().finally(() => lock.release()),
  };
}

async function makePrivate(file: FileHandle, path: string): Promise<void> {
  const found = await file.stat();
  // Without its mode /dev/null is of no use to the other users.
  if (!found.isFile()) throw new Error(`expected a file at ${JSON.stringify(path)}, got something else`);
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
