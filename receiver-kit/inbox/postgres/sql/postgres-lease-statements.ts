// How leases expire, and are extended and checked; see postgres-statements.ts about plans and locks.

import { errorBefore, leaseExpired } from "../../inbox.ts";
import { recoveredPlaces } from "../../recovered-row.ts";
import type { SqlTables } from "../../sql/sql-statements.ts";
import { now } from "./postgres-expressions.ts";

/** Of a transaction, also behind a pooler. */
const identity = "pg_current_xact_id()::text AS xact, pg_backend_pid() AS pid, now()::text AS began";

export function leaseStatements({ deliveries, keys, queue }: SqlTables) {
  /** Of the retry plan, after one attempt more. */
  const delay = "least($5::bigint, $4::bigint * (1::bigint << least(attempts, 30)))";
  return {
    /**
     * Keys whose lease expired: the rows that were being handled have an attempt more, or are dead after their last one.
     * About their due times see recovered-row.ts.
     */
    recoverExpired: `
    WITH expired AS MATERIALIZED (
      SELECT id, position AS head, waiting, claimed FROM ${keys}
      WHERE id = ANY ($2::bigint[]) AND worker IS NOT NULL AND wake_at <= ${now}
      FOR UPDATE SKIP LOCKED),
    handled AS MATERIALIZED (
      SELECT numbered.id, waiting_row.*, ${delay} * least(numbered.place, ${recoveredPlaces}) / ${recoveredPlaces} AS after
      FROM (SELECT *, row_number() OVER (ORDER BY id) - 1 AS place FROM expired) AS numbered CROSS JOIN LATERAL (
        SELECT position, seq, attempts FROM ${queue} AS waiting
        WHERE waiting.key_id = numbered.id AND waiting.seq = ANY (numbered.claimed)
        ORDER BY position, seq LIMIT 1) AS waiting_row),
    died AS (
      DELETE FROM ${queue} AS waiting USING handled
      WHERE waiting.key_id = handled.id AND waiting.position = handled.position
        AND waiting.seq = handled.seq AND handled.attempts + 1 >= $3
      RETURNING waiting.key_id, waiting.seq, waiting.attempts, waiting.last_error),
    counted AS (
      UPDATE ${queue} AS waiting
      SET attempts = waiting.attempts + 1, due_at = CASE WHEN after > 0 THEN ${now} + after ELSE 0 END
      FROM handled
      WHERE waiting.key_id = handled.id AND waiting.position = handled.position
        AND waiting.seq = handled.seq AND handled.attempts + 1 < $3),
    buried AS (
      UPDATE ${deliveries} AS delivery
      SET outcome = 'dead', attempts = died.attempts + 1, last_error = '${leaseExpired}' || coalesce('${errorBefore}' || died.last_error, '') FROM died
      WHERE delivery.seq = ANY (ARRAY(SELECT seq FROM died)) AND delivery.seq = died.seq
      RETURNING delivery.source, delivery.webhook_id, delivery.last_error),
    state AS MATERIALIZED (
      SELECT expired.id, expired.head IS NULL AND expired.waiting = count(died.seq) AS is_empty,
        count(died.seq)::integer AS died,
        ${now} + coalesce(max(handled.after), 0) AS due_at
      FROM expired LEFT JOIN handled ON handled.id = expired.id LEFT JOIN died ON died.key_id = expired.id
      GROUP BY expired.id, expired.head, expired.waiting),
    emptied AS (
      DELETE FROM ${keys} WHERE id = ANY (ARRAY(SELECT id FROM state WHERE is_empty))),
    freed AS (
      UPDATE ${keys} AS ordering_key
      SET worker = NULL, held = 0, claimed = NULL, waiting = ordering_key.waiting - state.died,
          suspects = greatest(0, ordering_key.held - state.died),
          wake_at = CASE WHEN ordering_key.waiting > 1 THEN ${now} WHEN ordering_key.waiting > state.died THEN state.due_at END
      FROM state
      WHERE ordering_key.id = ANY (ARRAY(SELECT id FROM state WHERE NOT is_empty)) AND ordering_key.id = state.id)
    SELECT source, webhook_id, last_error FROM buried`,

    /** Returns the places of those that are still held. One that its own worker is changing at this moment is left as it is. */
    renewLeases: `
    WITH input AS (
      SELECT * FROM unnest($3::bigint[], $4::text[], $5::integer[])
      WITH ORDINALITY AS input (id, worker, generation, place)),
    free AS (
      SELECT id FROM ${keys} AS ordering_key
      WHERE id = ANY ($3::bigint[]) AND EXISTS (
        SELECT 1 FROM input WHERE (input.id, input.worker, input.generation)
          = (ordering_key.id, ordering_key.worker, ordering_key.generation))
      ORDER BY id FOR UPDATE SKIP LOCKED),
    renewed AS (
      UPDATE ${keys} AS ordering_key SET wake_at = ${now} + $2::bigint, leased_at = ${now}
      WHERE ordering_key.id = ANY (ARRAY(SELECT id FROM free)))
    SELECT input.place FROM ${keys} AS ordering_key JOIN input USING (id, worker, generation)
    WHERE ordering_key.id = ANY ($3::bigint[])`,

    /** Checked before a handler's first statement, and again by `endRows` before the commit. */
    checkLease: `
    SELECT position AS head, ${identity}
    FROM ${keys} WHERE id = $1 AND worker = $2 AND generation = $3`,

    currentTransaction: "SELECT pg_current_xact_id()::text AS xact",
  };
}
