// What requests, operators, retention and reconciling ask of the inbox, beside the deliveries that pass. A number of a
// delivery grows with its time of receipt. `$1` is the time wherever a statement needs it.

import type * as inbox from "../inbox.ts";
import { createPurge } from "../sql/retention.ts";
import {
  type Execute,
  isUnhandled,
  type SqlDialect,
  type SqlValue,
  sqlReads,
  withQueue,
} from "../sql/sql-reads.ts";
import type { PostgresDatabase } from "./postgres-operations.ts";
import {
  addWaiting,
  awaitReplication,
  makeDurable,
  now,
  type PostgresTables,
  wakeSource,
} from "./postgres-statements.ts";

type Methods = inbox.InboxInlineStore &
  inbox.InboxOperatorStore &
  inbox.InboxMaintenanceStore &
  Pick<inbox.InboxAcceptStore, "backlog"> &
  Pick<inbox.InboxWorkQueue<unknown>, "waitingSources">;

interface RecordsOptions {
  readonly database: PostgresDatabase;
  readonly tables: PostgresTables;
  /** Number of the schema that this release writes. */
  readonly version: number;
}

export function postgresRecords({ database, tables, version }: RecordsOptions): Methods {
  const { pool, now: readNow, wake, requireUsable } = database;
  const sql = recordStatements(tables);
  /** Reports and retention may take longer than a delivery. */
  const largeLimitMs = 6 * pool.limitMs;
  const read = (text: string, values: readonly SqlValue[], limitMs?: number) =>
    pool.rows("claim", [{ name: "", text }, values], limitMs);
  /** Statements in one transaction, durable, of a release that may write. */
  const write = async <Result>(
    work: (execute: Execute) => Promise<Result>,
    limitMs?: number,
  ): Promise<Result> => {
    const usable = `SELECT ${makeDurable} FROM ${tables.version} WHERE oldest_usable <= ${version}`;
    const result = await pool.transaction(async (client) => {
      const [found] = await client.send(usable);
      return found?.rows.length
        ? { value: await work((text, values) => client.query(text, values)) }
        : undefined;
    }, limitMs);
    if (result) return result.value;
    await requireUsable();
    return write(work, limitMs);
  };
  const change = (text: string, values: readonly SqlValue[]) => write((execute) => execute(text, values));
  const dialect = postgresDialect(tables);
  const reads = sqlReads({
    dialect,
    now: readNow,
    read,
    readLong: (text, values) => read(text, values, largeLimitMs),
    write: change,
  });

  return {
    ...reads,
    purge: createPurge({
      dialect,
      now: readNow,
      read,
      write: (text, values) => write((execute) => execute(text, values), largeLimitMs),
    }),
    async replay({ source, id }, { event, orderKey, position, status, workspaceId }) {
      const key = orderKey ?? `id:${id}`;
      const isReplayed = await write(async (execute) => {
        // So that it is not purged or replayed by another one meanwhile.
        await execute(sql.lockDelivery, [source, id]);
        const [found] = await execute(sql.findReplayable, [source, id]);
        if (!found) return false;
        const seq = Number(found["seq"]);
        await execute(sql.replayDelivery, [readNow(), seq, event, orderKey, position, status, workspaceId]);
        await execute(sql.queueRow, [
          readNow(),
          source,
          key,
          workspaceId,
          position ?? "",
          seq,
          Number(found["body_bytes"]),
        ]);
        return true;
      });
      if (isReplayed) wake(source);
      return isReplayed;
    },
    discard: async ({ source, id }) => (await change(sql.discardRow, [source, id])).length > 0,
    async advanceHead({ source, key, position }) {
      const advanced = await change(sql.advanceHead, [readNow(), source, key, position]);
      if (advanced.length > 0) return "newer";
      return (await reads.head(source, key))?.position === position ? "same" : "stale";
    },
    async beginInline({ id, timestamp, body }, { source, leaseMs }) {
      return write(async (execute): Promise<inbox.InboxBeginInlineResult> => {
        const [begun] = await execute(sql.beginInline, [readNow(), source, id, timestamp, leaseMs]);
        if (begun) {
          await execute(sql.insertBody, [Number(begun["seq"]), body]);
          return { state: "begun", generation: Number(begun["generation"]) };
        }
        await execute(sql.shortenLease, [readNow(), source, id, leaseMs]);
        const [row] = await execute(sql.inlineLease, [readNow(), source, id]);
        if (row?.["state"] === "inline")
          return { state: "busy", retryAfterMs: Math.max(0, Number(row["ends_in"])) };
        await execute(awaitReplication, []);
        return { state: "done" };
      });
    },
    async finishInline(id, { source, generation, outcome }) {
      const recorded = outcome === "done" ? null : "inline";
      return (await change(sql.finishInline, [source, id, generation, recorded])).length > 0;
    },
  };
}

function recordStatements(tables: PostgresTables) {
  return { ...rowStatements(tables), ...inlineStatements(tables) };
}

function rowStatements(tables: PostgresTables) {
  const { deliveries, bodies, keys, queue } = tables;
  return {
    lockDelivery: `SELECT 1 FROM ${deliveries} WHERE source = $1::text AND webhook_id = $2::text FOR UPDATE`,

    /** A row that does not wait and has a body. */
    findReplayable: `
    SELECT delivery.seq, length(body.body) AS body_bytes FROM ${withQueue({ tables, lookUp })}
    JOIN ${bodies} AS body ON body.seq = delivery.seq
    WHERE delivery.source = $1::text AND delivery.webhook_id = $2::text AND waiting.seq IS NULL
      AND delivery.outcome IS DISTINCT FROM 'inline'`,

    replayDelivery: `
    UPDATE ${deliveries}
    SET outcome = NULL, attempts = NULL, replays = replays + 1, replayed_at = ${now}, died_at = NULL, event = $3::text,
      order_key = $4::text, position = $5::text, status = $6::text, workspace = $7::text
    WHERE seq = $2::bigint`,

    queueRow: `
    WITH queued_key AS (
      INSERT INTO ${keys} AS ordering_key (source, order_key, workspace, waiting, wake_at)
      VALUES ($2::text, $3::text, $4::text, 1, ${now})
      ${addWaiting} RETURNING id)
    INSERT INTO ${queue} (key_id, position, seq, due_at, body_bytes)
    SELECT id, $5::text, $6::bigint, 0, $7::integer FROM queued_key`,

    discardRow: `
    UPDATE ${deliveries} SET outcome = 'discarded'
    WHERE source = $1::text AND webhook_id = $2::text AND ${isUnhandled} RETURNING 1`,
  };
}

/** Rows that a request handles itself, and the heads that they advance. */
function inlineStatements({ deliveries, bodies, keys }: PostgresTables) {
  return {
    /** Stores a row, or takes over one whose lease ended; otherwise changes nothing and returns no row. */
    beginInline: `
    INSERT INTO ${deliveries} AS delivery
      (source, webhook_id, channel, signed_at, received_at, outcome, lease_until, generation)
    VALUES ($2::text, $3::text, 'webhook', $4::bigint, ${now}, 'inline', ${now} + $5::bigint, 1)
    ON CONFLICT (source, webhook_id) DO UPDATE
    SET lease_until = excluded.lease_until, generation = delivery.generation + 1
    WHERE delivery.outcome = 'inline' AND delivery.lease_until <= ${now}
    RETURNING seq, generation`,

    /** One that ends later than a lease can was taken before the clock was set back. */
    shortenLease: `
    UPDATE ${deliveries} SET lease_until = ${now} + $4::bigint
    WHERE source = $2::text AND webhook_id = $3::text AND outcome = 'inline' AND lease_until > ${now} + $4::bigint`,

    insertBody: `INSERT INTO ${bodies} (seq, body) VALUES ($1::bigint, $2::bytea) ON CONFLICT (seq) DO NOTHING`,

    inlineLease: `
    SELECT outcome AS state, lease_until - ${now} AS ends_in FROM ${deliveries}
    WHERE source = $2::text AND webhook_id = $3::text`,

    finishInline: `
    UPDATE ${deliveries} SET outcome = $4::text, lease_until = 0
    WHERE source = $1::text AND webhook_id = $2::text AND generation = $3::integer AND outcome = 'inline' RETURNING 1`,

    advanceHead: `
    INSERT INTO ${keys} AS ordering_key (source, order_key, head, moved_at, idle_since, waiting)
    VALUES ($2::text, $3::text, $4::text, ${now}, ${now}, 0)
    ON CONFLICT (source, order_key) DO UPDATE
    SET head = excluded.head, status = NULL, moved_at = excluded.moved_at,
      idle_since = CASE WHEN ordering_key.waiting = 0 THEN excluded.moved_at END
    WHERE ordering_key.head IS NULL OR excluded.head > ordering_key.head RETURNING 1`,
  };
}

/** A subquery that is not merged: of a table that it takes to be empty, the planner would read all for each delivery. */
const lookUp: SqlDialect["lookUp"] = (table, alias, condition) =>
  `LEFT JOIN LATERAL (SELECT * FROM ${table} AS ${alias} WHERE ${condition} OFFSET 0) AS ${alias} ON true`;

const postgresDialect = (tables: PostgresTables): SqlDialect => ({
  tables,
  lookUp,
  now,
  wakingKeys: tables.keys,
  wakeSource,
  unhandled: tables.deliveries,
  // A range: PostgreSQL would look for one that no row has in all rows, in the order of their numbers.
  isOutcome: (outcome) => `outcome BETWEEN '${outcome}' AND '${outcome}'`,
  isClaimed: "waiting.seq = ANY (ordering_key.claimed)",
  claimedCount: "coalesce(cardinality(claimed), 0)",
  isOneOf: (value, parameter) => `${value} = ANY (${parameter})`,
  isLikeOneOf: (text, parameter) => `${text} LIKE ANY (${parameter})`,
  toPattern: (pattern) => pattern.replace(/[\\%_]/g, "\\$&").replaceAll("*", "%"),
  contains: (whole, parameter) => `position(${parameter} IN ${whole}) > 0`,
  isFoundBy: (number, statement) => `${number} = ANY (ARRAY(${statement}))`,
  eachDelivery: (page, condition, limit) => `
      SELECT found.seq FROM (${page}) AS page CROSS JOIN LATERAL (
        SELECT delivery.seq FROM ${withQueue({ tables, lookUp })} WHERE delivery.seq = page.seq AND ${condition}
        LIMIT 1 FOR UPDATE OF delivery SKIP LOCKED) AS found
      ORDER BY page.seq LIMIT ${limit}`,
  idleKeys: (since, limit) => `
      SELECT id FROM ${tables.keys} WHERE idle_since IS NOT NULL AND idle_since <= ${since} AND waiting = 0
      ORDER BY idle_since LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  toText: (statement) => statement,
});
