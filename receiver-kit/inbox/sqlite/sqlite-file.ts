// The database file: who may read it, why it cannot be opened, and whether it is still the one that was opened. SQLite
// itself does not notice a file that is deleted or replaced, and commits into what no path leads to any more.

import { closeSync, openSync, statSync } from "node:fs";
import path from "node:path";
import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import { isReceiverError, ReceiverError } from "../../errors.ts";
import { type SqliteConnection, type SqliteOpener, sqliteErrorCode } from "./sqlite-driver.ts";
import { migrateSqlite } from "./sqlite-migrations.ts";

export class SqliteFile {
  readonly #path: string;
  /** Device and number of the file that was opened first. */
  #identity: string | undefined;

  constructor(filePath: string) {
    this.#path = filePath;
  }

  /** @throws {ReceiverError} `INBOX_OPEN_FAILED`, `INBOX_FILE_LOST`, `RELEASE_TOO_OLD`; SQLITE_BUSY as it is */
  open(opener: SqliteOpener): SqliteConnection {
    this.check();
    let connection: SqliteConnection | undefined;
    try {
      createPrivateFile(this.#path);
      connection = checkConnection(opener(this.#path));
      configure(connection);
      migrateSqlite(connection);
    } catch (error) {
      connection?.close();
      throw isReceiverError(error) || sqliteErrorCode(error).startsWith("SQLITE_BUSY")
        ? error
        : openFailed(this.#path, error);
    }
    this.#identity ??= identityOf(this.#path);
    return connection;
  }

  /** @throws {ReceiverError} `INBOX_FILE_LOST` when the path does not lead to the file that was opened */
  check(): void {
    if (this.#identity === undefined) return;
    const found = identityOf(this.#path);
    if (found === this.#identity) return;
    throw new ReceiverError(
      "INBOX_FILE_LOST",
      `sqlite inbox: ${JSON.stringify(this.#path)} was ${found === undefined ? "deleted" : "replaced"} while it was open; nothing is acknowledged until it is back, or until a restart opens what is there then`,
    );
  }

  /** The next `open` takes the file that is there then. */
  forget(): void {
    this.#identity = undefined;
  }
}

/** A function of the application opened it. */
function checkConnection(given: unknown): SqliteConnection {
  const { query, close } = (given ?? {}) as Partial<SqliteConnection>;
  if (typeof query === "function" && typeof close === "function") return given as SqliteConnection;
  callSafely(() => given);
  throw new Error("driver: expected the function to return a connection, and no promise of one");
}

function configure(connection: SqliteConnection): void {
  // Takes effect on a new file only. A commit writes whole pages, and one event changes about 18 of them: 45 KB with
  // pages of 2 KB, 78 with 4, 282 with 16. To store a burst of bodies of 100 KB costs twice the CPU time of 16 KB.
  connection.query("PRAGMA page_size = 2048");
  connection.query("PRAGMA journal_mode = WAL");
  connection.query("PRAGMA synchronous = FULL");
  // In pages: 8 MB. Pages that many commits change are then copied into the file less often.
  connection.query("PRAGMA wal_autocheckpoint = 4000");
  // In KiB. Pages that do not fit are written before their commit, some of them twice: with SQLite's own 2 MB a
  // commit of large bodies took a tenth longer.
  connection.query("PRAGMA cache_size = -16384");
  // SQLite's wait blocks the event loop: 5 ms are enough for another's commit, the writer waits for longer ones.
  connection.query("PRAGMA busy_timeout = 5");
}

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

/** The bodies are data of clients. SQLite gives its -wal and -shm files the mode of the database. */
function createPrivateFile(filePath: string): void {
  if (!isPlainPath(filePath)) return;
  try {
    closeSync(openSync(filePath, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
  }
}

const isPlainPath = (filePath: string) => filePath !== ":memory:" && !filePath.startsWith("file:");

/** Undefined when there is no such file. */
function identityOf(filePath: string): string | undefined {
  if (!isPlainPath(filePath)) return undefined;
  const found = statSync(filePath, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
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
  const found = isPlainPath(filePath) ? statSync(filePath, { throwIfNoEntry: false }) : undefined;
  if (found?.isDirectory()) return "it is a directory; expected a file";
  if (isPlainPath(filePath) && !statSync(folder, { throwIfNoEntry: false })) {
    return `the directory ${JSON.stringify(folder)} does not exist; create it, or correct the path`;
  }
  const code = sqliteErrorCode(cause);
  const known = reasons.find(([pattern]) => pattern.test(code));
  return known?.[1] ?? (cause instanceof Error ? cause.message : String(cause));
}

const reasons: readonly (readonly [code: RegExp, reason: string])[] = [
  [
    /NOTADB|CORRUPT/,
    "it is not a SQLite database, or it is damaged or encrypted; restore a backup, or give another path",
  ],
  [
    /READONLY|EROFS/,
    "it may not be written; remount the file system for writing, or use another path, and grant the permission to write to the file and its directory",
  ],
  [
    /CANTOPEN|EACCES|EPERM/,
    "permission denied; let the user of this process read and write the file and its directory",
  ],
  [/FULL|ENOSPC|EDQUOT/, "the disk is full; free some of it"],
];
