// The database file. SQLite itself does not notice a file that is deleted, replaced or overwritten, nor a -wal that was
// removed or is of another file: it commits into what no path leads to any more, or into damaged pages. So
//
//   at opening     owner and mode are checked, and what is read: all of a small file, the newest rows of a large one
//   after commits  the path and the -wal must lead to what was opened, and the -wal must have its beginning, or nothing of
//                  the commit is acknowledged
//   with commits   only checkpoints write the file, and this process makes its own between commits. One that has changed
//                  otherwise may have been overwritten (`cp`), or another process made a checkpoint: it is opened and
//                  checked again before anything is acknowledged
//   at any time    what SQLite calls damaged stays so until a restart
//
// The file is never opened here but through SQLite: to close it would release the locks of all connections of the process. They
// are on the file and the -shm.

import * as fs from "node:fs";
import path from "node:path";
import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import { foreignFile, privacyOf, warnOfOpenFile } from "@workspace-tasks/kernel/private-file.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isReceiverError, ReceiverError } from "../../errors.ts";
import { type SqliteConnection, type SqliteOpener, sqliteErrorCode } from "./sqlite-driver.ts";
import { migrateSqlite, sqliteTables } from "./sqlite-migrations.ts";

export class SqliteFile {
  readonly #path: string;
  /** The files that were opened: device and number. */
  #main: string | undefined;
  #wal: string | undefined;
  /** Size of the -wal at the last checkpoint. */
  #checkpointedBytes = 0;
  /** Size and time of change at the last check. */
  #state: string | undefined;
  /** The newest row at the last commit: a backup that was copied over the file can fit all that is written later. */
  #newest = 0;
  /** Holds until `close`. */
  #fault: ReceiverError | undefined;

  /** @param filePath absolute */
  constructor(filePath: string) {
    this.#path = filePath;
  }

  /** @throws {ReceiverError} `INBOX_OPEN_FAILED`, `INBOX_FILE_LOST`, `INBOX_FILE_DAMAGED`, `RELEASE_TOO_OLD`; SQLITE_BUSY as it is */
  open(opener: SqliteOpener): SqliteConnection {
    if (this.#fault) throw this.#fault;
    if (this.#main !== undefined) this.#checkPath();
    let connection: SqliteConnection | undefined;
    let state: string | undefined;
    try {
      createPrivateFile(this.#path);
      const wereOpen = suffixes.filter((suffix) => makePrivate(this.#path + suffix));
      state = stateOf(this.#path);
      // One that the application has created for tables of its own holds nothing of the inbox yet.
      if (checkContent(this.#path, opener) && wereOpen.length > 0) warnOfOpenFile(this.#path);
      connection = checkConnection(opener(this.#path));
      configure(connection);
      migrateSqlite(connection);
    } catch (error) {
      connection?.close();
      if (isReceiverError(error) || isBusy(error)) throw error;
      throw this.#main === undefined ? openFailed(this.#path, error) : this.explain(error);
    }
    this.#main ??= identityOf(this.#path);
    this.#wal = this.#walIdentity();
    this.#checkpointedBytes = 0;
    this.#state = state;
    this.#newest = newestOf(connection);
    return connection;
  }

  /** Commits. Throws also when the commit is not in the files that the paths name: then nothing may be acknowledged. */
  commit(connection: SqliteConnection, opener: SqliteOpener): void {
    if (this.#fault) throw this.#fault;
    connection.exec("COMMIT");
    this.#checkPath();
    const wal = this.#walIdentity();
    if (wal !== this.#wal) {
      // What they had is saved, unless another process may have begun others.
      if (!wal.split(",").every(Boolean)) checkpoint(connection);
      const consequence = "nothing is acknowledged until a restart";
      this.#fault = fileLost(`${this.#path}-wal or -shm`, "removed", consequence);
      throw this.#fault;
    }
    if (isEmptied(`${this.#path}-wal`)) throw this.explain(damaged("its -wal was emptied"));
    // By `cp`, or by a checkpoint of another process: a commit writes the -wal alone.
    const state = stateOf(this.#path);
    if (state !== this.#state) {
      this.#checkAgain(opener);
      // What this connection remembers may be of pages that the file has no more.
      connection.query("PRAGMA shrink_memory");
    }
    this.#state = state;
    this.#newest = newestOf(connection);
    this.#keepWalShort(connection, opener);
  }

  /** A -wal that has grown is full of pages that are not in the file yet; one that has not is written from its start. */
  #keepWalShort(connection: SqliteConnection, opener: SqliteOpener): void {
    const bytes = sizeOf(`${this.#path}-wal`);
    // SQLite has cut it.
    this.#checkpointedBytes = Math.min(this.#checkpointedBytes, bytes);
    // Another process that reads for long keeps its pages there: not each commit tries again.
    if (bytes < Math.max(walBytesMax, this.#checkpointedBytes + walGrowthBytes)) return;
    this.#checkpointedBytes = bytes;
    try {
      connection.query("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // A full disk, say: the rows stay in the -wal, and the next commit tries again.
    }
    // What happened to the file meanwhile does not show in its state.
    this.#checkAgain(opener, !hasHoles(this.#path));
    this.#state = stateOf(this.#path);
  }

  /** SQLite writes its -wal into the file when the last connection is closed: here only when the file is as it should be. */
  disconnect(connection: SqliteConnection, opener: SqliteOpener): void {
    try {
      const keeper = this.isDamaged ? openToRead(this.#path, opener) : undefined;
      connection.close();
      keeper?.close();
    } catch {
      // A broken connection may fail to close; it is dropped either way.
    }
  }

  #checkAgain(opener: SqliteOpener, isSample = false): void {
    try {
      checkContent(this.#path, opener, { newest: this.#newest, isSample });
    } catch (error) {
      throw this.explain(error);
    }
  }

  #checkPath(): void {
    const found = identityOf(this.#path);
    if (found === this.#main) return;
    throw fileLost(
      this.#path,
      found === undefined ? "deleted" : "replaced",
      "nothing is acknowledged until it is back, or until a restart opens what is there then",
    );
  }

  #walIdentity(): string {
    return [`${this.#path}-wal`, `${this.#path}-shm`].map(identityOf).join();
  }

  /** What an error of SQLite means, with the path and what to do. One that says that the file is damaged holds until `close`. */
  explain(error: unknown): unknown {
    if (isReceiverError(error)) return error;
    if (isDamage(error)) this.#fault ??= fileDamaged(this.#path, error);
    if (isDamage(error)) return this.#fault;
    return isUnusable(error) ? openFailed(this.#path, error) : error;
  }

  get isDamaged(): boolean {
    return isReceiverError(this.#fault, "INBOX_FILE_DAMAGED");
  }

  /**
   * The next `open` takes the file that is there then. The -wal of a file that was replaced is put aside: SQLite would
   * take it for that of the new one.
   */
  close(): void {
    const found = identityOf(this.#path);
    const isReplaced = this.#main !== undefined && found !== undefined && found !== this.#main;
    if (isReplaced && this.#walIdentity() === this.#wal) {
      fs.renameSync(`${this.#path}-wal`, `${this.#path}-wal.lost`);
      fs.rmSync(`${this.#path}-shm`, { force: true });
    }
    this.#main = undefined;
    this.#fault = undefined;
  }
}

const suffixes = ["", "-wal", "-shm"] as const;

/**
 * The path of a database file, absolute: checks, permissions and drivers then mean the same file, also after a change of
 * the working directory. Drivers take some names for something else: a URI, a database in memory, a name without spaces.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function resolveSqlitePath(given: string): string {
  const instead = insteadOf(given);
  if (instead === undefined) return path.resolve(given);
  throw new ReceiverError(
    "CONFIGURATION_INVALID",
    `sqliteInbox: path: expected the path of a file, got ${JSON.stringify(given)}: ${instead}`,
  );
}

function insteadOf(given: string): string | undefined {
  const withoutQuery = given.replace(/[?#].*$/s, "");
  if (given === ":memory:" || /[?&]mode=memory\b/.test(given) || withoutQuery === "file::memory:") {
    return "use memoryInbox(), which is for tests";
  }
  const file = /^file:(?:\/\/(?:localhost)?(?=\/))?(.*)$/is.exec(withoutQuery)?.[1];
  if (file !== undefined) return `write ${JSON.stringify(file)}`;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(given)) return "a database on a server cannot be used";
  if (/^(["']).*\1$/s.test(given)) return "remove the quotes around it, which docker --env-file keeps";
  if (given !== given.trim() || given.includes("\0"))
    return "remove the spaces around it, and null characters";
  return undefined;
}

/** A function of the application opened it: a database of a package has other methods. */
function checkConnection(given: unknown): SqliteConnection {
  const connection = given as Partial<SqliteConnection> | null | undefined;
  const missing = connectionMethods.find((name) => typeof connection?.[name] !== "function");
  if (missing === undefined) return connection as SqliteConnection;
  callSafely(() => given);
  throw new Error(
    `driver: expected the function to return a SqliteConnection, got ${describeValue(given)} without the method ${missing}`,
  );
}

const connectionMethods = [
  "exec",
  "query",
  "rowsPrepared",
  "firstPrepared",
  "changePrepared",
  "insertPrepared",
  "isInTransaction",
  "close",
] as const;

function configure(connection: SqliteConnection): void {
  // Takes effect on a new file only. A commit writes whole pages, and one event changes about 18 of them: 45 KB with
  // pages of 2 KB, 78 with 4, 282 with 16. To store a burst of bodies of 100 KB costs twice the CPU time of 16 KB.
  connection.query("PRAGMA page_size = 2048");
  connection.query("PRAGMA journal_mode = WAL");
  connection.query("PRAGMA synchronous = FULL");
  // A checkpoint within a commit could not be told from a file that is overwritten at this moment.
  connection.query("PRAGMA wal_autocheckpoint = 0");
  // A reader that stays open lets the -wal grow; it is cut again after the next checkpoint.
  connection.query(`PRAGMA journal_size_limit = ${walBytesMax}`);
  // In KiB. Pages that do not fit are written before their commit, some of them twice: with SQLite's own 2 MB a
  // commit of large bodies took a tenth longer.
  connection.query("PRAGMA cache_size = -16384");
  // SQLite's wait blocks the event loop: 5 ms are enough for another's commit, the writer waits for longer ones.
  connection.query("PRAGMA busy_timeout = 5");
}

// Pages that many commits change are copied into the file less often the longer the -wal may be.
const walBytesMax = 8 * 1024 * 1024;
const walGrowthBytes = 1024 * 1024;

/**
 * Copies everything into the file itself, so that the file alone is the whole inbox. Other processes that use the file
 * at this moment may prevent it; the last one to close does it.
 */
export function checkpoint(connection: SqliteConnection): void {
  try {
    connection.query(`PRAGMA busy_timeout = ${checkpointTimeoutMs}`);
    connection.query("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // A full disk, say: the rows stay in the -wal file, where the next process finds them.
  }
}

const checkpointTimeoutMs = 1_000;

interface ContentCheck {
  readonly isBackup?: boolean;
  /** The newest row that was committed to a file in use. */
  readonly newest?: number;
  readonly isSample?: boolean;
}

/**
 * Finds what a -wal of another file, a file that was overwritten while it was open, and missing pages do: pages that are of
 * something else. A small file is read as a whole; of a large one its newest and its waiting rows, by each of their indexes.
 *
 * By a connection that may not write: the last one that may would write a foreign -wal into the file when it is closed.
 *
 * @returns whether it has an inbox
 */
export function checkContent(
  filePath: string,
  opener: SqliteOpener,
  { isBackup = false, newest, isSample = false }: ContentCheck = {},
): boolean {
  const bytes = sizeOf(filePath);
  const wasInUse = newest !== undefined;
  if (bytes + sizeOf(`${filePath}-wal`) === 0 && !isBackup && !wasInUse) return false;
  const connection = openToRead(filePath, opener);
  try {
    if (isBackup || (bytes <= wholeCheckBytesMax && !isSample)) {
      const found = Object.values(connection.query("PRAGMA quick_check(1)")[0] ?? {})[0];
      if (found !== "ok") throw damaged(String(found));
    }
    const hasInbox = connection.query(`SELECT 1 FROM sqlite_master WHERE name = '${queue}'`).length > 0;
    if (isBackup && !hasInbox) throw new Error("it has no inbox");
    // The file was emptied, and its -wal does not have all that was in it.
    if (wasInUse && !hasInbox) throw damaged("it has no inbox any more");
    if (!hasInbox) return false;
    if (Number(connection.query(countWrong)[0]?.["wrong"]) > 0)
      throw damaged("rows are not found by their ids");
    if (wasInUse && newestOf(connection) < newest) throw damaged("its newest row is missing");
    return true;
  } finally {
    connection.close();
  }
}

/**
 * Whether a file that may be another program's has an inbox. Changes nothing.
 *
 * @throws {ReceiverError} `INBOX_OPEN_FAILED`; SQLITE_BUSY as it is
 */
export function hasInbox(filePath: string, opener: SqliteOpener): boolean {
  try {
    return checkContent(filePath, opener, { isSample: true });
  } catch (error) {
    throw isBusy(error) ? error : openFailed(filePath, error);
  }
}

const isBusy = (error: unknown) => sqliteErrorCode(error).startsWith("SQLITE_BUSY");

function openToRead(filePath: string, opener: SqliteOpener): SqliteConnection {
  const connection = checkConnection(opener(filePath, { isReadOnly: true }));
  connection.query("PRAGMA busy_timeout = 5");
  return connection;
}

// About 90 ms.
const wholeCheckBytesMax = 32 * 1024 * 1024;

const { deliveries, keys, queue } = sqliteTables;
const countWrong = `
  SELECT (
    SELECT count(*) FROM (SELECT seq, source, webhook_id FROM ${deliveries} ORDER BY seq DESC LIMIT 500) AS newest
    WHERE newest.seq IS NOT (
      SELECT seq FROM ${deliveries} AS found
      WHERE found.source = newest.source AND found.webhook_id = newest.webhook_id)
  ) + (
    SELECT count(*) FROM (SELECT key_id, seq FROM ${queue} LIMIT 500) AS waiting
    WHERE NOT EXISTS (SELECT 1 FROM ${keys} WHERE id = waiting.key_id)
      OR NOT EXISTS (SELECT 1 FROM ${deliveries} AS delivery WHERE delivery.seq = waiting.seq)
  ) AS wrong`;

const newestOf = (connection: SqliteConnection) =>
  Number(connection.query(`SELECT max(seq) AS newest FROM ${deliveries}`)[0]?.["newest"] ?? 0);

const damaged = (reason: string) => Object.assign(new Error(reason), { code: "SQLITE_CORRUPT" });

/** Not of a virtual table, whose content is the application's. */
export const isDamage = (error: unknown) => /^SQLITE_(CORRUPT(?!_VTAB)|NOTADB)/.test(sqliteErrorCode(error));

const isUnusable = (error: unknown) => /^SQLITE_(READONLY|CANTOPEN)/.test(sqliteErrorCode(error));

/** The bodies are data of clients. SQLite gives its -wal and -shm files the mode of the database. */
function createPrivateFile(filePath: string): void {
  try {
    fs.closeSync(fs.openSync(filePath, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
  }
}

/** @returns whether it was open to other users */
function makePrivate(filePath: string): boolean {
  const found = fs.statSync(filePath, { throwIfNoEntry: false });
  // Without its mode /dev/null is of no use to the other users.
  if (!found?.isFile()) return false;
  const privacy = privacyOf(found);
  if (privacy === "foreign") throw codedError("EOWNER", foreignFile(filePath, found));
  if (privacy === "private") return false;
  try {
    fs.chmodSync(filePath, 0o600);
    return true;
  } catch (cause) {
    if ((found.mode & 0o002) !== 0)
      throw codedError("EMODE", `everybody may write ${JSON.stringify(filePath)}`);
    // A file of root that others may read, on a file system that is read-only.
    if ((cause as { code?: unknown }).code !== "EPERM" && (cause as { code?: unknown }).code !== "EROFS")
      throw cause;
    return false;
  }
}

const codedError = (code: string, message: string) => Object.assign(new Error(message), { code });

/** Undefined when there is no such file. */
function identityOf(filePath: string): string | undefined {
  const found = fs.statSync(filePath, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

function stateOf(filePath: string): string | undefined {
  const found = fs.statSync(filePath, { bigint: true, throwIfNoEntry: false });
  return found && `${found.size} ${found.mtimeNs}`;
}

/** As a file has that was cut before a checkpoint made it long again, or one on a file system that compresses. */
function hasHoles(filePath: string): boolean {
  const found = fs.statSync(filePath, { throwIfNoEntry: false });
  return found !== undefined && found.blocks * 512 < found.size;
}

/** SQLite writes behind what was there, and ignores at the next opening a -wal that does not begin with its mark. */
function isEmptied(wal: string): boolean {
  if (!hasHoles(wal)) return false;
  const mark = Buffer.alloc(4);
  const opened = fs.openSync(wal, "r");
  try {
    fs.readSync(opened, mark);
  } finally {
    fs.closeSync(opened);
  }
  return mark.readUInt32BE() === 0;
}

const sizeOf = (filePath: string) => fs.statSync(filePath, { throwIfNoEntry: false })?.size ?? 0;

function fileLost(filePath: string, what: string, consequence: string): ReceiverError {
  const message = `sqlite inbox: ${JSON.stringify(filePath)} was ${what} while it was open; ${consequence}`;
  return new ReceiverError("INBOX_FILE_LOST", message);
}

function fileDamaged(filePath: string, cause: unknown): ReceiverError {
  return new ReceiverError(
    "INBOX_FILE_DAMAGED",
    `sqlite inbox: ${JSON.stringify(filePath)} is damaged, or was overwritten while it was open (${messageOf(cause)}); nothing is acknowledged any more: stop the receiver, restore a backup by workspace-tasks-inbox restore, start it`,
    { cause },
  );
}

/** The drivers' own messages have neither the path nor what to do. */
function openFailed(filePath: string, cause: unknown): ReceiverError {
  return new ReceiverError(
    "INBOX_OPEN_FAILED",
    `sqlite inbox: cannot open ${JSON.stringify(filePath)}: ${reasonOf(filePath, cause)}`,
    { cause },
  );
}

function reasonOf(filePath: string, cause: unknown): string {
  const folder = path.dirname(filePath);
  const found = fs.statSync(filePath, { throwIfNoEntry: false });
  if (found?.isDirectory()) return "it is a directory; expected a file";
  if (!fs.statSync(folder, { throwIfNoEntry: false })) {
    return `the directory ${JSON.stringify(folder)} does not exist; create it, or correct the path`;
  }
  if (isDamage(cause) && sizeOf(`${filePath}-wal`) > 0) return `${damagedReason} (${messageOf(cause)})`;
  const code = sqliteErrorCode(cause);
  const known = reasons.find(([pattern]) => pattern.test(code));
  return known ? known[1].replace("%s", messageOf(cause)) : messageOf(cause);
}

const messageOf = (error: unknown) => (isError(error) ? error.message : String(error));

const damagedReason =
  "it is damaged, or the -wal beside it is of another file, as when a backup was put in its place; restore a backup by workspace-tasks-inbox restore, which removes -wal and -shm";

const reasons: readonly (readonly [code: RegExp, reason: string])[] = [
  [
    /NOTADB|CORRUPT/,
    "it is not a SQLite database, or it is damaged or encrypted (%s); restore a backup by workspace-tasks-inbox restore, or give another path",
  ],
  [
    /READONLY|EROFS/,
    "it may not be written; remount the file system for writing, or use another path, and grant the permission to write to the file and its directory",
  ],
  [/EOWNER/, "%s"],
  [/EMODE/, "%s; take the permission away (chmod 600), or use another path"],
  [
    /CANTOPEN|EACCES|EPERM/,
    "permission denied; let the user of this process read and write the file and its directory",
  ],
  [/FULL|ENOSPC|EDQUOT/, "the disk is full; free some of it"],
];
