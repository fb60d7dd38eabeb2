import { type Clock, systemClock } from "../../clock.ts";
import type { EventColumns } from "../../event/event-columns.ts";
import type { VerifiedWebhook } from "../../signature/verifier.ts";
import type {
  Claim,
  ClaimOptions,
  ClaimResult,
  FailedAttempt,
  HandlerTransaction,
  Inbox,
  InsertResult,
  NewRow,
  ReconcileCandidate,
  Retention,
  RowFilter,
  RowReference,
  Settlement,
} from "../inbox.ts";
import {
  distinctCandidates,
  type SqlRow,
  toClaim,
  toDetails,
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
  sqliteErrorCode,
} from "./sqlite-driver.ts";
import { migrateSqlite } from "./sqlite-migrations.ts";
import * as sql from "./sqlite-statements.ts";
import { beginSqliteTransaction, type SqliteTransaction, settle } from "./sqlite-transaction.ts";
import { SqliteWriter } from "./sqlite-writer.ts";

export type SqliteInboxOptions = {
  /** The database file; created when absent. It may hold the application's own tables too. */
  readonly path: string;
  /** Default: the first of `libsql`, `better-sqlite3` and `node:sqlite` that can be loaded. Or a function that opens a file. */
  readonly driver?: SqliteDriverName | SqliteOpener;
  /** How long to try again while another process holds the file's write lock. Default 5,000. */
  readonly busyTimeoutMs?: number;
  /**
   * How long a handler may keep its transaction open. SQLite has one writer, so nothing is acknowledged meanwhile;
   * beyond the limit the transaction is rolled back and the attempt fails. Default 1,000.
   */
  readonly transactionTimeoutMs?: number;
  readonly clock?: Clock;
};

/**
 * A durable inbox in one SQLite file: `journal_mode=WAL`, `synchronous=FULL`, deliveries that arrive together share one
 * commit. For one machine; several processes may share the file, but only one writes at a time.
 */
export function sqliteInbox(options: string | SqliteInboxOptions): Inbox<SqliteTransaction> {
  return new SqliteInbox(typeof options === "string" ? { path: options } : options);
}

class SqliteInbox implements Inbox<SqliteTransaction> {
  readonly durable = true;
  readonly #options: SqliteInboxOptions;
  readonly #clock: Clock;
  readonly #wakers = new Set<() => void>();
  readonly #writer: SqliteWriter;
  #opener: SqliteOpener | undefined;

  constructor(options: SqliteInboxOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const busyTimeoutMs = options.busyTimeoutMs ?? 5_000;
    this.#writer = new SqliteWriter({ connect: () => this.#connect(), clock: this.#clock, busyTimeoutMs });
  }

  async open(): Promise<void> {
    const { driver } = this.#options;
    this.#opener ??= typeof driver === "function" ? driver : await loadSqliteDriver(driver);
    await this.#writer.run(() => undefined);
  }

  #connect(): SqliteConnection {
    if (!this.#opener) throw new Error("sqlite inbox: expected open() before use");
    const connection = openFile(this.#opener, this.#options.path);
    try {
      // Of a new file only. Bodies of many KB then fill fewer pages: a third less work, and small ones cost the same.
      connection.query("PRAGMA page_size = 16384");
      connection.query("PRAGMA journal_mode = WAL");
      connection.query("PRAGMA synchronous = FULL");
      // In KiB. What does not fit is written before its commit, and some of it again: with SQLite's own 2 MB a commit of
      // large bodies took a tenth more.
      connection.query("PRAGMA cache_size = -16384");
      // Waiting inside SQLite stops the event loop: long enough for another's commit, the writer waits outside for more.
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

  #run<Result>(operation: (connection: SqliteConnection, nowMs: number) => Result): Promise<Result> {
    return this.#writer.run((connection) => operation(connection, this.#clock.now()));
  }

  #read<Result>(operation: (connection: SqliteConnection, nowMs: number) => Result): Promise<Result> {
    return this.#writer.read((connection) => operation(connection, this.#clock.now()));
  }

  #wakeAll(): void {
    for (const wake of this.#wakers) wake();
  }

  async insert(newRow: NewRow): Promise<InsertResult> {
    const { source, id, channel, event, orderKey, position, status, timestamp, quarantine, body } = newRow;
    const inserted = await this.#run((connection, now): InsertResult => {
      const state = quarantine === null ? "pending" : "quarantined";
      const columns = [event, orderKey, position, status];
      const values = [source, id, channel, state, ...columns, timestamp, now, quarantine, body];
      if (connection.changePrepared(sql.insertRow, values) > 0) return { outcome: "new" };
      const [first] = connection.queryPrepared(sql.compareBody, [source, id, body]);
      const same = toNumber(first?.["same"]);
      return { outcome: "duplicate", sameBody: same === null ? null : same === 1 };
    });
    if (inserted.outcome === "new") this.#wakeAll();
    return inserted;
  }

  claim(options: ClaimOptions): Promise<ClaimResult> {
    const { source, worker, leaseMs, rowsMax, attemptsMax, keyOrder } = options;
    return this.#run((connection, now) => {
      const expired = connection.queryPrepared(sql.reclaimExpired, [now, attemptsMax, source]);
      const rows = connection.queryPrepared(sql.claimRows(keyOrder), [
        now,
        worker,
        now + leaseMs,
        rowsMax,
        source,
      ]);
      const [next] = connection.queryPrepared(sql.nextDue, [now, source]);
      const nextAtMs = toNumber(next?.["at"]);
      return {
        claims: rows
          .map((row) => toClaim({ ...row, head: headOf(connection, row) }))
          .sort((a, b) => a.seq - b.seq),
        died: expired.filter((row) => row["state"] === "dead").map(toReference),
        nextInMs: nextAtMs === null ? null : nextAtMs - now,
      };
    });
  }

  renew(claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<number>> {
    return this.#run((connection, now) => {
      const renewed = claims.filter(
        ({ seq, worker, generation }) =>
          connection.changePrepared(sql.renewLease, [seq, worker, generation, now + leaseMs]) > 0,
      );
      return new Set(renewed.map(({ seq }) => seq));
    });
  }

  begin(
    claim: Claim,
    settlement: Settlement,
    options: { readonly timeoutMs: number },
  ): HandlerTransaction<SqliteTransaction> {
    const limitMs = this.#options.transactionTimeoutMs ?? 1_000;
    return beginSqliteTransaction({
      claim,
      settlement,
      hold: () => this.#writer.hold(Math.min(options.timeoutMs, limitMs)),
      settleInGroup: () => this.#run((connection, now) => settle(connection, claim, settlement, now)),
      now: () => this.#clock.now(),
      ended: () => this.#wakeAll(),
    });
  }

  async fail(claim: Claim, failure: FailedAttempt): Promise<boolean> {
    const failed = await this.#run((connection, now) => {
      const state = failure.kind === "dead" ? "dead" : "pending";
      const dueAt = failure.kind === "retry" ? now + failure.delayMs : now;
      const error = failure.kind === "release" ? null : failure.error;
      const uncounted = failure.kind === "release" ? 1 : 0;
      const { seq, worker, generation } = claim;
      const values = [seq, worker, generation, state, dueAt, error, uncounted];
      return connection.changePrepared(sql.failRow, values) > 0;
    });
    this.#wakeAll();
    return failed;
  }

  async subscribe(wake: () => void): Promise<() => Promise<void>> {
    this.#wakers.add(wake);
    return async () => {
      this.#wakers.delete(wake);
    };
  }

  list({ states, source, beforeSeq, limit = 50 }: RowFilter) {
    const values = [
      beforeSeq ?? Number.MAX_SAFE_INTEGER,
      source ?? null,
      states ? JSON.stringify(states) : null,
      limit,
    ];
    return this.#read((connection) => connection.queryPrepared(sql.listRows, values).map(toSummary));
  }

  get({ source, id }: RowReference) {
    return this.#read((connection) => {
      const [row] = connection.queryPrepared(sql.getRow, [source, id]);
      return row && toDetails(row);
    });
  }

  async replay({ source, id }: RowReference, columns: EventColumns): Promise<boolean> {
    const { event, orderKey, position, status } = columns;
    const replayed = await this.#run((connection, now) =>
      connection.changePrepared(sql.replayRow, [source, id, now, event, orderKey, position, status]),
    );
    if (replayed > 0) this.#wakeAll();
    return replayed > 0;
  }

  discard({ source, id }: RowReference): Promise<boolean> {
    return this.#run((connection) => connection.changePrepared(sql.discardRow, [source, id]) > 0);
  }

  beginInline(
    { id, timestamp, body }: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ) {
    const { source, leaseMs } = options;
    return this.#run((connection, now) => {
      const values = [source, id, timestamp, now, now + leaseMs, body];
      const [begun] = connection.queryPrepared(sql.beginInline, values);
      if (begun) return { state: "begun", generation: Number(begun["generation"]) } as const;
      const [row] = connection.queryPrepared(sql.inlineLease, [source, id]);
      if (row?.["state"] !== "inline") return { state: "done" } as const;
      return { state: "busy", retryAfterMs: Number(row["lease_until"]) - now } as const;
    });
  }

  finishInline(
    id: string,
    options: { readonly source: string; readonly generation: number; readonly outcome: "done" | "failed" },
  ): Promise<boolean> {
    const { source, generation, outcome } = options;
    const values = [source, id, generation, outcome === "done" ? "done" : "inline"];
    return this.#run((connection) => connection.changePrepared(sql.finishInline, values) > 0);
  }

  advanceHead(options: { readonly source: string; readonly key: string; readonly position: string }) {
    const { source, key, position } = options;
    return this.#run((connection, now) => {
      const moved = connection.changePrepared(sql.advanceHead, [source, key, position, null, now, 0]);
      if (moved > 0) return "newer";
      const [head] = connection.queryPrepared(sql.headPosition, [source, key]);
      return head?.["position"] === position ? "same" : "stale";
    });
  }

  head(source: string, key: string) {
    return this.#read((connection) => {
      const [row] = connection.queryPrepared(sql.headPosition, [source, key]);
      if (!row) return undefined;
      return { position: String(row["position"]), status: (row["status"] as string | null) ?? null };
    });
  }

  reconcileCandidates({
    source,
    runningForMs,
    limit,
  }: Parameters<Inbox["reconcileCandidates"]>[0]): Promise<readonly ReconcileCandidate[]> {
    return this.#read((connection, now) => {
      const rows = connection.queryPrepared(sql.reconcileCandidates, [source, now - runningForMs, limit * 3]);
      return distinctCandidates(rows).slice(0, limit);
    });
  }

  heartbeat(source: string): Promise<number | null> {
    return this.#run((connection, now) => {
      const [last] = connection.queryPrepared(sql.readHeartbeat, [source]);
      connection.queryPrepared(sql.writeHeartbeat, [source, now]);
      return last ? now - Number(last["beat_at"]) : null;
    });
  }

  purge({ bodiesMs, rowsMs, headsMs }: Retention, rowsMax: number): Promise<number> {
    return this.#run((connection, now) => {
      const rows = connection.changePrepared(sql.purgeRows, [now - rowsMs, rowsMax]);
      const bodies = connection.changePrepared(sql.purgeBodies, [now - bodiesMs, rowsMax]);
      const heads = connection.changePrepared(sql.purgeHeads, [now - headsMs, rowsMax]);
      return rows + bodies + heads;
    });
  }

  backlog(source: string, limit: number): Promise<number> {
    return this.#read((connection) => {
      const [row] = connection.queryPrepared(sql.countBacklog, [source, limit]);
      return Math.min(limit, Number(row?.["count"]));
    });
  }

  stats() {
    return this.#read((connection, now) => toStats(connection.queryPrepared(sql.countStates, [now])));
  }
}

function headOf(connection: SqliteConnection, row: SqlRow): unknown {
  if (row["order_key"] === null) return null;
  const values = [String(row["source"]), String(row["order_key"])];
  return connection.queryPrepared(sql.headPosition, values)[0]?.["position"];
}

/** The drivers' own words name a number at best. */
function openFile(opener: SqliteOpener, path: string): SqliteConnection {
  try {
    return opener(path);
  } catch (cause) {
    const expected = "a file that may be written, or a folder where it can be made";
    const error = new Error(`sqlite inbox: cannot open ${JSON.stringify(path)}; expected ${expected}`, {
      cause,
    });
    throw Object.assign(error, { code: sqliteErrorCode(cause) });
  }
}
