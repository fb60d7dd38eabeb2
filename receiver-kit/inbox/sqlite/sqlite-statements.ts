// The SQL of the SQLite inbox, besides the statements that it shares with PostgreSQL. SQLite has one writer and needs no
// row locks. It has no statistics either: where it could choose another index, INDEXED BY names the right one.

import { isDue, sqlStatements } from "../sql/sql-statements.ts";
import { sqliteTables } from "./sqlite-migrations.ts";

const { deliveries, bodies, keys, queue } = sqliteTables;

// Storing

/** Inserts nothing for a duplicate. */
export const insertDelivery = `
  INSERT INTO ${deliveries}
    (source, webhook_id, channel, event, order_key, position, status, workspace, signed_at, received_at, outcome,
     last_error, secret_index, traceparent)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
  ON CONFLICT (source, webhook_id) DO NOTHING`;

export const compareBody = `
  SELECT body = ?3 AS same FROM ${deliveries} LEFT JOIN ${bodies} USING (seq) WHERE source = ?1 AND webhook_id = ?2`;

// Claiming

/** Keys with something to do, the longest waiting first. One that is leased has only its expired lease. */
export const pickKeys = `
  SELECT id, position AS head, generation, claimed, suspects, worker IS NOT NULL AS expired
  FROM ${keys} INDEXED BY workspace_tasks_ordering_keys_wake
  WHERE source = ?2 AND wake_at IS NOT NULL AND wake_at <= ?1
  ORDER BY wake_at, id LIMIT ?3`;

const due = isDue("?1", "?5");

/** ?4: in strict order, where a row that is not due stops those behind it. */
const firstOfKey = `WHERE key_id = ?2 AND (?4 OR ${due}) ORDER BY position, seq LIMIT ?3`;

/** The first rows of a key, in their order. */
export const firstRows = `SELECT body_bytes, due_at, ${due} AS is_due FROM ${queue} ${firstOfKey}`;

/** Their deliveries and bodies. */
export const firstDeliveries = `
  SELECT delivery.seq, source, webhook_id, channel, event, order_key, delivery.position, status, workspace, signed_at,
    received_at, replays, secret_index, traceparent, body.body, first.attempts
  FROM (SELECT seq, position, attempts FROM ${queue} ${firstOfKey}) AS first
    CROSS JOIN ${deliveries} AS delivery ON delivery.seq = first.seq
    LEFT JOIN ${bodies} AS body ON body.seq = first.seq
  ORDER BY first.position, first.seq`;

export const leaseKey = `
  UPDATE ${keys}
  SET worker = ?2, generation = generation + 1, held = ?3, claimed = ?6, wake_at = ?1 + ?4, leased_at = ?1
  WHERE id = ?5`;

export const deferKey = `UPDATE ${keys} SET wake_at = ?2 WHERE id = ?1`;

export const nextDueOfKey = `SELECT min(due_at) AS at FROM ${queue} WHERE key_id = ?1`;

export const nextWake = `
  SELECT min(wake_at) AS at FROM ${keys} INDEXED BY workspace_tasks_ordering_keys_wake
  WHERE source = ?2 AND wake_at IS NOT NULL AND wake_at > ?1`;

/** The row of an expired lease that was being handled. */
export const handledRow = `
  SELECT position, seq, attempts, last_error FROM ${queue}
  WHERE key_id = ?1 AND instr(?2, ',' || seq || ',') ORDER BY position, seq LIMIT 1`;

export const countAttempt = `
  UPDATE ${queue} SET attempts = attempts + 1, due_at = ?4 WHERE key_id = ?1 AND position = ?2 AND seq = ?3`;

/** After its lease expired; `?3` rows of it died, or the one that was being handled is due again at `?4`. */
export const recoverKey = `
  UPDATE ${keys}
  SET worker = NULL, waiting = waiting - ?3, suspects = max(0, held - ?3), held = 0, claimed = NULL,
      wake_at = CASE WHEN waiting > 1 THEN ?1 WHEN waiting > ?3 THEN max(?1, ?4) END
  WHERE id = ?2`;

export const renewLease = `
  UPDATE ${keys} SET wake_at = ?1 + ?2, leased_at = ?1 WHERE id = ?3 AND worker = ?4 AND generation = ?5`;

// Ending

export const readLease = `
  SELECT position AS head FROM ${keys} WHERE id = ?1 AND worker = ?2 AND generation = ?3`;

/** Changes nothing when the row had ended before, when the lease was lost, or when the head is already further. */
export const dequeueApplied = `
  DELETE FROM ${queue} WHERE key_id = ?1 AND position = ?2 AND seq = ?3 AND EXISTS (
    SELECT 1 FROM ${keys} AS held WHERE held.id = ?1 AND held.worker = ?4 AND held.generation = ?5
      AND (held.position IS NULL OR held.position < ?6 OR (?7 AND held.position = ?6)))`;

/** Returns no row when it had ended before. */
export const dequeueRow = `
  DELETE FROM ${queue} WHERE key_id = ?1 AND position = ?2 AND seq = ?3 RETURNING last_error`;

export const retryRow = `
  UPDATE ${queue} SET due_at = ?4, attempts = ?5, last_error = ?6 WHERE key_id = ?1 AND position = ?2 AND seq = ?3`;

export const findRow = `SELECT seq FROM ${queue} WHERE key_id = ?1 AND position = ?2 AND seq = ?3`;

export const recordEnd = `
  UPDATE ${deliveries} SET outcome = ?2, attempts = ?3, last_error = coalesce(?4, last_error)
  WHERE seq = ?1 RETURNING source, webhook_id`;

/** ?5 of its rows have ended; where ?2 is not null, its head is there now. */
const ended = `position = coalesce(?2, position), status = CASE WHEN ?2 IS NULL THEN status ELSE ?3 END,
      moved_at = CASE WHEN ?2 IS NULL THEN moved_at ELSE ?4 END, waiting = waiting - ?5, suspects = max(0, suspects - ?5)`;

export const updateHeld = `
  UPDATE ${keys}
  SET ${ended}, held = max(0, held - 1), claimed = replace(claimed, ',' || CAST(?6 AS INTEGER) || ',', ',')
  WHERE id = ?1`;

/** A single row that is left is due at ?6. */
export const freeKey = `
  UPDATE ${keys}
  SET ${ended}, held = 0, claimed = NULL, worker = NULL,
      wake_at = CASE WHEN waiting > ?5 + 1 THEN ?4 WHEN waiting > ?5 THEN ?6 END
  WHERE id = ?1 RETURNING waiting`;

/** A key that has neither a head nor a row has nothing to remember. */
export const deleteEmptyKey = `DELETE FROM ${keys} WHERE id = ?1 AND position IS NULL AND waiting = ?2`;

const shared = sqlStatements({
  ...{ ...sqliteTables, now: "$1", least: "min", wakeSource: "source", forUpdate: "" },
  isClaimed: "instr(ordering_key.claimed, ',' || waiting.seq || ',') > 0",
  isListed: "($3 IS NULL OR state IN (SELECT value FROM json_each($3)))",
  skipLocked: () => "",
});

/** SQLite numbers its parameters with `?`. */
export const sharedStatements = Object.fromEntries(
  Object.entries(shared).map(([name, statement]) => [name, statement.replaceAll("$", "?")]),
) as typeof shared;

/** Keys that sleep for longer than any delay. */
export const { wakeAhead } = sharedStatements;
