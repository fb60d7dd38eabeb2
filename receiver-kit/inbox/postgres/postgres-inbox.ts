import { type Clock, systemClock } from "../../clock.ts";
import type { EventColumns } from "../../event/event-columns.ts";
import type { VerifiedWebhook } from "../../signature/verifier.ts";
import { createGroupCommit } from "../group-commit.ts";
import type {
  Claim,
  ClaimOptions,
  ClaimResult,
  FailedAttempt,
  HandlerTransaction,
  Inbox,
  InsertResult,
  NewRow,
  Retention,
  RowFilter,
  RowReference,
  Settlement,
  SettleOutcome,
} from "../inbox.ts";
import {
  distinctCandidates,
  toClaim,
  toDetails,
  toNumber,
  toReference,
  toStats,
  toSummary,
} from "../inbox-row.ts";
import { insertMany, type SettleRequest, settleMany } from "./postgres-batches.ts";
import { listenForRows } from "./postgres-listener.ts";
import { migratePostgres } from "./postgres-migrations.ts";
import { createNotifier } from "./postgres-notifier.ts";
import { inTransaction, type PostgresPool, type PostgresRow } from "./postgres-pool.ts";
import { type PostgresStatements, postgresStatements } from "./postgres-statements.ts";
import { beginPostgresTransaction, type PostgresTransaction } from "./postgres-transaction.ts";

export type PostgresInboxOptions = {
  /** Schema of the inbox's tables; lower case. Default `workspace_tasks`. */
  readonly schema?: string;
  /** `false`: the tables are made by somebody else, with a role that may. Default `true`. */
  readonly migrate?: boolean;
  /** How long one commit of deliveries may take before they are answered 503. Default 8,000. */
  readonly commitTimeoutMs?: number;
  /** Time of due rows, leases and retention. Default: the server's clock, which all processes share. */
  readonly clock?: Clock;
};

/**
 * A durable inbox in PostgreSQL 13 or later, shared by any number of receiver processes.
 *
 * `pool` is a `Pool` of the `pg` package; it stays the caller's, to be ended after the receiver is closed. Handlers that
 * use `context.transaction` hold one client each, listening holds one, storing, request and announcing use up to five: give
 * the pool `max` of at least the receiver's `concurrency` plus six, and a `connectionTimeoutMillis`.
 */
export function postgresInbox(
  pool: PostgresPool,
  options: PostgresInboxOptions = {},
): Inbox<PostgresTransaction> {
  const schema = options.schema ?? "workspace_tasks";
  if (!/^[a-z_][a-z0-9_]{0,49}$/.test(schema)) {
    throw new TypeError(
      `postgres inbox: expected schema of lower case letters, digits and _, at most 50, got ${JSON.stringify(schema)}`,
    );
  }
  return new PostgresInbox(pool, schema, options);
}

class PostgresInbox implements Inbox<PostgresTransaction> {
  readonly durable = true;
  readonly #pool: PostgresPool;
  readonly #schema: string;
  readonly #channel: string;
  readonly #options: PostgresInboxOptions;
  readonly #sql: PostgresStatements;
  readonly #announce: () => void;
  readonly #insert: (newRow: NewRow) => Promise<InsertResult>;
  readonly #settle: (request: SettleRequest) => Promise<SettleOutcome>;
  readonly #onPoolError = () => {};
  #opened = false;

  constructor(pool: PostgresPool, schema: string, options: PostgresInboxOptions) {
    this.#pool = pool;
    this.#schema = schema;
    this.#channel = `${schema}_inbox`;
    this.#options = options;
    this.#sql = postgresStatements(schema);
    this.#announce = createNotifier(pool, this.#channel);
    const group = {
      isItemsFault,
      itemsMax: 256,
      // Bodies travel in one piece, which both sides hold in memory.
      bytesMax: 8_000_000,
      timeoutMs: options.commitTimeoutMs ?? 8_000,
      clock: systemClock,
    };
    this.#insert = createGroupCommit({
      ...group,
      commit: (newRows: readonly NewRow[]) => insertMany(pool, this.#sql, newRows, this.#now()),
      bytesOf: ({ body }) => body.byteLength,
      commitsAtOnceMax: 2,
    });
    this.#settle = createGroupCommit({
      ...group,
      commit: (requests: readonly SettleRequest[]) => settleMany(pool, this.#sql, requests, this.#now()),
      bytesOf: () => 0,
      commitsAtOnceMax: 1,
    });
  }

  #now(): number | null {
    return this.#options.clock ? this.#options.clock.now() : null;
  }

  async open(): Promise<void> {
    // An idle client whose server went away raises `error` on the pool, which unheard ends the process.
    if (!this.#opened) this.#pool.on?.("error", this.#onPoolError);
    this.#opened = true;
    if (this.#options.migrate === false) await this.#pool.query(this.#sql.headPosition, ["", ""]);
    else await migratePostgres(this.#pool, this.#schema, this.#channel);
  }

  /** The pool is the caller's and stays open. */
  async close(): Promise<void> {
    this.#pool.removeListener?.("error", this.#onPoolError);
    this.#opened = false;
  }

  async #rows(statement: string, values: unknown[]): Promise<readonly PostgresRow[]> {
    return (await this.#pool.query(statement, values)).rows;
  }

  async insert(newRow: NewRow): Promise<InsertResult> {
    const inserted = await this.#insert(newRow);
    if (inserted.outcome === "new") this.#announce();
    return inserted;
  }

  /**
   * Claims go one at a time through an advisory lock: only so can "no other row of the key runs" be read and made true
   * in one step. The next statement takes its snapshot after the lock is held.
   */
  claim(options: ClaimOptions): Promise<ClaimResult> {
    const { source, worker, leaseMs, rowsMax, attemptsMax, keyOrder } = options;
    const lock = `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${this.#channel}.claim', 0))`;
    return inTransaction(this.#pool, lock, async (client) => {
      const now = this.#now();
      const expired = await client.query(this.#sql.reclaimExpired, [now, attemptsMax, source]);
      const statement = keyOrder === "strict" ? this.#sql.claimStrict : this.#sql.claimLatest;
      const { rows } = await client.query(statement, [now, worker, leaseMs, rowsMax, source]);
      const next = rows.length < rowsMax ? await client.query(this.#sql.nextDue, [now, source]) : undefined;
      return {
        claims: rows.map(toClaim),
        died: expired.rows.filter((row) => row["state"] === "dead").map(toReference),
        nextInMs: toNumber(next?.rows[0]?.["next_in"]),
      };
    });
  }

  async renew(claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<number>> {
    const rows = await this.#rows(this.#sql.renewLeases, [
      this.#now(),
      leaseMs,
      claims.map(({ seq }) => seq),
      claims.map(({ worker }) => worker),
      claims.map(({ generation }) => generation),
    ]);
    return new Set(rows.map((row) => Number(row["seq"])));
  }

  begin(
    claim: Claim,
    settlement: Settlement,
    options: { readonly timeoutMs: number },
  ): HandlerTransaction<PostgresTransaction> {
    return beginPostgresTransaction({
      pool: this.#pool,
      sql: this.#sql,
      claim,
      settlement,
      timeoutMs: options.timeoutMs,
      now: () => this.#now(),
      settleInGroup: () => this.#settle({ claim, settlement }),
    });
  }

  async fail(claim: Claim, failure: FailedAttempt): Promise<boolean> {
    const { seq, worker, generation } = claim;
    const delayMs = failure.kind === "retry" ? failure.delayMs : 0;
    const state = failure.kind === "dead" ? "dead" : "pending";
    const error = failure.kind === "release" ? null : failure.error;
    const uncounted = failure.kind === "release" ? 1 : 0;
    const values = [this.#now(), seq, worker, generation, state, Math.round(delayMs), error, uncounted];
    const failed = (await this.#rows(this.#sql.failRow, values)).length > 0;
    if (failed) this.#announce();
    return failed;
  }

  subscribe(wake: () => void): Promise<() => Promise<void>> {
    return listenForRows({ pool: this.#pool, channel: this.#channel, clock: systemClock, wake });
  }

  async list({ states, source, beforeSeq, limit = 50 }: RowFilter) {
    const rows = await this.#rows(this.#sql.listRows, [
      beforeSeq ?? null,
      source ?? null,
      states ?? null,
      limit,
    ]);
    return rows.map(toSummary);
  }

  async get({ source, id }: RowReference) {
    const [row] = await this.#rows(this.#sql.getRow, [source, id]);
    return row && toDetails(row);
  }

  async replay({ source, id }: RowReference, columns: EventColumns): Promise<boolean> {
    const { event, orderKey, position, status } = columns;
    const values = [this.#now(), source, id, event, orderKey, position, status];
    const replayed = (await this.#rows(this.#sql.replayRow, values)).length > 0;
    if (replayed) this.#announce();
    return replayed;
  }

  async discard({ source, id }: RowReference): Promise<boolean> {
    return (await this.#rows(this.#sql.discardRow, [source, id])).length > 0;
  }

  async beginInline(
    { id, timestamp, body }: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ) {
    const { source, leaseMs } = options;
    const values = [this.#now(), source, id, timestamp, leaseMs, Buffer.from(body)];
    const [begun] = await this.#rows(this.#sql.beginInline, values);
    if (begun) return { state: "begun", generation: Number(begun["generation"]) } as const;
    const [row] = await this.#rows(this.#sql.inlineLease, [this.#now(), source, id]);
    if (row?.["state"] !== "inline") return { state: "done" } as const;
    return { state: "busy", retryAfterMs: Math.max(0, Number(row["ends_in"])) } as const;
  }

  async finishInline(
    id: string,
    options: { readonly source: string; readonly generation: number; readonly outcome: "done" | "failed" },
  ): Promise<boolean> {
    const { source, generation, outcome } = options;
    const values = [source, id, generation, outcome === "done" ? "done" : "inline"];
    return (await this.#rows(this.#sql.finishInline, values)).length > 0;
  }

  async advanceHead(options: { readonly source: string; readonly key: string; readonly position: string }) {
    const { source, key, position } = options;
    const moved = await this.#rows(this.#sql.advanceHead, [this.#now(), source, key, position]);
    if (moved.length > 0) return "newer";
    const head = await this.head(source, key);
    return head?.position === position ? "same" : "stale";
  }

  async head(source: string, key: string) {
    const [row] = await this.#rows(this.#sql.headPosition, [source, key]);
    return row && { position: String(row["position"]), status: (row["status"] as string | null) ?? null };
  }

  async reconcileCandidates({ source, runningForMs, limit }: Parameters<Inbox["reconcileCandidates"]>[0]) {
    const rows = await this.#rows(this.#sql.reconcileCandidates, [
      this.#now(),
      source,
      runningForMs,
      limit * 3,
    ]);
    return distinctCandidates(rows).slice(0, limit);
  }

  async heartbeat(source: string): Promise<number | null> {
    const [row] = await this.#rows(this.#sql.heartbeat, [this.#now(), source]);
    return toNumber(row?.["ago"]);
  }

  async purge({ bodiesMs, rowsMs, headsMs }: Retention, rowsMax: number): Promise<number> {
    const rows = await this.#rows(this.#sql.purgeRows, [this.#now(), rowsMs, rowsMax]);
    const bodies = await this.#rows(this.#sql.purgeBodies, [this.#now(), bodiesMs, rowsMax]);
    const heads = await this.#rows(this.#sql.purgeHeads, [this.#now(), headsMs, rowsMax]);
    return rows.length + bodies.length + heads.length;
  }

  async backlog(source: string, limit: number): Promise<number> {
    const [row] = await this.#rows(this.#sql.countBacklog, [source, limit]);
    return Math.min(limit, Number(row?.["count"]));
  }

  async stats() {
    return toStats(await this.#rows(this.#sql.countStates, [this.#now()]));
  }
}

/** Classes 22 and 23 are about values and constraints, 54 about sizes; the rest would fail for every row alike. */
function isItemsFault(error: unknown): boolean {
  return /^(22|23|54)/.test(String((error as { code?: unknown }).code ?? ""));
}
