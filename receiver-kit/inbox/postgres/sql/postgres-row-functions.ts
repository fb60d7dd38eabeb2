// How rows are stored and how they end; see postgres-statements.ts about plans and locks.

import { keyOf, type SqlTables } from "../../sql/sql-statements.ts";
import { durable, isLimited, limit, limits, now } from "./postgres-expressions.ts";
import type { FunctionSource } from "./postgres-functions.ts";

/**
 * Stores deliveries with their bodies and queues them by key; the first of equal ids is stored. `$16` is all bodies in
 * one buffer: an array of them would be sent as hexadecimal text.
 */
export function insertFunction({ deliveries, bodies, keys, queue }: SqlTables): FunctionSource {
  return {
    name: "insert_rows",
    parameters: `bigint, text[], text[], text[], text[], text[], text[], text[], text[], bigint[], text[], integer[],
      text[], integer[], integer[], bytea, bigint`,
    columns: "source text, webhook_id text",
    // Rows are joined to rows: each to all of them would be quadratic.
    settingsOff: ["jit", "enable_seqscan", "enable_nestloop"],
    statement: `
    WITH ${durable},
    ${limits(limit("lock_timeout", "$17"))},
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
  };
}

/**
 * Ends claimed rows and advances the heads of their keys; a row whose head is already further becomes stale. A row that is
 * not returned was not held, or had ended before. With `$15` only in the transaction of that id.
 */
export function endFunction({ deliveries, keys, queue }: SqlTables): FunctionSource {
  const newest = (
    column: string,
  ) => `(array_agg(${column} ORDER BY head_position COLLATE "C" DESC, place DESC)
          FILTER (WHERE result = 'done' AND head_position IS NOT NULL))[1] AS ${column}`;
  return {
    name: "end_rows",
    parameters: `bigint, bigint[], text[], integer[], text[], bigint[], text[], bigint[], integer[], text[], text[],
      text[], boolean[], boolean[], text, bigint`,
    columns: "place bigint, result text, has_more boolean",
    settingsOff: ["jit", "enable_seqscan"],
    statement: `
    WITH ${limits(limit("lock_timeout", "$16"), "CASE WHEN $15::text IS NULL THEN '' ELSE set_config('idle_in_transaction_session_timeout', '5000', true) END")},
    input AS MATERIALIZED (
      SELECT * FROM unnest($2::bigint[], $3::text[], $4::integer[], $5::text[], $6::bigint[], $7::text[],
        $8::bigint[], $9::integer[], $10::text[], $11::text[], $12::text[], $13::boolean[], $14::boolean[])
      WITH ORDINALITY AS input (key_id, worker, generation, position, seq, outcome, delay, attempts, error,
        head_position, head_status, allow_same, frees, place)),
    held AS MATERIALIZED (
      SELECT id, worker, generation, position AS head, waiting FROM ${keys} AS ordering_key
      WHERE ${isLimited} AND id = ANY (ARRAY(SELECT key_id FROM input)) AND EXISTS (
        SELECT 1 FROM input WHERE (input.key_id, input.worker, input.generation)
          = (ordering_key.id, ordering_key.worker, ordering_key.generation))
        AND ($15::text IS NULL OR pg_current_xact_id()::text = $15)
      ORDER BY source, order_key FOR UPDATE),
    ending AS MATERIALIZED (
      SELECT DISTINCT ON (input.seq) input.*, held.head, held.waiting,
        CASE WHEN input.outcome = 'done' AND input.head_position IS NOT NULL AND (
          input.head_position < held.head OR (input.head_position = held.head AND NOT input.allow_same))
        THEN 'stale' ELSE input.outcome END AS result
      FROM input JOIN held ON (held.id, held.worker, held.generation) = (input.key_id, input.worker, input.generation)
      ORDER BY input.seq, input.place),
    ended AS (
      DELETE FROM ${queue} AS waiting USING ending
      WHERE waiting.key_id = ending.key_id AND waiting.position = ending.position AND waiting.seq = ending.seq
        AND ending.result IN ('done', 'stale', 'dead')
      RETURNING ending.*, true AS is_ended, waiting.last_error, NULL::bigint AS retry_at),
    retried AS (
      UPDATE ${queue} AS waiting
      SET due_at = ${now} + ending.delay, attempts = ending.attempts, last_error = ending.error
      FROM ending
      WHERE waiting.key_id = ending.key_id AND waiting.position = ending.position AND waiting.seq = ending.seq
        AND ending.result = 'retry'
      RETURNING ending.*, false AS is_ended, NULL, waiting.due_at AS retry_at),
    released AS (
      SELECT ending.*, false AS is_ended, NULL, NULL::bigint AS retry_at FROM ending CROSS JOIN LATERAL (
        SELECT 1 FROM ${queue} AS waiting
        WHERE waiting.key_id = ending.key_id AND waiting.position = ending.position AND waiting.seq = ending.seq
        LIMIT 1) AS waiting
      WHERE ending.result = 'release'),
    settled AS MATERIALIZED (
      SELECT * FROM ended UNION ALL SELECT * FROM retried UNION ALL SELECT * FROM released),
    -- A row that ended well at its first attempt needs no mark: it is done because it is not queued.
    recorded AS (
      UPDATE ${deliveries} AS delivery
      SET outcome = nullif(settled.result, 'done'), attempts = settled.attempts,
          last_error = coalesce(settled.error, settled.last_error, delivery.last_error)
      FROM settled
      WHERE delivery.seq = settled.seq AND settled.is_ended AND (settled.result <> 'done' OR settled.attempts > 1)),
    changes AS MATERIALIZED (
      SELECT key_id, count(*) AS rows, count(*) FILTER (WHERE is_ended) AS ended, count(retry_at) AS retried,
        min(retry_at) AS retry_at, bool_or(frees) AS frees, max(head) AS head, max(waiting) AS waiting, array_agg(seq) AS seqs, ${newest("head_position")},
        ${newest("head_status")}
      FROM settled GROUP BY key_id),
    -- By the locked version: the one in the snapshot may be older, and filtered before the newer one is looked at.
    after AS MATERIALIZED (
      SELECT changes.*, frees AND head_position IS NULL AND head IS NULL AND waiting = ended AS is_empty FROM changes),
    emptied AS (
      DELETE FROM ${keys} WHERE id = ANY (ARRAY(SELECT key_id FROM after WHERE is_empty))),
    updated AS (
      UPDATE ${keys} AS ordering_key
      SET position = coalesce(after.head_position, ordering_key.position),
          status = CASE WHEN after.head_position IS NULL THEN ordering_key.status ELSE after.head_status END,
          moved_at = CASE WHEN after.head_position IS NULL THEN ordering_key.moved_at ELSE ${now} END,
          waiting = ordering_key.waiting - after.ended,
          suspects = greatest(0, ordering_key.suspects - after.ended),
          worker = CASE WHEN after.frees THEN NULL ELSE ordering_key.worker END,
          held = CASE WHEN after.frees THEN 0 ELSE greatest(0, ordering_key.held - after.rows) END,
          claimed = CASE WHEN NOT after.frees THEN ARRAY(
            SELECT seq FROM unnest(ordering_key.claimed) AS open (seq) WHERE seq <> ALL (after.seqs)) END,
          wake_at = CASE
            WHEN NOT after.frees THEN ordering_key.wake_at
            WHEN ordering_key.waiting = after.ended THEN NULL
            WHEN ordering_key.waiting - after.ended = after.retried THEN after.retry_at
            ELSE ${now} END
      FROM after
      WHERE ordering_key.id = after.key_id AND NOT after.is_empty
      RETURNING ordering_key.id, ordering_key.worker IS NULL AND ordering_key.wake_at IS NOT NULL AS has_more)
    SELECT place, result, key_id IN (SELECT id FROM updated WHERE has_more) AS has_more FROM settled`,
  };
}
