import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../../errors.ts";
import { defaults, parseOptions, sharedOptions } from "../../options.ts";
import type { Inbox, InboxStore } from "../inbox.ts";
import { type Steps, sqlMethods } from "../sql/sql-methods.ts";
import { createSubscribers } from "../subscribers.ts";
import { claimRows, renewLeases } from "./sqlite-claims.ts";
import {
  loadSqliteDriver,
  type SqliteConnection,
  type SqliteDriverName,
  type SqliteOpener,
  type SqliteValue,
  sqliteDriverNames,
} from "./sqlite-driver.ts";
import { endRow } from "./sqlite-ends.ts";
import { checkpoint, resolveSqlitePath, SqliteFile } from "./sqlite-file.ts";
import { insertRow } from "./sqlite-insert.ts";
import { beginSqliteWrite } from "./sqlite-migrations.ts";
import { sharedStatements } from "./sqlite-statements.ts";
import { beginSqliteTransaction, type SqliteTransaction } from "./sqlite-transaction.ts";
import { SqliteWriter } from "./sqlite-writer.ts";

export interface SqliteInboxOptions {
  /** The database file; created when absent. It may contain the application's own tables too. */
  readonly path: string;
  /** Default: the first of `libsql`, `better-sqlite3` and `node:sqlite` that can be loaded. Or a function that opens a file. */
  readonly driver?: SqliteDriverName | SqliteOpener | undefined;
  /** How long to retry while another process has the file's write lock. Default 5,000. */
  readonly busyTimeoutMs?: number | undefined;
  /**
   * How long a handler may keep its transaction open. SQLite has one writer, so nothing is acknowledged meanwhile; after
   * the limit the transaction is rolled back and the attempt fails. Default 1,000.
   */
  readonly transactionTimeoutMs?: number | undefined;
  /**
   * How many events may share a transaction, and so a commit. Each handler has the file for itself from its first query
   * to its end. 1: each event has its own transaction. Default 128.
   */
  readonly eventsPerTransactionMax?: number | undefined;
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
  eventsPerTransactionMax: s.withDefault(s.positiveInteger, defaults.sqlite.eventsPerTransactionMax),
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
  const { clock, driver, busyTimeoutMs, transactionTimeoutMs, eventsPerTransactionMax } = settings;
  let opener: SqliteOpener | undefined;
  let users = 0;
  const file = new SqliteFile(resolveSqlitePath(settings.path));
  const open = (): SqliteOpener => {
    if (opener) return opener;
    throw new ReceiverError("INBOX_UNAVAILABLE", "sqlite inbox: expected open() before use");
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
    turnsMax: eventsPerTransactionMax,
  });
  const { subscribe, wake } = createSubscribers();
  /** Events that an earlier transaction was not kept for. */
  const mustBeAlone = new Set<number>();
  const write = <Result>(operation: (connection: SqliteConnection, nowMs: number) => Result) =>
    writer.write((connection) => operation(connection, clock.now()));
  const { settle, ...methods } = sqlMethods(
    {
      read: (statement, values) => writer.read((connection) => query(connection, statement, values)),
      write: (steps) => writer.write((connection) => runSteps(connection, steps())),
      insertRow: (row) => write((connection, now) => insertRow(connection, row, now)),
      endRow: (requested) => write((connection, now) => endRow(connection, requested, now)),
      stepRows,
      now: () => clock.now(),
      wake,
    },
    sharedStatements,
    (states) => JSON.stringify(states),
  );

  const store: InboxStore<SqliteTransaction> = {
    ...methods,
    durable: true,
    get isOpen() {
      return users > 0;
    },
    async open() {
      opener ??= typeof driver === "function" ? driver : await loadSqliteDriver(driver);
      await writer.write(() => undefined);
      users += 1;
    },
    async close() {
      users = Math.max(0, users - 1);
      await writer.close();
      file.close();
    },
    claim: (claimOptions) => write((connection, now) => claimRows(connection, claimOptions, now)),
    renew: (leases, leaseMs) => write((connection, now) => renewLeases(connection, leases, leaseMs, now)),
    begin(items, { timeoutMs }) {
      const limitMs = Math.min(timeoutMs, transactionTimeoutMs);
      const seqs = items.map(({ claim }) => claim.seq);
      const wasLost = seqs.filter((seq) => mustBeAlone.delete(seq)).length > 0;
      return beginSqliteTransaction({
        items,
        wake,
        isAlone: wasLost || eventsPerTransactionMax === 1,
        onMustBeAlone() {
          // Another process may have handled some that are in it.
          if (mustBeAlone.size > mustBeAloneMax) mustBeAlone.clear();
          for (const seq of seqs) mustBeAlone.add(seq);
        },
        begin: (isOwn) => writer.begin({ timeoutMs: limitMs, isAlone: isOwn }),
        settleInGroup: settle,
        now: () => clock.now(),
        explain: (error) => file.explain(error),
      });
    },
    subscribe,
  };
  return store;
}

const mustBeAloneMax = 10_000;

/** How many rows one step of a count or a list reads at most, about 2 ms. */
export const stepRows = 5_000;

const query = (connection: SqliteConnection, statement: string, values: readonly unknown[]) =>
  connection.queryPrepared(statement, values as readonly SqliteValue[]);

function runSteps<Result>(connection: SqliteConnection, steps: Steps<Result>): Result {
  let step = steps.next();
  while (!step.done) step = steps.next(query(connection, ...step.value));
  return step.value;
}
