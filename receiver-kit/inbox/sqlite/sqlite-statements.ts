// The SQL of the SQLite inbox, besides the statements that it shares with PostgreSQL. SQLite has one writer and needs no
// row locks.

import { type KeyOrder, leaseExpired } from "../inbox.ts";
import { sqlStatements } from "../sql-statements.ts";

export const insertRow = `
  INSERT INTO workspace_tasks_inbox
    (source, webhook_id, channel, state, event, order_key, position, status, workspace, signed_at, received_at, due_at,
     last_error, secret_index, traceparent, body_bytes)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14, ?15)
  ON CONFLICT (source, webhook_id) DO NOTHING`;

/** Of the row that the statement before has inserted. node:sqlite of Node 22 passes an empty body as null. */
export const insertBody = `
  INSERT INTO workspace_tasks_bodies (seq, body) VALUES (last_insert_rowid(), coalesce(?1, x''))`;

export const readBody = "SELECT body FROM workspace_tasks_bodies WHERE seq = ?1";

export const compareBody = `
  SELECT body = coalesce(?3, x'') AS same FROM workspace_tasks_inbox LEFT JOIN workspace_tasks_bodies USING (seq)
  WHERE source = ?1 AND webhook_id = ?2`;

// SQLite uses a partial index only for a condition with the same text as the index's own, besides which `state` may be
// compared. INDEXED BY keeps the planner from scanning all waiting rows for each.
const live = "state IN ('pending', 'running')";

/** A row whose lease expired waits again, or is dead after its last attempt. */
export const reclaimExpired = `
  UPDATE workspace_tasks_inbox INDEXED BY workspace_tasks_inbox_due
  SET state = CASE WHEN attempts >= ?2 THEN 'dead' ELSE 'pending' END,
      last_error = CASE WHEN attempts >= ?2 THEN '${leaseExpired}' ELSE last_error END,
      due_at = ?1, worker = NULL, lease_until = NULL
  WHERE source = ?3 AND state = 'running' AND ${live} AND lease_until <= min(?1, coalesce(?4, ?1))
  RETURNING source, webhook_id, state`;

/** Due rows that are first in their key while none of it runs. */
export function claimRows(keyOrder: KeyOrder): string {
  return `
  UPDATE workspace_tasks_inbox
  SET state = 'running', worker = ?2, due_at = ?1, lease_until = ?3, generation = generation + 1,
      attempts = attempts + 1
  WHERE seq IN (
    SELECT candidate.seq FROM workspace_tasks_inbox AS candidate INDEXED BY workspace_tasks_inbox_due
    WHERE candidate.source = ?5 AND candidate.state = 'pending' AND candidate.${live} AND candidate.due_at <= ?1
      AND (candidate.order_key IS NULL OR (
        candidate.order_key NOT IN (
          SELECT order_key FROM workspace_tasks_inbox INDEXED BY workspace_tasks_inbox_due
          WHERE source = ?5 AND state = 'running' AND ${live} AND order_key IS NOT NULL)
        AND NOT EXISTS (
          SELECT 1 FROM workspace_tasks_inbox AS earlier INDEXED BY workspace_tasks_inbox_keys
          WHERE earlier.source = candidate.source AND earlier.order_key = candidate.order_key
            AND earlier.state = 'pending' AND earlier.${live} ${keyOrder === "strict" ? "" : "AND earlier.due_at <= ?1"}
            AND (earlier.position, earlier.seq) < (candidate.position, candidate.seq))))
    ORDER BY candidate.due_at, candidate.seq
    LIMIT ?4)
  RETURNING *`;
}

export const nextDue = `
  SELECT min(at) AS at FROM (
    SELECT min(due_at) AS at FROM workspace_tasks_inbox INDEXED BY workspace_tasks_inbox_due
      WHERE source = ?2 AND state = 'pending' AND ${live} AND due_at > ?1
    UNION ALL
    SELECT min(lease_until) FROM workspace_tasks_inbox INDEXED BY workspace_tasks_inbox_due
      WHERE source = ?2 AND state = 'running' AND ${live} AND lease_until > ?1)`;

const held = "seq = ?1 AND state = 'running' AND worker = ?2 AND generation = ?3";

export const checkHeld = `SELECT seq FROM workspace_tasks_inbox WHERE ${held}`;

export const renewLease = `UPDATE workspace_tasks_inbox SET lease_until = ?4, due_at = ?5 WHERE ${held}`;

/** The compare-and-set of the ordering head: changes a row only when the head advances. */
export const advanceHead = `
  INSERT INTO workspace_tasks_order_heads AS head (source, order_key, position, status, moved_at, workspace)
  VALUES (?1, ?2, ?3, ?4, ?5, ?7)
  ON CONFLICT (source, order_key) DO UPDATE
  SET position = excluded.position, status = excluded.status, moved_at = excluded.moved_at,
      workspace = coalesce(excluded.workspace, workspace)
  WHERE excluded.position > head.position OR (?6 AND excluded.position = head.position)`;

export const settleRow = `
  UPDATE workspace_tasks_inbox SET state = ?2, worker = NULL, lease_until = NULL WHERE seq = ?1`;

/** Stores a row begun inline, or takes over one whose lease ended; otherwise changes nothing and returns no row. */
export const beginInline = `
  INSERT INTO workspace_tasks_inbox AS row
    (source, webhook_id, channel, state, signed_at, received_at, due_at, lease_until, generation, body_bytes)
  VALUES (?2, ?3, 'webhook', 'inline', ?4, ?1, ?1, ?1 + ?5, 1, ?6)
  ON CONFLICT (source, webhook_id) DO UPDATE
  SET lease_until = excluded.lease_until, due_at = excluded.due_at, generation = row.generation + 1
  WHERE row.state = 'inline' AND row.lease_until <= ?1
  RETURNING seq, generation`;

/** The body of a row begun inline; one that was taken over has it already. */
export const insertInlineBody = `
  INSERT INTO workspace_tasks_bodies (seq, body) VALUES (?1, coalesce(?2, x'')) ON CONFLICT (seq) DO NOTHING`;

/** States whose rows are few: they wait, run, or wait for an operator. */
export const countUnsettled = `
  SELECT state, count(*) AS count, NULL AS oldest FROM workspace_tasks_inbox
    INDEXED BY workspace_tasks_inbox_attention WHERE state IN ('dead', 'quarantined') GROUP BY state
  UNION ALL
  SELECT 'running', count(*), NULL FROM workspace_tasks_inbox
    INDEXED BY workspace_tasks_inbox_due WHERE state = 'running' AND ${live}
  UNION ALL
  SELECT 'pending', count(*), ?1 - min(received_at) FILTER (WHERE due_at <= ?1) FROM workspace_tasks_inbox
    INDEXED BY workspace_tasks_inbox_due WHERE state = 'pending' AND ${live}`;

const settledAfter = `
  FROM workspace_tasks_inbox INDEXED BY workspace_tasks_inbox_settled
  WHERE state = ?1 AND state IN ('done', 'stale', 'discarded', 'inline') AND (received_at, seq) > (?2, ?3)`;

/** The `?4`th settled row after one of them, where a count may continue later. */
export const settledStep = `SELECT received_at, seq ${settledAfter} ORDER BY received_at, seq LIMIT 1 OFFSET ?4 - 1`;

export const countSettled = `SELECT count(*) AS count ${settledAfter}`;

const finishInline = `
  UPDATE workspace_tasks_inbox SET state = $4, lease_until = 0
  WHERE source = $1 AND webhook_id = $2 AND generation = $3 AND state = 'inline'`;

const shared = {
  ...sqlStatements({
    inbox: "workspace_tasks_inbox",
    bodies: "workspace_tasks_bodies",
    heads: "workspace_tasks_order_heads",
    marks: "workspace_tasks_marks",
    now: "$1",
    least: "min",
    isListed: "($3 IS NULL OR state IN (SELECT value FROM json_each($3)))",
    using: (index) => `INDEXED BY workspace_tasks_${index}`,
    skipLocked: "",
    returning: "",
  }),
  finishInline,
};

/** SQLite numbers its parameters with `?`. */
export const sharedStatements = Object.fromEntries(
  Object.entries(shared).map(([name, statement]) => [name, statement.replaceAll("$", "?")]),
) as typeof shared;
