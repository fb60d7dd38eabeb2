// Copies of the file of a SQLite inbox. Both commands copy by SQLite, into a file of its own that is checked and on disk
// before it gets its name.

import * as fs from "node:fs";
import path from "node:path";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { ReceiverError } from "../../errors.ts";
import { loadSqliteDriver, type SqliteOpener, sqliteErrorCode } from "./sqlite-driver.ts";
import { checkContent } from "./sqlite-file.ts";

/** Copies the inbox, while receivers may use it, into a new file for its owner only. Returns its size. */
export async function backUpSqlite(file: string, backup: string): Promise<number> {
  return copyChecked(await loadSqliteDriver(), file, backup);
}

/**
 * Puts a backup in the place of the inbox, which no process may use. Its -wal and -shm go, as SQLite would take them for
 * those of the backup; what was there before is kept as `.replaced`. Returns the size.
 */
export async function restoreSqlite(file: string, backup: string): Promise<number> {
  const opener = await loadSqliteDriver();
  const before = fs.statSync(file, { throwIfNoEntry: false });
  if (before) throwIfUsed(opener, file);
  const copy = `${file}.restoring`;
  fs.rmSync(copy, { force: true });
  const bytes = copyChecked(opener, backup, copy);
  const replaced = `${file}.replaced`;
  for (const suffix of ["", "-wal", "-shm"]) fs.rmSync(replaced + suffix, { force: true });
  if (fs.existsSync(`${file}-wal`)) fs.renameSync(`${file}-wal`, `${replaced}-wal`);
  fs.rmSync(`${file}-shm`, { force: true });
  if (before) {
    fs.chmodSync(copy, before.mode & 0o770);
    if (process.getuid?.() === 0) fs.chownSync(copy, before.uid, before.gid);
    fs.linkSync(file, replaced);
  }
  fs.renameSync(copy, file);
  syncToDisk(path.dirname(file));
  return bytes;
}

function copyChecked(opener: SqliteOpener, from: string, to: string): number {
  try {
    fs.closeSync(fs.openSync(to, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
    throw copyFailed(`${to} exists already; give the name of a new file`);
  }
  try {
    // Not by one that may write: the last one would write a foreign -wal into the file when it is closed.
    const connection = opener(from, { isReadOnly: true });
    try {
      connection.query(`PRAGMA busy_timeout = ${waitMs}`);
      connection.query("VACUUM INTO ?", [to]);
    } finally {
      connection.close();
    }
    checkContent(to, opener, { isBackup: true });
    syncToDisk(to);
    syncToDisk(path.dirname(to));
    return fs.statSync(to).size;
  } catch (cause) {
    fs.rmSync(to, { force: true });
    const reason = isError(cause) ? cause.message : String(cause);
    throw copyFailed(`${from} cannot be copied: ${reason}`, cause);
  }
}

/** Closing then writes the -wal into the file. A damaged file has no process that writes to it. */
function throwIfUsed(opener: SqliteOpener, file: string): void {
  const connection = opener(file);
  try {
    connection.query("PRAGMA busy_timeout = 0");
    connection.query("PRAGMA locking_mode = EXCLUSIVE");
    connection.exec("BEGIN EXCLUSIVE");
    connection.exec("ROLLBACK");
    connection.query("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (!sqliteErrorCode(error).startsWith("SQLITE_BUSY")) return;
    throw copyFailed(`${file} is in use; stop the receivers and other programs that have it open`);
  } finally {
    connection.close();
  }
}

const copyFailed = (message: string, cause?: unknown) =>
  new ReceiverError("INBOX_OPEN_FAILED", message, { cause });

function syncToDisk(name: string): void {
  const opened = fs.openSync(name, "r");
  try {
    fs.fsyncSync(opened);
  } catch (error) {
    // Windows does not sync folders.
    if (process.platform !== "win32") throw error;
  } finally {
    fs.closeSync(opened);
  }
}

const waitMs = 20_000;
