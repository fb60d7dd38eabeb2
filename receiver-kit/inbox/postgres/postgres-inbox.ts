import { type Clock, systemClock } from "../../clock.ts";
import {
  boolean,
  clock,
  defaults,
  durationMs,
  objectWith,
  parseOptions,
  strictOptions,
  string,
} from "../../options.ts";
import { createGroupCommit } from "../group-commit.ts";
import type { Claim, Inbox, SettleOutcome } from "../inbox.ts";
import {
  failedColumns,
  toCandidates,
  toClaim,
  toDetails,
  toHead,
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

export interface PostgresInboxOptions {
  /** Schema of the inbox's tables; lower case. Default `workspace_tasks`. */
  readonly schema?: string | undefined;
  /** `false`: the tables are created in another way, by a role that may. Default `true`. */
  readonly migrate?: boolean | undefined;
  /** How long one commit of deliveries may take before the response is 503. Default 8,000. */
  readonly commitTimeoutMs?: number | undefined;
  /** Time of due rows, leases and retention. Default: the server's clock, which all processes share. */
  readonly clock?: Clock | undefined;
}

const postgresOptions = strictOptions<PostgresInboxOptions>()({
  schema: string(/^[a-z_][a-z0-9_]{0,49}$/, "1 to 50 lower case letters, digits and _").default(
    defaults.postgres.schema,
  ),
  migrate: boolean.default(true),
  commitTimeoutMs: durationMs.default(defaults.postgres.commitTimeoutMs),
  clock: clock.optional(),
});

const postgresPool = objectWith<PostgresPool>("a Pool of the package pg", "query", "connect");

/**
 * A durable inbox in PostgreSQL 13 or later, shared by any number of receiver processes.
 *
 * `pool` is a `Pool` of the `pg` package; it belongs to the caller, who ends it after the receiver is closed. Handlers that
 * use `context.transaction` take one client each, listening takes one, storing, settling and notifying up to five: set
 * the pool's `max` to at least the receiver's `concurrency` plus six, and a `connectionTimeoutMillis`.
 *
 * @example examples/receiver-kit.test.ts#postgres
 * ```ts
 * const concurrency = 8;
 * const pool = new pg.Pool({
 *   connectionString: process.env["DATABASE_URL"],
 *   max: concurrency + 6,
 *   connectionTimeoutMillis: 5_000,
 * });
 * const receiver = createReceiver({ secrets: [signingSecret], inbox: postgresInbox(pool), concurrency });
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function postgresInbox(
  pool: PostgresPool,
  options: PostgresInboxOptions = {},
): Inbox<PostgresTransaction> {
  parseOptions("postgresInbox: pool", postgresPool, pool);
  return new PostgresInbox(pool, parseOptions("postgresInbox", postgresOptions, options));
}

type Methods = Inbox<PostgresTransaction>;
type Settings = ReturnType<typeof postgresOptions.parse>;

class PostgresInbox implements Inbox<PostgresTransaction> {
  readonly durable = true;
  readonly #pool: PostgresPool;
  readonly #channel: string;
  readonly #settings: Settings;
  readonly #sql: PostgresStatements;
  readonly #notify: () => void;
  readonly #insert: Methods["insert"];
  readonly #settle: (request: SettleRequest) => Promise<SettleOutcome>;
  readonly #onPoolError = () => {};
  #opened = false;

  constructor(pool: PostgresPool, settings: Settings) {
    this.#pool = pool;
    this.#channel = `${settings.schema}_inbox`;
    this.#settings = settings;
    this.#sql = postgresStatements(settings.schema);
    this.#notify = createNotifier(pool, this.#channel);
    const group = {
      isCausedByItem,
      itemsMax: 256,
      // Bodies are sent in one buffer, which both sides hold in memory.
      bytesMax: 8_000_000,
      timeoutMs: settings.commitTimeoutMs,
      clock: systemClock,
    };
    this.#insert = createGroupCommit({
      ...group,
      commit: (newRows) => insertMany(pool, this.#sql, newRows, this.#now()),
      bytesOf: ({ body }) => body.byteLength,
      concurrency: 2,
    });
    this.#settle = createGroupCommit({
      ...group,
      commit: (requests: readonly SettleRequest[]) => settleMany(pool, this.#sql, requests, this.#now()),
      bytesOf: () => 0,
      concurrency: 1,
    });
  }

  #now(): number | null {
    return this.#settings.clock?.now() ?? null;
  }

  async open(): Promise<void> {
    // An idle client that loses its server emits `error` on the pool; without a listener that ends the process.
    if (!this.#opened) this.#pool.on?.("error", this.#onPoolError);
    this.#opened = true;
    if (this.#settings.migrate) await migratePostgres(this.#pool, this.#settings.schema, this.#channel);
    else await this.#pool.query(this.#sql.headPosition, ["", ""]);
  }

  /** The pool belongs to the caller and stays open. */
  async close(): Promise<void> {
    this.#pool.removeListener?.("error", this.#onPoolError);
    this.#opened = false;
  }

  async #rows(statement: string, values: unknown[]): Promise<readonly PostgresRow[]> {
    return (await this.#pool.query(statement, values)).rows;
  }

  async #changes(statement: string, values: unknown[]): Promise<boolean> {
    return (await this.#rows(statement, values)).length > 0;
  }

  readonly insert: Methods["insert"] = async (newRow) => {
    const result = await this.#insert(newRow);
    if (result.outcome === "new") this.#notify();
    return result;
  };

  /**
   * Claims run one at a time, under an advisory lock: only so can "no other row of the key runs" be read and made true in
   * one step. The next statement takes its snapshot after the lock is held.
   */
  readonly claim: Methods["claim"] = (options) => {
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
  };

  readonly renew: Methods["renew"] = async (claims, leaseMs) => {
    const column = <Value>(pick: (claim: Claim) => Value) => claims.map(pick);
    const rows = await this.#rows(this.#sql.renewLeases, [
      ...[this.#now(), leaseMs, column(({ seq }) => seq)],
      ...[column(({ worker }) => worker), column(({ generation }) => generation)],
    ]);
    return new Set(rows.map((row) => Number(row["seq"])));
  };

  readonly begin: Methods["begin"] = (claim, settlement, { timeoutMs }) =>
    beginPostgresTransaction({
      ...{ pool: this.#pool, sql: this.#sql, claim, settlement, timeoutMs },
      now: () => this.#now(),
      settleInGroup: () => this.#settle({ claim, settlement }),
    });

  readonly fail: Methods["fail"] = async ({ seq, worker, generation }, failure) => {
    const { state, delayMs, error, uncounted } = failedColumns(failure);
    const values = [this.#now(), seq, worker, generation, state, delayMs, error, uncounted];
    const failed = await this.#changes(this.#sql.failRow, values);
    if (failed) this.#notify();
    return failed;
  };

  readonly subscribe: NonNullable<Methods["subscribe"]> = (wake) =>
    listenForRows({ pool: this.#pool, channel: this.#channel, clock: systemClock, wake });

  readonly list: Methods["list"] = async ({ states, source, beforeSeq, limit = 50 }) => {
    const values = [beforeSeq ?? null, source ?? null, states ?? null, limit];
    return (await this.#rows(this.#sql.listRows, values)).map(toSummary);
  };

  readonly get: Methods["get"] = async ({ source, id }) => {
    const [row] = await this.#rows(this.#sql.getRow, [source, id]);
    return row && toDetails(row);
  };

  readonly replay: Methods["replay"] = async ({ source, id }, { event, orderKey, position, status }) => {
    const values = [this.#now(), source, id, event, orderKey, position, status];
    const replayed = await this.#changes(this.#sql.replayRow, values);
    if (replayed) this.#notify();
    return replayed;
  };

  readonly discard: Methods["discard"] = ({ source, id }) =>
    this.#changes(this.#sql.discardRow, [source, id]);

  readonly beginInline: Methods["beginInline"] = async ({ id, timestamp, body }, { source, leaseMs }) => {
    const values = [this.#now(), source, id, timestamp, leaseMs, Buffer.from(body)];
    const [begun] = await this.#rows(this.#sql.beginInline, values);
    if (begun) return { state: "begun", generation: Number(begun["generation"]) };
    const [row] = await this.#rows(this.#sql.inlineLease, [this.#now(), source, id]);
    if (row?.["state"] !== "inline") return { state: "done" };
    return { state: "busy", retryAfterMs: Math.max(0, Number(row["ends_in"])) };
  };

  readonly finishInline: Methods["finishInline"] = (id, { source, generation, outcome }) => {
    const state = outcome === "done" ? "done" : "inline";
    return this.#changes(this.#sql.finishInline, [source, id, generation, state]);
  };

  readonly advanceHead: Methods["advanceHead"] = async ({ source, key, position }) => {
    if (await this.#changes(this.#sql.advanceHead, [this.#now(), source, key, position])) return "newer";
    return (await this.head(source, key))?.position === position ? "same" : "stale";
  };

  readonly head: Methods["head"] = async (source, key) =>
    toHead((await this.#rows(this.#sql.headPosition, [source, key]))[0]);

  readonly reconcileCandidates: Methods["reconcileCandidates"] = async ({ source, runningForMs, limit }) => {
    const values = [this.#now(), source, runningForMs, limit * 3];
    return toCandidates(await this.#rows(this.#sql.reconcileCandidates, values), limit);
  };

  readonly heartbeat: Methods["heartbeat"] = async (source) => {
    const [row] = await this.#rows(this.#sql.heartbeat, [this.#now(), source]);
    return toNumber(row?.["ago"]);
  };

  readonly purge: Methods["purge"] = async ({ bodiesMs, rowsMs, headsMs }, rowsMax) => {
    const rows = await this.#rows(this.#sql.purgeRows, [this.#now(), rowsMs, rowsMax]);
    const bodies = await this.#rows(this.#sql.purgeBodies, [this.#now(), bodiesMs, rowsMax]);
    const heads = await this.#rows(this.#sql.purgeHeads, [this.#now(), headsMs, rowsMax]);
    return rows.length + bodies.length + heads.length;
  };

  readonly backlog: Methods["backlog"] = async (source, limit) => {
    const [row] = await this.#rows(this.#sql.countBacklog, [source, limit]);
    return Math.min(limit, Number(row?.["count"]));
  };

  readonly stats: Methods["stats"] = async () =>
    toStats(await this.#rows(this.#sql.countStates, [this.#now()]));
}

/** Classes 22 and 23 are about values and constraints, 54 about sizes; other errors would fail every row alike. */
function isCausedByItem(error: unknown): boolean {
  return /^(22|23|54)/.test(String((error as { code?: unknown }).code ?? ""));
}
