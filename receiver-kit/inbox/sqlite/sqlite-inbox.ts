import type { Clock } from "../../clock.ts";
import { ReceiverError } from "../../errors.ts";
import { defaults, durationMs, parseOptions, sharedOptions, strictOptions, value } from "../../options.ts";
import type { Inbox, InsertResult } from "../inbox.ts";
import {
  failedColumns,
  type SqlRow,
  toCandidates,
  toClaim,
  toDetails,
  toHead,
  toNumber,
  toReference,
  toStats,
  toSummary,
} from "../inbox-row.ts";
import {
  loadSqliteDriver,
  type SqliteConnection,
  type SqliteDriverName,
  type SqliteOpener,
  sqliteDriverNames,
} from "./sqlite-driver.ts";
import { migrateSqlite } from "./sqlite-migrations.ts";
import * as sql from "./sqlite-statements.ts";
import { beginSqliteTransaction, type SqliteTransaction, settle } from "./sqlite-transaction.ts";
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
  path: value<string>("a file name", (given) => typeof given === "string" && given !== ""),
  driver: value<SqliteDriverName | SqliteOpener>(
    `one of ${sqliteDriverNames.join(", ")} or a function that opens a file`,
    (given) => typeof given === "function" || sqliteDriverNames.includes(given as SqliteDriverName),
  ).optional(),
  busyTimeoutMs: durationMs.default(defaults.sqlite.busyTimeoutMs),
  transactionTimeoutMs: durationMs.default(defaults.sqlite.transactionTimeoutMs),
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
  return new SqliteInbox(parseOptions("sqliteInbox", sqliteOptions, given));
}

type Methods = Inbox<SqliteTransaction>;
type Settings = ReturnType<typeof sqliteOptions.parse>;

class SqliteInbox implements Inbox<SqliteTransaction> {
  readonly durable = true;
  readonly #settings: Settings;
  readonly #subscribers = new Set<() => void>();
  readonly #writer: SqliteWriter;
  #opener: SqliteOpener | undefined;

  constructor(settings: Settings) {
    const { clock, busyTimeoutMs } = settings;
    this.#settings = settings;
    this.#writer = new SqliteWriter({ connect: () => this.#connect(), clock, busyTimeoutMs });
  }

  async open(): Promise<void> {
    const { driver } = this.#settings;
    this.#opener ??= typeof driver === "function" ? driver : await loadSqliteDriver(driver);
    await this.#writer.write(() => undefined);
  }

  #connect(): SqliteConnection {
    if (!this.#opener)
      throw new ReceiverError("INBOX_UNAVAILABLE", "sqlite inbox: expected open() before use");
    const connection = openFile(this.#opener, this.#settings.path);
    try {
      // Takes effect on a new file only. Bodies of many KB then fill fewer pages: a third less work; small ones cost the same.
      connection.query("PRAGMA page_size = 16384");
      connection.query("PRAGMA journal_mode = WAL");
      connection.query("PRAGMA synchronous = FULL");
      // In KiB. Pages that do not fit are written before their commit, some of them twice: with SQLite's own 2 MB a
      // commit of large bodies took a tenth longer.
      connection.query("PRAGMA cache_size = -16384");
      // SQLite's wait blocks the event loop: 5 ms are enough for another's commit, the writer waits for longer ones.
      connection.query("PRAGMA busy_timeout = 5");
      migrateSqlite(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }

  #write<Result>(operation: (connection: SqliteConnection, nowMs: number) => Result): Promise<Result> {
    return this.#writer.write((connection) => operation(connection, this.#settings.clock.now()));
  }

  #read<Result>(operation: (connection: SqliteConnection, nowMs: number) => Result): Promise<Result> {
    return this.#writer.read((connection) => operation(connection, this.#settings.clock.now()));
  }

  #wakeAll(): void {
    for (const wake of this.#subscribers) wake();
  }

  readonly insert: Methods["insert"] = async (newRow) => {
    const { source, id, channel, event, orderKey, position, status, timestamp, quarantine, body } = newRow;
    const state = quarantine === null ? "pending" : "quarantined";
    const columns = [source, id, channel, state, event, orderKey, position, status, timestamp];
    const result = await this.#write((connection, now): InsertResult => {
      const values = [...columns, now, quarantine, body];
      if (connection.changePrepared(sql.insertRow, values) > 0) return { outcome: "new" };
      const [first] = connection.queryPrepared(sql.compareBody, [source, id, body]);
      const same = toNumber(first?.["same"]);
      return { outcome: "duplicate", sameBody: same === null ? null : same === 1 };
    });
    if (result.outcome === "new") this.#wakeAll();
    return result;
  };

  readonly claim: Methods["claim"] = (options) => {
    const { source, worker, leaseMs, rowsMax, attemptsMax, keyOrder } = options;
    return this.#write((connection, now) => {
      const expired = connection.queryPrepared(sql.reclaimExpired, [now, attemptsMax, source]);
      const values = [now, worker, now + leaseMs, rowsMax, source];
      const rows = connection.queryPrepared(sql.claimRows(keyOrder), values);
      const nextAtMs = toNumber(connection.queryPrepared(sql.nextDue, [now, source])[0]?.["at"]);
      return {
        claims: rows
          .map((row) => toClaim({ ...row, head: positionOf(connection, row) }))
          .sort((a, b) => a.seq - b.seq),
        died: expired.filter((row) => row["state"] === "dead").map(toReference),
        nextInMs: nextAtMs === null ? null : nextAtMs - now,
      };
    });
  };

  readonly renew: Methods["renew"] = (claims, leaseMs) =>
    this.#write((connection, now) => {
      const renewed = claims.filter(
        ({ seq, worker, generation }) =>
          connection.changePrepared(sql.renewLease, [seq, worker, generation, now + leaseMs]) > 0,
      );
      return new Set(renewed.map(({ seq }) => seq));
    });

  readonly begin: Methods["begin"] = (claim, settlement, options) => {
    const timeoutMs = Math.min(options.timeoutMs, this.#settings.transactionTimeoutMs);
    const transaction = beginSqliteTransaction({
      claim,
      settlement,
      beginExclusive: () => this.#writer.beginExclusive(timeoutMs),
      settleInGroup: () => this.#write((connection, now) => settle(connection, claim, settlement, now)),
      now: () => this.#settings.clock.now(),
    });
    const commit = () => transaction.commit().finally(() => this.#wakeAll());
    return { ...transaction, commit };
  };

  readonly fail: Methods["fail"] = async ({ seq, worker, generation }, failure) => {
    const { state, delayMs, error, uncounted } = failedColumns(failure);
    const failed = await this.#write((connection, now) => {
      const values = [seq, worker, generation, state, now + delayMs, error, uncounted];
      return connection.changePrepared(sql.failRow, values) > 0;
    });
    this.#wakeAll();
    return failed;
  };

  readonly subscribe: NonNullable<Methods["subscribe"]> = async (wake) => {
    this.#subscribers.add(wake);
    return async () => void this.#subscribers.delete(wake);
  };

  readonly list: Methods["list"] = ({ states, source, beforeSeq, limit = 50 }) => {
    const stateList = states ? JSON.stringify(states) : null;
    const values = [beforeSeq ?? Number.MAX_SAFE_INTEGER, source ?? null, stateList, limit];
    return this.#read((connection) => connection.queryPrepared(sql.listRows, values).map(toSummary));
  };

  readonly get: Methods["get"] = ({ source, id }) =>
    this.#read((connection) => {
      const [row] = connection.queryPrepared(sql.getRow, [source, id]);
      return row && toDetails(row);
    });

  readonly replay: Methods["replay"] = async ({ source, id }, { event, orderKey, position, status }) => {
    const replayed = await this.#write((connection, now) => {
      const values = [source, id, now, event, orderKey, position, status];
      return connection.changePrepared(sql.replayRow, values) > 0;
    });
    if (replayed) this.#wakeAll();
    return replayed;
  };

  readonly discard: Methods["discard"] = ({ source, id }) =>
    this.#write((connection) => connection.changePrepared(sql.discardRow, [source, id]) > 0);

  readonly beginInline: Methods["beginInline"] = ({ id, timestamp, body }, { source, leaseMs }) =>
    this.#write((connection, now) => {
      const values = [source, id, timestamp, now, now + leaseMs, body];
      const [begun] = connection.queryPrepared(sql.beginInline, values);
      if (begun) return { state: "begun", generation: Number(begun["generation"]) };
      const [row] = connection.queryPrepared(sql.inlineLease, [source, id]);
      if (row?.["state"] !== "inline") return { state: "done" };
      return { state: "busy", retryAfterMs: Number(row["lease_until"]) - now };
    });

  readonly finishInline: Methods["finishInline"] = (id, { source, generation, outcome }) => {
    const values = [source, id, generation, outcome === "done" ? "done" : "inline"];
    return this.#write((connection) => connection.changePrepared(sql.finishInline, values) > 0);
  };

  readonly advanceHead: Methods["advanceHead"] = ({ source, key, position }) =>
    this.#write((connection, now) => {
      const values = [source, key, position, null, now, 0];
      if (connection.changePrepared(sql.advanceHead, values) > 0) return "newer";
      return headOf(connection, source, key)?.position === position ? "same" : "stale";
    });

  readonly head: Methods["head"] = (source, key) =>
    this.#read((connection) => headOf(connection, source, key));

  readonly reconcileCandidates: Methods["reconcileCandidates"] = ({ source, runningForMs, limit }) =>
    this.#read((connection, now) => {
      const values = [source, now - runningForMs, limit * 3];
      return toCandidates(connection.queryPrepared(sql.reconcileCandidates, values), limit);
    });

  readonly heartbeat: Methods["heartbeat"] = (source) =>
    this.#write((connection, now) => {
      const [last] = connection.queryPrepared(sql.readHeartbeat, [source]);
      connection.queryPrepared(sql.writeHeartbeat, [source, now]);
      return last ? now - Number(last["beat_at"]) : null;
    });

  readonly purge: Methods["purge"] = ({ bodiesMs, rowsMs, headsMs }, rowsMax) =>
    this.#write((connection, now) => {
      const rows = connection.changePrepared(sql.purgeRows, [now - rowsMs, rowsMax]);
      const bodies = connection.changePrepared(sql.purgeBodies, [now - bodiesMs, rowsMax]);
      const heads = connection.changePrepared(sql.purgeHeads, [now - headsMs, rowsMax]);
      return rows + bodies + heads;
    });

  readonly backlog: Methods["backlog"] = (source, limit) =>
    this.#read((connection) => {
      const [row] = connection.queryPrepared(sql.countBacklog, [source, limit]);
      return Math.min(limit, Number(row?.["count"]));
    });

  readonly stats: Methods["stats"] = () =>
    this.#read((connection, now) => toStats(connection.queryPrepared(sql.countStates, [now])));
}

function headOf(connection: SqliteConnection, source: string, key: string) {
  return toHead(connection.queryPrepared(sql.headPosition, [source, key])[0]);
}

/** The position of the head of a claimed row's key. */
function positionOf(connection: SqliteConnection, { source, order_key }: SqlRow): string | null {
  if (order_key === null) return null;
  return headOf(connection, String(source), String(order_key))?.position ?? null;
}

/** Names the file: the drivers' own messages have an error number at best. */
function openFile(opener: SqliteOpener, path: string): SqliteConnection {
  try {
    return opener(path);
  } catch (cause) {
    throw new ReceiverError(
      "INBOX_OPEN_FAILED",
      `sqlite inbox: cannot open ${JSON.stringify(path)}; expected a file that may be written, or a folder where it can be created`,
      { cause },
    );
  }
}
