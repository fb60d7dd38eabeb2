import type { Clock } from "../../clock.ts";
import { ReceiverError } from "../../errors.ts";
import { defaults, option, parseOptions, sharedOptions, strictOptions } from "../../options.ts";
import type { Inbox } from "../inbox.ts";
import { sqlMethods } from "../sql-methods.ts";
import { countStates, listStepRows } from "./sqlite-counts.ts";
import {
  loadSqliteDriver,
  type SqliteConnection,
  type SqliteDriverName,
  type SqliteOpener,
  type SqliteValue,
  sqliteDriverNames,
} from "./sqlite-driver.ts";
import { SqliteFile } from "./sqlite-file.ts";
import * as operations from "./sqlite-operations.ts";
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
  readonly clock?: Clock | undefined;
}

const sqliteOptions = strictOptions<SqliteInboxOptions>()({
  path: option.value<string>("a file name", (given) => typeof given === "string" && given !== ""),
  driver: option
    .value<SqliteDriverName | SqliteOpener>(
      `one of ${sqliteDriverNames.join(", ")} or a function that opens a file`,
      (given) => typeof given === "function" || sqliteDriverNames.includes(given as SqliteDriverName),
    )
    .optional(),
  busyTimeoutMs: option.durationMs.default(defaults.sqlite.busyTimeoutMs),
  transactionTimeoutMs: option.durationMs.default(defaults.sqlite.transactionTimeoutMs),
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
export function sqliteInbox(options: string | SqliteInboxOptions): Inbox<SqliteTransaction> {
  const given = typeof options === "string" ? { path: options } : options;
  const settings = parseOptions("sqliteInbox", sqliteOptions, given);
  const { clock, driver, busyTimeoutMs, transactionTimeoutMs } = settings;
  let opener: SqliteOpener | undefined;
  const file = new SqliteFile(settings.path);
  const connect = () => {
    if (!opener) throw new ReceiverError("INBOX_UNAVAILABLE", "sqlite inbox: expected open() before use");
    return file.open(opener);
  };
  const writer = new SqliteWriter({ connect, checkFile: () => file.check(), clock, busyTimeoutMs });
  const subscribers = new Map<symbol, (source?: string) => void>();
  const wake = (source: string) => {
    for (const subscriber of subscribers.values()) subscriber(source);
  };
  const write = <Result>(operation: (connection: SqliteConnection, nowMs: number) => Result) =>
    writer.write((connection) => operation(connection, clock.now()));
  const query = (statement: string, values: readonly unknown[]) => (connection: SqliteConnection) =>
    connection.queryPrepared(statement, values as readonly SqliteValue[]);

  return {
    durable: true,
    async open() {
      opener ??= typeof driver === "function" ? driver : await loadSqliteDriver(driver);
      await writer.write(() => undefined);
    },
    async close() {
      await writer.close();
      file.forget();
    },
    ...sqlMethods(
      {
        read: (statement, values) => writer.read(query(statement, values)),
        countStates: () => countStates(writer, clock.now()),
        listStepRows,
        beginInline: (webhook, inlineOptions) =>
          write((connection, now) => operations.beginInline(connection, webhook, inlineOptions, now)),
        change: (statement, values) =>
          writer.write((connection) =>
            connection.changePrepared(statement, values as readonly SqliteValue[]),
          ),
        now: () => clock.now(),
        wake,
      },
      sharedStatements,
      (states) => JSON.stringify(states),
    ),
    async insert(row) {
      const result = await write((connection, now) => operations.insertRow(connection, row, now));
      if (result.outcome === "new") wake(row.source);
      return result;
    },
    claim: (claimOptions) => write((connection, now) => operations.claimRows(connection, claimOptions, now)),
    renew: (claims, leaseMs) =>
      write((connection, now) => operations.renewLeases(connection, claims, leaseMs, now)),
    begin(claim, settlement, { timeoutMs }) {
      const transaction = beginSqliteTransaction({
        claim,
        settlement,
        beginExclusive: () => writer.beginExclusive(Math.min(timeoutMs, transactionTimeoutMs)),
        settleInGroup: () =>
          write((connection, now) => operations.settleRow(connection, claim, settlement, now)),
        now: () => clock.now(),
      });
      return { ...transaction, commit: () => transaction.commit().finally(() => wake(claim.source)) };
    },
    async subscribe(subscriber) {
      const name = Symbol("subscriber");
      subscribers.set(name, subscriber);
      return async () => void subscribers.delete(name);
    },
    advanceHead: ({ source, key, position }) =>
      write((connection, now) => {
        const advance = { key, position, status: null, allowSame: false };
        if (operations.advanceHead(connection, { source, workspaceId: null }, advance, now)) return "newer";
        return operations.readHead(connection, { source, key }, now)?.position === position
          ? "same"
          : "stale";
      }),
  };
}
