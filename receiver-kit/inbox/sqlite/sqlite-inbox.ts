import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../../errors.ts";
import { defaults, parseOptions, sharedOptions } from "../../options.ts";
import * as core from "../core/core.ts";
import type { Inbox, InboxStore } from "../inbox.ts";
import { failedEnd, type RowEnd, settledEnd, settleOutcome } from "../row-end.ts";
import { createPurge } from "../sql/retention.ts";
import { type SqlValue, sqlReads } from "../sql/sql-reads.ts";
import {
  loadSqliteDriver,
  type SqliteConnection,
  type SqliteDriverName,
  type SqliteOpener,
  type SqliteValue,
  sqliteDriverNames,
} from "./sqlite-driver.ts";
import { checkpoint, resolveSqlitePath, SqliteFile } from "./sqlite-file.ts";
import { beginSqliteWrite } from "./sqlite-migrations.ts";
import { sqliteDialect } from "./sqlite-records.ts";
import { SqliteStorage } from "./sqlite-storage.ts";
import { beginSqliteTransaction, type SqliteTransaction } from "./sqlite-transaction.ts";
import { SqliteWriter } from "./sqlite-writer.ts";

export interface SqliteInboxOptions {
  /** The database file; created when absent. It may contain the application's own tables too. */
  readonly path: string;
  /**
   * Default: the first of `libsql`, `better-sqlite3` and `node:sqlite` that can be loaded. Or a function that opens a file and
   * returns a `SqliteConnection`: an object of yours with these methods, around the database of a package.
   */
  readonly driver?: SqliteDriverName | SqliteOpener | undefined;
  /** How long to retry while another process has the file's write lock. Default 5,000. */
  readonly busyTimeoutMs?: number | undefined;
  /**
   * How long a handler may keep its transaction open. SQLite has one writer, so nothing is acknowledged meanwhile; after
   * the limit the transaction is rolled back and the attempt fails. Default 1,000.
   */
  readonly transactionTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

const sqliteOptions = s.strictOptions<SqliteInboxOptions>()({
  path: s.refine<string>("a file name", (given) => typeof given === "string" && given !== ""),
  driver: s.optional(
    s.refine<SqliteDriverName | SqliteOpener>(
      `one of ${sqliteDriverNames.join(", ")} or a function that opens a file`,
      (given) => typeof given === "function" || sqliteDriverNames.includes(given as SqliteDriverName),
    ),
  ),
  busyTimeoutMs: s.withDefault(s.durationMs, defaults.sqlite.busyTimeoutMs),
  transactionTimeoutMs: s.withDefault(s.durationMs, defaults.sqlite.transactionTimeoutMs),
  clock: sharedOptions.clock,
});

/**
 * A durable inbox in one SQLite file: `journal_mode=WAL`, `synchronous=FULL`, deliveries that arrive together share one
 * commit. For one machine; several processes may share the file, but only one writes at a time.
 *
 * @example examples/receiver-kit.test.ts#sqlite
 * ```ts
 * const inbox = sqliteInbox({ path: "webhooks.db", driver: "libsql", transactionTimeoutMs: 500 });
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function sqliteInbox(
  options: string | SqliteInboxOptions,
  ...others: readonly never[]
): Inbox<SqliteTransaction> {
  if (others.length > 0) {
    const message =
      "sqliteInbox: expected one argument, got several: give the path as the option path of the object";
    throw new ReceiverError("CONFIGURATION_INVALID", message);
  }
  const given = typeof options === "object" ? options : { path: options };
  const settings = parseOptions("sqliteInbox", sqliteOptions, given);
  const { clock, driver, busyTimeoutMs, transactionTimeoutMs } = settings;
  let opener: SqliteOpener | undefined;
  // Receivers may share the inbox: the last one closes the file.
  let users = 0;
  const file = new SqliteFile(resolveSqlitePath(settings.path));
  const open = (): SqliteOpener => {
    if (opener) return opener;
    throw new ReceiverError("INBOX_UNAVAILABLE", "sqlite inbox: it is closed, or was not opened");
  };
  const writer = new SqliteWriter({
    connect: () => file.open(open()),
    commit: (connection) => file.commit(connection, open()),
    disconnect: (connection) => file.disconnect(connection, open()),
    checkpoint: (connection) => {
      if (!file.isDamaged) checkpoint(connection);
    },
    explain: (error) => file.explain(error),
    begin: beginSqliteWrite,
    clock,
    busyTimeoutMs,
  });
  const { subscribe, wake } = core.createSubscribers();
  /** Events that an earlier transaction was not kept for. */
  const mustBeAlone = new Set<number>();
  const write = <Result>(operation: (connection: SqliteConnection, nowMs: number) => Result) =>
    writer.write((connection) => operation(connection, clock.now()));
  const read = (text: string, values: readonly SqlValue[]) =>
    writer.read((connection) => connection.query(text, values.map(toSqliteValue)));
  const change = (text: string, values: readonly SqlValue[]) =>
    write((connection) => connection.query(text, values.map(toSqliteValue)));
  const endRow = async (end: RowEnd) => {
    const ended = await write((connection, nowMs) => core.endRow(new SqliteStorage(connection), end, nowMs));
    if (ended?.hasMore) wake(end.claim.source);
    return ended;
  };

  const store: InboxStore<SqliteTransaction> = {
    ...sqlReads({
      dialect: sqliteDialect,
      now: () => clock.now(),
      read,
      readLong: read,
      write: change,
    }),
    purge: createPurge({ dialect: sqliteDialect, now: () => clock.now(), read, write: change }),
    durable: true,
    get isOpen() {
      return users > 0;
    },
    async open() {
      const loaded = typeof driver === "function" ? driver : await loadSqliteDriver(driver);
      opener ??= loaded;
      users += 1;
      try {
        await writer.write(() => undefined);
      } catch (error) {
        users -= 1;
        throw error;
      }
    },
    async close() {
      users = Math.max(0, users - 1);
      if (users > 0) return;
      // Another receiver may open it meanwhile.
      const isUsed = () => users > 0;
      await writer.close(isUsed);
      if (isUsed()) return;
      file.close();
      // What is still in progress would open the file again.
      opener = undefined;
    },
    async insert(row) {
      const result = await write((connection, nowMs) =>
        core.insertRow(new SqliteStorage(connection), row, nowMs),
      );
      if (result.outcome === "new") wake(row.source);
      return result;
    },
    claim: (claimOptions) =>
      write((connection, nowMs) => core.claimRows(new SqliteStorage(connection), claimOptions, nowMs)),
    renew: (leases, leaseMs) =>
      write((connection, nowMs) => core.renewLeases(new SqliteStorage(connection), leases, leaseMs, nowMs)),
    fail: async (claim, failure) => (await endRow(failedEnd(claim, failure))) !== undefined,
    async replay(reference, columns) {
      const isReplayed = await write((connection, nowMs) =>
        core.replayRow(new SqliteStorage(connection), reference, columns, nowMs),
      );
      if (isReplayed) wake(reference.source);
      return isReplayed;
    },
    discard: (reference) => write((connection) => core.discardRow(new SqliteStorage(connection), reference)),
    beginInline: (webhook, inline) =>
      write((connection, nowMs) => core.beginInline(new SqliteStorage(connection), webhook, inline, nowMs)),
    finishInline: (id, inline) =>
      write((connection) => core.finishInline(new SqliteStorage(connection), id, inline)),
    advanceHead: (head) =>
      write((connection, nowMs) => core.advanceHead(new SqliteStorage(connection), head, nowMs)),
    begin(items, { timeoutMs }) {
      const limitMs = Math.min(timeoutMs, transactionTimeoutMs);
      const seqs = items.map(({ claim }) => claim.seq);
      const wasLost = seqs.filter((seq) => mustBeAlone.delete(seq)).length > 0;
      return beginSqliteTransaction({
        items,
        wake,
        isAlone: wasLost,
        onMustBeAlone() {
          // Another process may have handled some that are in it.
          if (mustBeAlone.size > mustBeAloneMax) mustBeAlone.clear();
          for (const seq of seqs) mustBeAlone.add(seq);
        },
        begin: (isOwn) => writer.begin({ timeoutMs: limitMs, isAlone: isOwn }),
        async settle({ claim, settlement }) {
          const end = settledEnd(claim, settlement);
          return settleOutcome(end, await endRow(end));
        },
        now: () => clock.now(),
        explain: (error) => file.explain(error),
      });
    },
    subscribe,
  };
  return store;
}

const mustBeAloneMax = 10_000;

/** A list is JSON. */
const toSqliteValue = (value: SqlValue): SqliteValue =>
  Array.isArray(value) ? JSON.stringify(value) : (value as SqliteValue);
