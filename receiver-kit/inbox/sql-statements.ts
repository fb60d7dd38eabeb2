// The statements that both databases share. Those with row locks, several rows at once or durability of their own are in
// sqlite-statements.ts and postgres-statements.ts: `insertRow(s)`, `reclaimExpired`, `claimRows`, `nextDue`,
// `renewLease(s)`, `advanceHead`, `beginInline`, `finishInline`, `purgeBodies` and `countStates` are twins; a change belongs
// in both.
//
// A body is in a table of its own, under the `seq` of its row, as long as the row's `body_bytes` is not null: claiming
// and settling a row then never rewrite it.

import { summaryColumns } from "./inbox-row.ts";

export interface SqlDialect {
  readonly inbox: string;
  readonly bodies: string;
  readonly heads: string;
  readonly marks: string;
  /** The time in milliseconds, from `$1`. */
  readonly now: string;
  /** Function that returns the smaller of two values. */
  readonly least: string;
  /** Condition on `state` with the list of states in `$3`. */
  readonly isListed: string;
  /** Makes the planner use an index; SQLite has no statistics by which it would. */
  using(index: "inbox_attention" | "inbox_bodies" | "inbox_settled" | "order_heads_running"): string;
  /** Locks the selected rows, without those of open transactions. */
  readonly skipLocked: string;
  /** Returns the changed rows where changes are not counted otherwise. */
  readonly returning: string;
}

export type SqlStatements = ReturnType<typeof sqlStatements>;

/** As the partial indexes have them: SQLite uses one only for the same text. */
const live = "state IN ('pending', 'running')";
const attention = "state IN ('dead', 'quarantined')";
const settled = "state IN ('done', 'stale', 'discarded', 'inline')";

/** `$1` is the time in every statement that needs it. */
export function sqlStatements(dialect: SqlDialect) {
  const { inbox, bodies, heads, marks, now, least, isListed, using, skipLocked, returning } = dialect;
  // A retry plan doubles its delay with each attempt; the jitter adds at most a fifth.
  const retryDelay = `CASE WHEN attempts = 0 THEN 0 WHEN attempts > 30 THEN CAST($4 AS bigint)
      ELSE ${least}(CAST($4 AS bigint), CAST($3 AS bigint) * (CAST(1 AS bigint) << (attempts - 1))) END * 6 / 5 + 1`;
  const expiredBefore = `${least}(${now}, coalesce(CAST($4 AS bigint), ${now})) - CAST($2 AS bigint)`;
  // A row that was replayed is as old as its last attempt.
  const isExpired = `received_at <= ${expiredBefore} AND (replays = 0 OR due_at <= ${expiredBefore})`;
  const candidates = (select: string) => `
    SELECT * FROM (${select} GROUP BY order_key ORDER BY order_key LIMIT $5) AS page`;

  return {
    headOf: `
    SELECT position, status, ${now} - moved_at AS unchanged FROM ${heads} WHERE source = $2 AND order_key = $3`,

    listHeads: `
    SELECT source, order_key, position, status, workspace, moved_at FROM ${heads}
    WHERE source = $1 AND order_key > $2
      AND substr(order_key, 1, length(CAST($3 AS text))) = CAST($3 AS text)
    ORDER BY order_key LIMIT $4`,

    resetHead: `DELETE FROM ${heads} WHERE source = $1 AND order_key = $2 ${returning}`,

    readMarks: `
    SELECT ${now} AS now, name, value FROM (SELECT 1) AS one LEFT JOIN ${marks} ON source = $2`,

    writeMark: `
    INSERT INTO ${marks} (source, name, value) VALUES ($1, $2, $3)
    ON CONFLICT (source, name) DO UPDATE SET value = excluded.value ${returning}`,

    newestRow: `SELECT received_at - ${now} AS ahead FROM ${inbox} ORDER BY seq DESC LIMIT 1`,

    /** A row that never failed is due at once; a failed one at the latest after the delay of its attempt. */
    repairDueTimes: `
    UPDATE ${inbox} SET due_at = ${now} WHERE seq IN (
      SELECT seq FROM ${inbox}
      WHERE source = $2 AND state = 'pending' AND ${live} AND due_at > ${now} AND due_at > ${now} + ${retryDelay}
      ${skipLocked}) ${returning}`,

    repairLeases: `
    UPDATE ${inbox} SET lease_until = ${now} + (lease_until - due_at), due_at = ${now} WHERE seq IN (
      SELECT seq FROM ${inbox}
      WHERE source = $2 AND state = 'running' AND ${live} AND due_at > ${now} ${skipLocked}) ${returning}`,

    repairInline: `
    UPDATE ${inbox} SET lease_until = ${now} + CAST($4 AS bigint), due_at = ${now}
    WHERE source = $2 AND webhook_id = $3 AND state = 'inline' AND due_at > ${now} ${returning}`,

    failRow: `
    UPDATE ${inbox}
    SET state = $5, due_at = ${now} + CAST($6 AS bigint), last_error = coalesce($7, last_error),
        attempts = attempts - CAST($8 AS integer), worker = NULL, lease_until = NULL
    WHERE seq = $2 AND state = 'running' AND worker = $3 AND generation = $4 ${returning}`,

    listRows: `
    SELECT ${summaryColumns} FROM ${inbox}
    WHERE seq < CAST($1 AS bigint) AND seq >= CAST($5 AS bigint) AND (CAST($2 AS text) IS NULL OR source = $2)
      AND ${isListed}
    ORDER BY seq DESC LIMIT $4`,

    seqRange: `SELECT (SELECT min(seq) FROM ${inbox}) AS first, (SELECT max(seq) FROM ${inbox}) AS last`,

    getRow: `
    SELECT ${summaryColumns}, body FROM ${inbox} LEFT JOIN ${bodies} USING (seq)
    WHERE source = $1 AND webhook_id = $2`,

    replayRow: `
    UPDATE ${inbox}
    SET state = 'pending', due_at = ${now}, attempts = 0, replays = replays + 1,
        event = $4, order_key = $5, position = $6, status = $7, workspace = $8
    WHERE source = $2 AND webhook_id = $3 AND body_bytes IS NOT NULL
      AND state IN ('dead', 'quarantined', 'done', 'stale', 'discarded') ${returning}`,

    discardRow: `
    UPDATE ${inbox} SET state = 'discarded'
    WHERE source = $1 AND webhook_id = $2 AND state IN ('dead', 'quarantined') ${returning}`,

    inlineLease: `
    SELECT state, lease_until - ${now} AS ends_in, due_at - ${now} AS ahead FROM ${inbox} WHERE source = $2 AND webhook_id = $3`,

    /** A time in the future was stored before the clock was set back, and says nothing about age. */
    reconcileCandidates: `
    SELECT order_key, workspace, reason FROM (
      ${candidates(`
      SELECT order_key, min(workspace) AS workspace, 'dead' AS reason FROM ${inbox} AS row ${using("inbox_attention")}
      WHERE source = $2 AND state = 'dead' AND ${attention} AND order_key > $4 AND NOT EXISTS (
        SELECT 1 FROM ${heads} AS head
        WHERE head.source = row.source AND head.order_key = row.order_key AND head.position >= row.position)`)}
      UNION ALL ${candidates(`
      SELECT order_key, min(workspace) AS workspace, 'quarantined' AS reason FROM ${inbox} AS row
        ${using("inbox_attention")}
      WHERE source = $2 AND state = 'quarantined' AND ${attention} AND order_key > $4 AND NOT EXISTS (
        SELECT 1 FROM ${heads} AS head
        WHERE head.source = row.source AND head.order_key = row.order_key
          AND head.moved_at >= row.received_at AND head.moved_at <= ${now})`)}
      UNION ALL ${candidates(`
      SELECT order_key, min(workspace) AS workspace, 'running-too-long' AS reason FROM ${heads}
        ${using("order_heads_running")}
      WHERE source = $2 AND status = 'RUNNING' AND order_key > $4
        AND (moved_at <= ${now} - CAST($3 AS bigint) OR moved_at > ${now})`)}) AS found
    ORDER BY order_key, reason LIMIT $5`,

    /** Of the next expired rows those whose bodies were purged: to search for others would read them all. */
    purgeRows: `
    DELETE FROM ${inbox} WHERE body_bytes IS NULL AND seq IN (
      SELECT seq FROM ${inbox} ${using("inbox_settled")}
      WHERE ${settled} AND ${isExpired}
      LIMIT $3 ${skipLocked}) ${returning}`,

    purgeBodies: `
    UPDATE ${inbox} SET body_bytes = NULL WHERE seq IN (
      SELECT seq FROM ${inbox} ${using("inbox_bodies")}
      WHERE body_bytes IS NOT NULL AND ${settled} AND ${isExpired}
      ORDER BY received_at LIMIT $3 ${skipLocked})`,

    purgeUnhandledBodies: `
    UPDATE ${inbox} SET body_bytes = NULL WHERE seq IN (
      SELECT seq FROM ${inbox} ${using("inbox_attention")}
      WHERE body_bytes IS NOT NULL AND ${attention} AND ${isExpired}
      LIMIT $3 ${skipLocked})`,

    purgeHeads: `
    DELETE FROM ${heads} WHERE (source, order_key) IN (
      SELECT source, order_key FROM ${heads} WHERE moved_at <= ${expiredBefore}
      LIMIT $3 ${skipLocked}) ${returning}`,

    /** The recursion finds one tenant after the other, with one probe of an index each. */
    waitingSources: `
    WITH RECURSIVE tenants (source) AS (
      SELECT (SELECT min(source) FROM ${inbox} WHERE ${live} AND source > $3 AND source < $4)
      UNION ALL
      SELECT (SELECT min(source) FROM ${inbox} WHERE ${live} AND source > tenants.source AND source < $4)
      FROM tenants WHERE tenants.source IS NOT NULL),
    names (name) AS (SELECT CAST($2 AS text) UNION ALL SELECT source FROM tenants WHERE source IS NOT NULL),
    times (name, at) AS (
      SELECT name, (SELECT min(due_at) FROM ${inbox} WHERE ${live} AND state = 'pending' AND source = name) FROM names
      UNION ALL
      SELECT name, (SELECT min(lease_until) FROM ${inbox} WHERE ${live} AND state = 'running' AND source = name)
      FROM names)
    SELECT name AS source, min(at) - ${now} AS due_in FROM times WHERE at IS NOT NULL GROUP BY name ORDER BY name`,

    countBacklog: `
    SELECT count(*) AS count FROM (
      SELECT 1 FROM ${inbox} WHERE source = $1 AND state IN ('pending', 'running') LIMIT $2) AS live`,
  };
}
