// The SQL of the PostgreSQL inbox, besides the statements that it shares with SQLite. `$1` is the time in milliseconds, or
// null for the server's own clock, in every statement that needs the time.
//
// PLANS. A table that was filled since it was last analysed, or never was, must not change how a statement runs. Rows are
// therefore found by conditions that leave the planner one index: an array of ids, or a LATERAL subquery with a LIMIT. Of
// a column without statistics the planner takes a value to be rare, and would sort all keys of a source rather than read
// the first of them in the order of the index: the conditions on keys are ranges, which it takes to be wide, of an
// expression that no other index has.
//
// LOCKS. A statement that waits for the locks of several keys takes them in the order of their names, so that two of them
// cannot wait for each other; the others skip keys that are locked. A key whose lock was free may still have changed
// since the statement's snapshot was taken, and then the snapshot shows rows of it that have ended: see `is_steady`.

import type { InboxLease } from "../inbox.ts";
import { keyOf, type SqlTables, sqlStatements } from "../sql-statements.ts";
import { claimStatements } from "./postgres-claim-statements.ts";
import { durable, isLimited, limit, limits, now, replicated, wakeSource } from "./postgres-expressions.ts";

export type PostgresStatements = ReturnType<typeof postgresStatements>;

/**
 * @param schema an identifier that needs no quotes
 * @param lockTimeoutMs A key may be locked by a session that does not respond. What shares a statement with it waits no
 * longer than this.
 */
export function postgresStatements(schema: string, lockTimeoutMs = 2_000) {
  const limitedLocks = limit("lock_timeout", lockTimeoutMs);
  const tables: SqlTables = {
    deliveries: `${schema}.deliveries`,
    bodies: `${schema}.bodies`,
    keys: `${schema}.ordering_keys`,
    queue: `${schema}.queue`,
    marks: `${schema}.marks`,
  };
  return {
    ...sqlStatements({
      ...{ ...tables, now, least: "least", wakeSource },
      isListed: "(CAST($3 AS text[]) IS NULL OR state = ANY($3))",
      skipLocked: (table) => `FOR UPDATE OF ${table} SKIP LOCKED`,
      returning: "RETURNING 1",
    }),
    ...insertStatements(tables, limitedLocks),
    ...claimStatements(tables),
    ...endStatements(tables, limitedLocks),
    ...inlineStatements(tables),
    ...countStatements(tables),
    lockDelivery: `SELECT 1 FROM ${tables.deliveries} WHERE source = $1 AND webhook_id = $2 FOR UPDATE`,
  };
}

function insertStatements({ deliveries, bodies, keys, queue }: SqlTables, limitedLocks: string) {
  return {
    /**
     * Stores deliveries with their bodies and queues them by key; the first of equal ids is stored. `$16` is all bodies
     * in one buffer: an array of them would be sent as hexadecimal text.
     */
    insertRows: `
    WITH ${durable},
    ${limits(limitedLocks)},
    input AS (
      SELECT DISTINCT ON (source, webhook_id) *
      FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::bigint[], $11::text[], $12::integer[], $13::text[], $14::integer[], $15::integer[])
      WITH ORDINALITY AS input (source, webhook_id, channel, event, order_key, position, status, workspace,
        signed_at, quarantine, secret_index, traceparent, body_start, body_bytes, place)
      ORDER BY source, webhook_id, place),
    stored AS (
      INSERT INTO ${deliveries} (source, webhook_id, channel, event, order_key, position, status, workspace, signed_at,
        received_at, outcome, last_error, secret_index, traceparent)
      SELECT source, webhook_id, channel, event, order_key, position, status, workspace, signed_at, ${now},
        CASE WHEN quarantine IS NOT NULL THEN 'quarantined' END, quarantine, secret_index, traceparent
      FROM input, durable WHERE durable.setting IS NOT NULL AND ${isLimited}
      ON CONFLICT (source, webhook_id) DO NOTHING
      RETURNING seq, source, webhook_id),
    new_rows AS MATERIALIZED (
      SELECT seq, source, webhook_id, ${keyOf("")} AS order_key, coalesce(position, '') AS position, workspace,
        quarantine IS NULL AS is_event, body_start, body_bytes
      FROM stored JOIN input USING (source, webhook_id)),
    bodies_stored AS (
      INSERT INTO ${bodies} (seq, body)
      SELECT seq, substring($16::bytea FROM body_start FOR body_bytes) FROM new_rows),
    keys_stored AS (
      INSERT INTO ${keys} AS ordering_key (source, order_key, workspace, waiting, wake_at)
      SELECT source, order_key, max(workspace), count(*), ${now} FROM new_rows WHERE is_event
      GROUP BY source, order_key ORDER BY source, order_key
      ON CONFLICT (source, order_key) DO UPDATE
      SET waiting = ordering_key.waiting + excluded.waiting,
          workspace = coalesce(excluded.workspace, ordering_key.workspace),
          wake_at = CASE WHEN ordering_key.worker IS NULL
            THEN least(ordering_key.wake_at, excluded.wake_at) ELSE ordering_key.wake_at END
      RETURNING id, source, order_key),
    queued AS (
      INSERT INTO ${queue} (key_id, position, seq, due_at, body_bytes)
      SELECT id, position, seq, 0, body_bytes FROM new_rows JOIN keys_stored USING (source, order_key)
      WHERE is_event)
    SELECT source, webhook_id FROM new_rows`,

    compareBodies: `
    WITH ${durable}, ${replicated}
    SELECT input.source, input.webhook_id,
      body.body = substring($5::bytea FROM body_start FOR input.body_bytes) AS same
    FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[])
      AS input (source, webhook_id, body_start, body_bytes)
    CROSS JOIN LATERAL (
      SELECT seq FROM ${deliveries} AS stored
      WHERE stored.source = input.source AND stored.webhook_id = input.webhook_id LIMIT 1) AS delivery
    LEFT JOIN LATERAL (
      SELECT body FROM ${bodies} AS stored WHERE stored.seq = delivery.seq LIMIT 1) AS body ON true
    CROSS JOIN durable CROSS JOIN replicated
    WHERE durable.setting IS NOT NULL AND replicated.lsn IS NOT NULL`,

    awaitReplication: `
    WITH ${durable}, ${replicated}
    SELECT 1 FROM durable, replicated WHERE durable.setting IS NOT NULL AND replicated.lsn IS NOT NULL`,
  };
}

function endStatements({ deliveries, keys, queue }: SqlTables, limitedLocks: string) {
  return {
    /**
     * Ends claimed rows and advances the heads of their keys; a row whose head is already further becomes stale. A row
     * that is not returned was not held, or had ended before. With `$15` only in the transaction of that id.
     */
    endRows: `
    WITH ${limits(limitedLocks, "CASE WHEN $15::text IS NULL THEN '' ELSE set_config('idle_in_transaction_session_timeout', '5000', true) END")},
    input AS MATERIALIZED (
      SELECT * FROM unnest($2::bigint[], $3::text[], $4::integer[], $5::text[], $6::bigint[], $7::text[],
        $8::bigint[], $9::integer[], $10::text[], $11::text[], $12::text[], $13::boolean[], $14::boolean[])
      WITH ORDINALITY AS input (key_id, worker, generation, position, seq, outcome, delay, attempts, error,
        head_position, head_status, allow_same, frees, place)),
    held AS MATERIALIZED (
      SELECT id, worker, generation, position AS head FROM ${keys} AS ordering_key
      WHERE ${isLimited} AND id = ANY (ARRAY(SELECT key_id FROM input)) AND EXISTS (
        SELECT 1 FROM input WHERE (input.key_id, input.worker, input.generation)
          = (ordering_key.id, ordering_key.worker, ordering_key.generation))
        AND ($15::text IS NULL OR pg_current_xact_id()::text = $15)
      ORDER BY source, order_key FOR UPDATE),
    ending AS MATERIALIZED (
      SELECT DISTINCT ON (input.seq) input.*, CASE WHEN input.outcome = 'done' AND input.head_position IS NOT NULL AND (
          input.head_position < held.head OR (input.head_position = held.head AND NOT input.allow_same))
        THEN 'stale' ELSE input.outcome END AS result
      FROM input JOIN held ON (held.id, held.worker, held.generation) = (input.key_id, input.worker, input.generation)
      ORDER BY input.seq, input.place),
    ended AS (
      DELETE FROM ${queue} AS waiting USING ending
      WHERE waiting.key_id = ending.key_id AND waiting.position = ending.position AND waiting.seq = ending.seq
        AND ending.result IN ('done', 'stale', 'dead')
      RETURNING waiting.seq, waiting.last_error),
    retried AS (
      UPDATE ${queue} AS waiting
      SET due_at = ${now} + ending.delay, attempts = ending.attempts, last_error = ending.error
      FROM ending
      WHERE waiting.key_id = ending.key_id AND waiting.position = ending.position AND waiting.seq = ending.seq
        AND ending.result = 'retry'
      RETURNING waiting.seq, waiting.due_at),
    settled AS MATERIALIZED (
      SELECT ending.*, ended.seq IS NOT NULL AS is_ended, ended.last_error, retried.due_at AS retry_at
      FROM ending LEFT JOIN ended USING (seq) LEFT JOIN retried USING (seq) LEFT JOIN LATERAL (
        SELECT waiting.seq FROM ${queue} AS waiting
        WHERE ending.result = 'release' AND waiting.key_id = ending.key_id AND waiting.position = ending.position
          AND waiting.seq = ending.seq LIMIT 1) AS released ON true
      WHERE released.seq IS NOT NULL OR ended.seq IS NOT NULL OR retried.seq IS NOT NULL),
    -- A row that ended well at its first attempt needs no mark: it is done because it is not queued.
    recorded AS (
      UPDATE ${deliveries} AS delivery
      SET outcome = nullif(settled.result, 'done'), attempts = settled.attempts,
          last_error = coalesce(settled.error, settled.last_error)
      FROM settled
      WHERE delivery.seq = ANY (ARRAY(SELECT seq FROM settled WHERE is_ended AND (result <> 'done' OR attempts > 1)))
        AND delivery.seq = settled.seq),
    newest AS MATERIALIZED (
      SELECT DISTINCT ON (key_id) key_id, head_position, head_status FROM settled
      WHERE result = 'done' AND head_position IS NOT NULL ORDER BY key_id, head_position DESC, place DESC),
    changes AS MATERIALIZED (
      SELECT key_id, count(*) AS rows, count(*) FILTER (WHERE is_ended) AS ended, count(retry_at) AS retried, min(retry_at) AS retry_at,
        bool_or(frees) AS frees FROM settled GROUP BY key_id),
    after AS MATERIALIZED (
      SELECT changes.*, newest.head_position, newest.head_status,
        changes.frees AND newest.head_position IS NULL AND held.head IS NULL AS is_headless
      FROM changes JOIN held ON held.id = changes.key_id LEFT JOIN newest USING (key_id)),
    emptied AS (
      DELETE FROM ${keys} AS ordering_key USING after
      WHERE ordering_key.id = ANY (ARRAY(SELECT key_id FROM after)) AND ordering_key.id = after.key_id
        AND after.is_headless AND ordering_key.waiting = after.ended),
    updated AS (
      UPDATE ${keys} AS ordering_key
      SET position = coalesce(after.head_position, ordering_key.position),
          status = CASE WHEN after.head_position IS NULL THEN ordering_key.status ELSE after.head_status END,
          moved_at = CASE WHEN after.head_position IS NULL THEN ordering_key.moved_at ELSE ${now} END,
          waiting = ordering_key.waiting - after.ended,
          suspects = greatest(0, ordering_key.suspects - after.ended),
          worker = CASE WHEN after.frees THEN NULL ELSE ordering_key.worker END,
          held = CASE WHEN after.frees THEN 0 ELSE greatest(0, ordering_key.held - after.rows) END,
          wake_at = CASE
            WHEN NOT after.frees THEN ordering_key.wake_at
            WHEN ordering_key.waiting = after.ended THEN NULL
            WHEN ordering_key.waiting - after.ended = after.retried THEN after.retry_at
            ELSE ${now} END
      FROM after
      WHERE ordering_key.id = ANY (ARRAY(SELECT key_id FROM after)) AND ordering_key.id = after.key_id
        AND NOT (after.is_headless AND ordering_key.waiting = after.ended)
      RETURNING ordering_key.id, ordering_key.worker IS NULL AND ordering_key.wake_at IS NOT NULL AS has_more)
    SELECT settled.place, settled.result, coalesce(updated.has_more, false) AS has_more
    FROM settled LEFT JOIN updated ON updated.id = settled.key_id`,

    /** Checked before a handler's first statement, and again by `endRows` before the commit. */
    checkLease: `
    SELECT position AS head, pg_current_xact_id()::text AS xact, pg_backend_pid() AS pid,
      (SELECT xact_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()) AS began
    FROM ${keys} WHERE id = $1 AND worker = $2 AND generation = $3`,

    currentTransaction: "SELECT pg_current_xact_id()::text AS xact",

    /** The same as a text without parameters, for a message of several statements. */
    leaseOf: ({ keyId, worker, generation }: InboxLease) => `
    SELECT position AS head, pg_current_xact_id()::text AS xact FROM ${keys}
    WHERE id = ${Number(keyId)} AND worker = '${worker.replaceAll("'", "''")}' AND generation = ${Number(generation)}`,
  };
}

function inlineStatements({ deliveries, bodies, keys }: SqlTables) {
  return {
    beginInline: `
    WITH ${durable},
    begun AS (
      INSERT INTO ${deliveries} AS delivery
        (source, webhook_id, channel, signed_at, received_at, outcome, lease_until, leased_at, generation)
      SELECT $2, $3, 'webhook', $4::bigint, ${now}, 'inline', ${now} + $5::bigint, ${now}, 1
      FROM durable WHERE durable.setting IS NOT NULL
      ON CONFLICT (source, webhook_id) DO UPDATE
      SET lease_until = excluded.lease_until, leased_at = excluded.leased_at, generation = delivery.generation + 1
      WHERE delivery.outcome = 'inline' AND delivery.lease_until <= ${now}
      RETURNING seq, generation),
    body_stored AS (
      INSERT INTO ${bodies} (seq, body) SELECT seq, $6::bytea FROM begun ON CONFLICT (seq) DO NOTHING)
    SELECT generation FROM begun`,

    finishInline: `
    WITH ${durable}
    UPDATE ${deliveries} SET outcome = $4, lease_until = 0, leased_at = 0 FROM durable
    WHERE durable.setting IS NOT NULL
      AND source = $1 AND webhook_id = $2 AND generation = $3 AND outcome = 'inline'
    RETURNING seq`,

    advanceHead: `
    WITH ${durable}
    INSERT INTO ${keys} AS ordering_key (source, order_key, position, status, moved_at, waiting)
    SELECT $2, $3, $4, NULL, ${now}, 0 FROM durable WHERE durable.setting IS NOT NULL
    ON CONFLICT (source, order_key) DO UPDATE
    SET position = excluded.position, status = excluded.status, moved_at = excluded.moved_at
    WHERE ordering_key.position IS NULL OR excluded.position > ordering_key.position
    RETURNING 1`,
  };
}

function countStatements({ deliveries, keys, queue }: SqlTables) {
  return {
    /** The key that has waited longest has the row that has waited longest, or one like it. */
    countStates: `
    WITH live AS (
      SELECT coalesce(sum(waiting), 0) AS waiting,
        coalesce(sum(CASE WHEN worker IS NULL THEN 0 ELSE held END), 0) AS running
      FROM ${keys} WHERE wake_at IS NOT NULL),
    outcomes AS (SELECT coalesce(outcome, 'done') AS state, count(*) AS count FROM ${deliveries} GROUP BY 1)
    SELECT state, CASE state WHEN 'done' THEN count - waiting ELSE count END AS count, NULL::bigint AS oldest
    FROM outcomes, live
    UNION ALL SELECT 'running', running, NULL FROM live
    UNION ALL SELECT 'pending', waiting - running, ${now} - (
      SELECT min(coalesce(delivery.replayed_at, delivery.received_at)) FROM (
        SELECT id FROM ${keys} WHERE worker IS NULL AND wake_at <= ${now} ORDER BY wake_at LIMIT 1) AS oldest
      JOIN ${queue} AS waiting ON waiting.key_id = oldest.id
      JOIN ${deliveries} AS delivery ON delivery.seq = waiting.seq)
    FROM live`,
  };
}
