// How rows are claimed; see postgres-statements.ts about plans and locks.

import { isDue, type SqlTables } from "../../sql/sql-statements.ts";
import { isLimited, limitedSending, limits, now, wakeSource } from "./postgres-expressions.ts";
import type { FunctionSource } from "./postgres-functions.ts";

const parameters = "bigint, text, text, bigint, bigint, bigint, bigint, bigint, bigint";
const columns = `next_in bigint, expired bigint[], key_id bigint, generation integer, head text,
  attempts integer, place bigint, seq bigint, source text, webhook_id text, channel text, event text, order_key text,
  "position" text, status text, workspace text, signed_at bigint, received_at bigint, replays integer,
  secret_index integer, traceparent text, body bytea`;
/** A plan that was made while the tables were small reads all of them otherwise; among a million keys it would be compiled. */
const settingsOff = ["jit", "enable_seqscan"];

export function claimFunctions({ deliveries, bodies, keys, queue }: SqlTables) {
  const due = isDue(now, "$8");
  const claimKeys = (isReady: string, nextDue: string) => `
    WITH ${limits(limitedSending)},
    -- Picked by the next claim: what sleeps for longer than any delay was stored before the clock was set back.
    ahead AS MATERIALIZED (
      SELECT id FROM ${keys}
      WHERE ${wakeSource} <= $2 AND (${wakeSource}, wake_at) > ($2, ${now} + $8) AND wake_at IS NOT NULL
      FOR UPDATE SKIP LOCKED),
    woken AS (UPDATE ${keys} AS ordering_key SET wake_at = ${now} FROM ahead WHERE ordering_key.id = ahead.id),
    picked AS MATERIALIZED (
      SELECT id, position AS head, generation, waiting, suspects, wake_at, worker IS NOT NULL AS expired FROM ${keys}
      WHERE ${isLimited} AND ${wakeSource} >= $2 AND (${wakeSource}, wake_at) <= ($2, ${now}) AND wake_at IS NOT NULL
      ORDER BY ${wakeSource}, wake_at, id LIMIT $9 FOR UPDATE SKIP LOCKED),
    steady AS MATERIALIZED (
      SELECT picked.*, (
        SELECT seen.worker IS NULL AND seen.generation = picked.generation FROM ${keys} AS seen
        WHERE seen.id = picked.id) AS is_steady
      FROM picked WHERE NOT expired),
    ready AS MATERIALIZED (
      SELECT picked.id, picked.head, picked.generation + 1 AS generation, waiting_row.*,
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
    held AS MATERIALIZED (SELECT id, count(*) AS rows, array_agg(seq) AS seqs FROM taken GROUP BY id),
    leased AS (
      UPDATE ${keys} AS ordering_key
      SET worker = $3, generation = generation + 1, held = held.rows, claimed = held.seqs,
        wake_at = ${now} + $7::bigint, leased_at = ${now}
      FROM held
      WHERE ordering_key.id = held.id),
    -- Keys without a due row. One with rows that this statement does not see yet is tried again soon.
    unready AS MATERIALIZED (SELECT * FROM steady WHERE id NOT IN (SELECT id FROM ready)),
    not_due AS MATERIALIZED (
      SELECT picked.id,
        CASE WHEN is_steady AND visible.rows = picked.waiting THEN visible.next_due ELSE ${now} + 20 END AS wake_at
      FROM unready AS picked CROSS JOIN LATERAL (
        SELECT count(*) AS rows, ${nextDue} AS next_due FROM ${queue} AS waiting WHERE waiting.key_id = picked.id
      ) AS visible),
    deferred AS (
      UPDATE ${keys} AS ordering_key SET wake_at = not_due.wake_at FROM not_due
      WHERE ordering_key.id = not_due.id)
    SELECT state.next_in, state.expired, claimed.*
    FROM (
      SELECT ARRAY(SELECT id FROM picked WHERE expired) AS expired,
        CASE WHEN limits.ahead > 0 OR limits.taken < $4 AND (limits.picked = $9 OR limits.ready > limits.taken) THEN 0 ELSE least((SELECT min(wake_at) FROM not_due),
          (SELECT wake_at FROM ${keys}
            WHERE ${wakeSource} <= $2 AND (${wakeSource}, wake_at) > ($2, ${now}) AND wake_at IS NOT NULL
            ORDER BY ${wakeSource}, wake_at LIMIT 1)
        ) - ${now} END AS next_in
      FROM (
        SELECT (SELECT count(*) FROM taken) AS taken, (SELECT count(*) FROM picked) AS picked,
          (SELECT count(*) FROM ready) AS ready, (SELECT count(*) FROM ahead) AS ahead) AS limits) AS state
    LEFT JOIN (
      SELECT taken.id AS key_id, taken.generation, taken.head, taken.attempts, taken.place, delivery.*, body.body
      FROM taken CROSS JOIN LATERAL (
        SELECT seq, source, webhook_id, channel, event, order_key, position, status, workspace, signed_at, received_at,
          replays, secret_index, traceparent
        FROM ${deliveries} AS stored WHERE stored.seq = taken.seq LIMIT 1) AS delivery
      LEFT JOIN LATERAL (SELECT body FROM ${bodies} AS stored WHERE stored.seq = taken.seq LIMIT 1) AS body ON true
    ) AS claimed ON true
    ORDER BY claimed.place`;

  const claim = (name: string, statement: string): FunctionSource => {
    return { name, parameters, columns, settingsOff, statement };
  };
  return {
    latest: claim("claim_latest", claimKeys(`AND ${due}`, "min(due_at)")),
    strict: claim("claim_strict", claimKeys("", "(array_agg(due_at ORDER BY position, seq))[1]")),
  };
}
