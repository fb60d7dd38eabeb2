// How rows are claimed, leases expire, and leases are extended; see postgres-statements.ts about plans and locks.

import { leaseExpired } from "../inbox.ts";
import { isDue, type SqlTables } from "../sql-statements.ts";
import { isLimited, limitedSending, limits, now, wakeSource } from "./postgres-expressions.ts";

export function claimStatements({ deliveries, bodies, keys, queue }: SqlTables) {
  const due = isDue({ now, least: "least" }, "$9", "$10");
  const isReclaimable = (until: string) => `wake_at <= least(${now}, coalesce(${until}::bigint, ${now}))`;
  const claimKeys = (isReady: string, nextDue: string) => `
    WITH ${limits(limitedSending)},
    picked AS MATERIALIZED (
      SELECT id, position AS head, generation, waiting, suspects, wake_at, worker IS NOT NULL AS expired FROM ${keys}
      WHERE ${isLimited} AND ${wakeSource} >= $2 AND (${wakeSource}, wake_at) <= ($2, ${now}) AND wake_at IS NOT NULL
        AND (worker IS NULL OR ${isReclaimable("$8")})
      ORDER BY ${wakeSource}, wake_at, id LIMIT $4 FOR UPDATE SKIP LOCKED),
    steady AS MATERIALIZED (
      SELECT picked.*, (
        SELECT seen.worker IS NULL AND seen.generation = picked.generation FROM ${keys} AS seen
        WHERE seen.id = picked.id) AS is_steady
      FROM picked WHERE NOT expired),
    ready AS MATERIALIZED (
      SELECT picked.id, picked.head, waiting_row.*,
        row_number() OVER rows_before AS place, sum(waiting_row.body_bytes) OVER rows_before AS bytes
      FROM steady AS picked CROSS JOIN LATERAL (
        SELECT *, row_number() OVER in_key AS place_in_key, bool_and(is_due) OVER in_key AS all_due
        FROM (
          SELECT position, seq, attempts, body_bytes, ${due} AS is_due FROM ${queue} AS waiting
          WHERE waiting.key_id = picked.id ${isReady} ORDER BY position, seq LIMIT $5) AS first_rows
        WINDOW in_key AS (ORDER BY position, seq)) AS waiting_row
      WHERE is_steady AND all_due AND (suspects = 0 OR place_in_key = 1)
      WINDOW rows_before AS (ORDER BY picked.wake_at, picked.id, waiting_row.position, waiting_row.seq)),
    taken AS MATERIALIZED (SELECT * FROM ready WHERE place <= $4 AND (place = 1 OR bytes <= $6)),
    held AS MATERIALIZED (SELECT id, count(*) AS rows FROM taken GROUP BY id),
    leased AS (
      UPDATE ${keys} AS ordering_key
      SET worker = $3, generation = generation + 1, held = held.rows, wake_at = ${now} + $7::bigint, leased_at = ${now}
      FROM held
      WHERE ordering_key.id = ANY (ARRAY(SELECT id FROM held)) AND ordering_key.id = held.id
      RETURNING ordering_key.id, generation),
    -- Keys without a due row. One with rows that this statement does not see yet is tried again soon.
    unready AS MATERIALIZED (SELECT * FROM steady WHERE id <> ALL (ARRAY(SELECT id FROM ready))),
    not_due AS MATERIALIZED (
      SELECT picked.id,
        CASE WHEN is_steady AND visible.rows = picked.waiting THEN visible.next_due ELSE ${now} + 20 END AS wake_at
      FROM unready AS picked CROSS JOIN LATERAL (
        SELECT count(*) AS rows, ${nextDue} AS next_due FROM ${queue} AS waiting WHERE waiting.key_id = picked.id
      ) AS visible),
    deferred AS (
      UPDATE ${keys} AS ordering_key SET wake_at = not_due.wake_at FROM not_due
      WHERE ordering_key.id = ANY (ARRAY(SELECT id FROM not_due)) AND ordering_key.id = not_due.id)
    SELECT state.now, state.next_in, state.expired, claimed.*
    FROM (
      SELECT ${now} AS now, ARRAY(SELECT id FROM picked WHERE expired) AS expired,
        CASE WHEN limits.taken < $4 AND (limits.picked = $4 OR limits.ready > limits.taken) THEN 0 ELSE least((SELECT min(wake_at) FROM not_due),
          (SELECT wake_at FROM ${keys}
            WHERE ${wakeSource} <= $2 AND (${wakeSource}, wake_at) > ($2, ${now}) AND wake_at IS NOT NULL
            ORDER BY ${wakeSource}, wake_at LIMIT 1)
        ) - ${now} END AS next_in
      FROM (
        SELECT (SELECT count(*) FROM taken) AS taken, (SELECT count(*) FROM picked) AS picked,
          (SELECT count(*) FROM ready) AS ready) AS limits) AS state
    LEFT JOIN (
      SELECT taken.id AS key_id, leased.generation, taken.head, taken.attempts, taken.place, delivery.*, body.body
      FROM taken JOIN leased USING (id)
      CROSS JOIN LATERAL (
        SELECT seq, source, webhook_id, channel, event, order_key, position, status, workspace, signed_at, received_at,
          replays, secret_index, traceparent
        FROM ${deliveries} AS stored WHERE stored.seq = taken.seq LIMIT 1) AS delivery
      LEFT JOIN LATERAL (SELECT body FROM ${bodies} AS stored WHERE stored.seq = taken.seq LIMIT 1) AS body ON true
    ) AS claimed ON true
    ORDER BY claimed.place`;

  return {
    claimLatest: claimKeys(`AND ${due}`, "min(due_at)"),
    claimStrict: claimKeys("", "(array_agg(due_at ORDER BY position, seq))[1]"),

    /** Keys whose lease expired: their first due row has an attempt more, or is dead after its last one. */
    recoverExpired: `
    WITH expired AS MATERIALIZED (
      SELECT id, position AS head, waiting FROM ${keys}
      WHERE id = ANY ($2::bigint[]) AND worker IS NOT NULL AND ${isReclaimable("$6")}
      FOR UPDATE SKIP LOCKED),
    first_rows AS MATERIALIZED (
      SELECT expired.id, waiting_row.* FROM expired CROSS JOIN LATERAL (
        SELECT position, seq, attempts FROM ${queue} AS waiting
        WHERE waiting.key_id = expired.id AND ${isDue({ now, least: "least" }, "$4", "$5")}
        ORDER BY position, seq LIMIT 1) AS waiting_row),
    died AS (
      DELETE FROM ${queue} AS waiting USING first_rows
      WHERE waiting.key_id = first_rows.id AND waiting.position = first_rows.position
        AND waiting.seq = first_rows.seq AND first_rows.attempts + 1 >= $3
      RETURNING waiting.key_id, waiting.seq, waiting.attempts),
    counted AS (
      UPDATE ${queue} AS waiting SET attempts = waiting.attempts + 1, due_at = 0 FROM first_rows
      WHERE waiting.key_id = first_rows.id AND waiting.position = first_rows.position
        AND waiting.seq = first_rows.seq AND first_rows.attempts + 1 < $3),
    buried AS (
      UPDATE ${deliveries} AS delivery
      SET outcome = 'dead', attempts = died.attempts + 1, last_error = '${leaseExpired}' FROM died
      WHERE delivery.seq = ANY (ARRAY(SELECT seq FROM died)) AND delivery.seq = died.seq
      RETURNING delivery.source, delivery.webhook_id),
    state AS MATERIALIZED (
      SELECT expired.id, expired.head IS NULL AND expired.waiting = count(died.seq) AS is_empty,
        count(died.seq)::integer AS died
      FROM expired LEFT JOIN died ON died.key_id = expired.id GROUP BY expired.id, expired.head, expired.waiting),
    emptied AS (
      DELETE FROM ${keys} WHERE id = ANY (ARRAY(SELECT id FROM state WHERE is_empty))),
    freed AS (
      UPDATE ${keys} AS ordering_key
      SET worker = NULL, held = 0, waiting = ordering_key.waiting - state.died,
          suspects = greatest(0, ordering_key.held - state.died),
          wake_at = CASE WHEN ordering_key.waiting > state.died THEN ${now} END
      FROM state
      WHERE ordering_key.id = ANY (ARRAY(SELECT id FROM state WHERE NOT is_empty)) AND ordering_key.id = state.id)
    SELECT source, webhook_id FROM buried`,

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
  };
}
