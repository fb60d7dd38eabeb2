// The statements that both databases share. Those with row locks, several rows at once or durability of their own are in
// sqlite-statements.ts and postgres-statements.ts; those of the same name are twins: a change belongs in both.
//
// TABLES. `deliveries` has a row per delivery, written once: only an end other than "done" changes it. `bodies` has the
// bodies. `ordering_keys` has a row per key that has a head or waiting rows: the head, and the lease. `queue` has the
// waiting rows, narrow, in the order in which they are handled; a row leaves it when it ends.
//
//   outcome     NULL: waits while it is queued, done when it is not; else the state in which the row ended
//   wake_at     when the key has something to do: a row is due, or its lease expires; NULL when nothing waits
//   waiting     rows of the key in the queue, claimed ones included
//   held        rows of the present claim that have not ended yet
//   claimed     the numbers of these rows: the first of them, in the order of the queue, is being handled
//   suspects    rows of a claim whose lease expired, which are claimed one at a time
//   due_at      0 until the first failure: a clock that is set cannot delay the row
//   leased_at   when the lease was granted or extended

/** @param prefix of a schema, or of names */
export const tablesWith = (prefix: string) => ({
  deliveries: `${prefix}deliveries`,
  bodies: `${prefix}bodies`,
  keys: `${prefix}ordering_keys`,
  queue: `${prefix}queue`,
  marks: `${prefix}marks`,
});

export type SqlTables = Readonly<ReturnType<typeof tablesWith>>;

export interface SqlDialect extends SqlTables {
  /** The time in milliseconds, from `$1`. */
  readonly now: string;
  /** Name of the function that returns the smaller of two values. */
  readonly least: string;
  /** The source as the index of the keys that wait has it. */
  readonly wakeSource: string;
  /** Whether the row `waiting` is one of the present claim of its `ordering_key` that have not ended. */
  readonly isClaimed: string;
  /** Condition on `state` with the list of states in `$3`. */
  readonly isListed: string;
  /** Locks the selected rows of one table, without those of open transactions. */
  readonly skipLocked: (table: string) => string;
  /** Locks the selected rows, where a transaction does not lock everything. */
  readonly forUpdate: string;
}

export type SqlStatements = ReturnType<typeof sqlStatements>;

/** `$1` is the time in every statement that needs it. */
export function sqlStatements(dialect: SqlDialect) {
  return {
    ...rowStatements(dialect),
    ...inlineStatements(dialect),
    ...countStatements(dialect),
    ...operatorStatements(dialect),
    ...maintenanceStatements(dialect),
    ...sourceStatements(dialect),
  };
}

/** A row is due from its due time on, and when that is further ahead than any delay: see `longestDelayMs`. */
export const isDue = (now: string, longestDelay: string) =>
  `(due_at <= ${now} OR due_at > ${now} + ${longestDelay})`;

/** Key of a row that has none; others are JSON arrays. */
export const keyOf = (row: string) => `coalesce(${row}order_key, 'id:' || ${row}webhook_id)`;

/** As the index of these rows says it: SQLite uses that for the same condition only. */
const isUnhandled = "outcome IN ('dead', 'quarantined')";

/** A delivery, its key and its place in the queue; the last two may be absent. */
const withQueue = (tables: SqlTables) => `
    ${tables.deliveries} AS delivery ${queueOf(tables)}`;

const queueOf = ({ keys, queue }: SqlTables) => `
    LEFT JOIN ${keys} AS ordering_key ON delivery.outcome IS NULL AND ordering_key.source = delivery.source
      AND ordering_key.order_key = ${keyOf("delivery.")}
    LEFT JOIN ${queue} AS waiting ON waiting.key_id = ordering_key.id
      AND waiting.position = coalesce(delivery.position, '') AND waiting.seq = delivery.seq`;

function rowStatements(dialect: SqlDialect) {
  const { deliveries, bodies, isClaimed, isListed, now } = dialect;
  const state = `
    CASE WHEN delivery.outcome IS NOT NULL THEN delivery.outcome
      WHEN waiting.seq IS NULL THEN 'done'
      WHEN ${isClaimed} THEN 'running'
      ELSE 'pending' END`;
  const summary = `
    SELECT delivery.seq, delivery.source, delivery.webhook_id, delivery.channel, ${state} AS state, delivery.event,
      delivery.order_key, delivery.position, delivery.status, delivery.workspace, delivery.signed_at,
      delivery.received_at, coalesce(nullif(waiting.due_at, 0), delivery.replayed_at, delivery.received_at) AS due_at,
      coalesce(waiting.attempts, delivery.attempts) AS attempts, delivery.replays,
      coalesce(waiting.last_error, delivery.last_error) AS last_error, delivery.secret_index, delivery.traceparent`;
  const withBodyBytes = `
    SELECT *, (SELECT length(body) FROM ${bodies} AS stored WHERE stored.seq = listed.seq) AS body_bytes`;
  return {
    listRows: `
    ${withBodyBytes} FROM (
      ${summary} FROM ${withQueue(dialect)}
      WHERE delivery.seq < CAST($1 AS bigint) AND delivery.seq >= CAST($5 AS bigint)
        AND (CAST($2 AS text) IS NULL OR delivery.source = $2)) AS listed
    WHERE ${isListed} ORDER BY seq DESC LIMIT $4`,

    /** Of dead and quarantined rows alone, whose index is small. The plus keeps the planner from the primary key. */
    listUnhandled: `
    ${withBodyBytes} FROM (
      ${summary} FROM ${withQueue(dialect)} WHERE delivery.seq IN (
        SELECT seq FROM (
          SELECT seq, outcome AS state FROM ${deliveries}
          WHERE ${isUnhandled} AND +seq < CAST($1 AS bigint) AND (CAST($2 AS text) IS NULL OR source = $2)) AS unhandled
        WHERE ${isListed} ORDER BY +seq DESC LIMIT $4)) AS listed
    ORDER BY seq DESC`,

    getRow: `
    ${summary}, body.body, length(body.body) AS body_bytes FROM ${withQueue(dialect)}
    LEFT JOIN ${bodies} AS body ON body.seq = delivery.seq
    WHERE delivery.source = $1 AND delivery.webhook_id = $2`,

    seqRange: `SELECT (SELECT min(seq) FROM ${deliveries}) AS first, (SELECT max(seq) FROM ${deliveries}) AS last`,

    newestRow: `SELECT received_at - ${now} AS ahead FROM ${deliveries} ORDER BY seq DESC LIMIT 1`,
  };
}

/** Inline rows, and the heads that they advance. */
function inlineStatements({ deliveries, keys, now }: SqlDialect) {
  return {
    /** Stores a row begun inline, or takes over one whose lease ended; otherwise changes nothing and returns no row. */
    beginInline: `
    INSERT INTO ${deliveries} AS delivery
      (source, webhook_id, channel, signed_at, received_at, outcome, lease_until, leased_at, generation)
    VALUES ($2, $3, 'webhook', $4, ${now}, 'inline', ${now} + $5, ${now}, 1)
    ON CONFLICT (source, webhook_id) DO UPDATE
    SET lease_until = excluded.lease_until, leased_at = excluded.leased_at, generation = delivery.generation + 1
    WHERE delivery.outcome = 'inline' AND delivery.lease_until <= ${now}
    RETURNING seq, generation`,

    inlineLease: `
    SELECT outcome AS state, lease_until - ${now} AS ends_in, leased_at - ${now} AS ahead FROM ${deliveries}
    WHERE source = $2 AND webhook_id = $3`,

    repairInline: `
    UPDATE ${deliveries} SET lease_until = ${now} + CAST($4 AS bigint), leased_at = ${now}
    WHERE source = $2 AND webhook_id = $3 AND outcome = 'inline' AND leased_at > ${now}`,

    finishInline: `
    UPDATE ${deliveries} SET outcome = $4, lease_until = 0, leased_at = 0
    WHERE source = $1 AND webhook_id = $2 AND generation = $3 AND outcome = 'inline' RETURNING 1`,

    advanceHead: `
    INSERT INTO ${keys} AS ordering_key (source, order_key, position, moved_at, waiting)
    VALUES ($2, $3, $4, ${now}, 0)
    ON CONFLICT (source, order_key) DO UPDATE
    SET position = excluded.position, status = NULL, moved_at = excluded.moved_at
    WHERE ordering_key.position IS NULL OR excluded.position > ordering_key.position RETURNING 1`,
  };
}

/** Of parts, so that counting blocks nothing for long. */
function countStatements({ deliveries, keys, queue, now }: SqlDialect) {
  return {
    /** The last of a page of keys. */
    keysPage: `
    SELECT max(id) AS last FROM (SELECT id FROM ${keys} WHERE id > $1 ORDER BY id LIMIT $2) AS page`,

    /** Of the keys after $1 up to $2. */
    countLive: `
    SELECT coalesce(sum(waiting), 0) AS waiting, coalesce(sum(held), 0) AS running
    FROM ${keys} WHERE id > $1 AND id <= $2 AND wake_at IS NOT NULL`,

    /** Of the keys after $2 up to $3, the one that has waited longest. */
    oldestKey: `
    SELECT id, wake_at FROM ${keys}
    WHERE id > $2 AND id <= $3 AND worker IS NULL AND wake_at <= ${now} ORDER BY wake_at LIMIT 1`,

    /** The key that has waited longest has the row that has waited longest, or one like it. */
    oldestWaiting: `
    SELECT ${now} - min(coalesce(delivery.replayed_at, delivery.received_at)) AS oldest
    FROM ${queue} AS waiting JOIN ${deliveries} AS delivery ON delivery.seq = waiting.seq WHERE waiting.key_id = $2`,

    /** Outcomes of the rows with numbers from $1 on and below $2. */
    countOutcomes: `
    SELECT coalesce(outcome, 'done') AS state, count(*) AS count FROM ${deliveries}
    WHERE seq >= $1 AND seq < $2 GROUP BY 1`,
  };
}

function operatorStatements(dialect: SqlDialect) {
  const { deliveries, bodies, keys, queue, now, least } = dialect;
  return {
    lockDelivery: `SELECT 1 FROM ${deliveries} WHERE source = $1 AND webhook_id = $2 ${dialect.forUpdate}`,

    insertBody: `INSERT INTO ${bodies} (seq, body) VALUES ($1, $2) ON CONFLICT (seq) DO NOTHING`,

    /** Of a row that does not wait and has a body. */
    findReplayable: `
    SELECT delivery.seq, length(body.body) AS body_bytes FROM ${withQueue(dialect)}
    JOIN ${bodies} AS body ON body.seq = delivery.seq
    WHERE delivery.source = $1 AND delivery.webhook_id = $2 AND waiting.seq IS NULL
      AND (delivery.outcome IS NULL OR delivery.outcome <> 'inline')`,

    replayDelivery: `
    UPDATE ${deliveries}
    SET outcome = NULL, attempts = NULL, replays = replays + 1, replayed_at = ${now}, event = $3, order_key = $4,
        position = $5, status = $6, workspace = $7
    WHERE seq = $2`,

    queueKey: `
    INSERT INTO ${keys} AS ordering_key (source, order_key, workspace, waiting, wake_at)
    VALUES ($2, $3, $4, 1, ${now})
    ON CONFLICT (source, order_key) DO UPDATE
    SET waiting = ordering_key.waiting + 1, workspace = coalesce(excluded.workspace, ordering_key.workspace),
      wake_at = CASE WHEN ordering_key.worker IS NOT NULL
      THEN ordering_key.wake_at ELSE ${least}(coalesce(ordering_key.wake_at, excluded.wake_at), excluded.wake_at) END`,

    // Another lookup of the key costs less than to return its number.
    queueRow: `
    INSERT INTO ${queue} (key_id, position, seq, due_at, body_bytes)
    SELECT id, $3, $4, 0, $5 FROM ${keys} WHERE source = $1 AND order_key = $2`,

    discardRow: `
    UPDATE ${deliveries} SET outcome = 'discarded'
    WHERE source = $1 AND webhook_id = $2 AND outcome IN ('dead', 'quarantined') RETURNING 1`,
  };
}

/** The number of a delivery grows with its time of receipt, so `boundary` bounds the rows that may be old enough. */
function maintenanceStatements(dialect: SqlDialect) {
  const { deliveries, bodies, keys, marks, now, least, skipLocked } = dialect;
  const expiredBefore = `${least}(${now}, coalesce(CAST($4 AS bigint), ${now})) - CAST($2 AS bigint)`;
  const isExpired = `coalesce(delivery.replayed_at, delivery.received_at) <= ${expiredBefore}`;
  const settled = `(delivery.outcome IN ('stale', 'discarded', 'inline')
        OR (delivery.outcome IS NULL AND waiting.seq IS NULL))`;
  const hasBody = `EXISTS (SELECT 1 FROM ${bodies} AS body WHERE body.seq = delivery.seq)`;
  const candidates = (select: string) => `
    SELECT * FROM (${select} GROUP BY order_key ORDER BY order_key LIMIT $5) AS page`;
  const uncovered = (outcome: "dead" | "quarantined", isCovered: string) =>
    candidates(`
      SELECT order_key, min(workspace) AS workspace, '${outcome}' AS reason FROM ${deliveries} AS delivery
      WHERE source = $2 AND outcome = '${outcome}' AND ${isUnhandled} AND order_key > $4 AND NOT EXISTS (
        SELECT 1 FROM ${keys} AS head
        WHERE head.source = delivery.source AND head.order_key = delivery.order_key AND ${isCovered})`);
  return {
    headOf: `
    SELECT position, status, ${now} - moved_at AS unchanged FROM ${keys}
    WHERE source = $2 AND order_key = $3 AND position IS NOT NULL`,

    readMarks: `
    SELECT ${now} AS now, name, value FROM (SELECT 1) AS one LEFT JOIN ${marks} ON source = $2`,

    writeMark: `
    INSERT INTO ${marks} (source, name, value) VALUES ($1, $2, $3)
    ON CONFLICT (source, name) DO UPDATE SET value = excluded.value`,

    /** A time in the future was stored before the clock was set back, and says nothing about age. */
    reconcileCandidates: `
    SELECT order_key, workspace, reason FROM (
      ${uncovered("dead", "head.position >= delivery.position")}
      UNION ALL ${uncovered("quarantined", `head.moved_at >= delivery.received_at AND head.moved_at <= ${now}`)}
      UNION ALL ${candidates(`
      SELECT order_key, min(workspace) AS workspace, 'running-too-long' AS reason FROM ${keys}
      WHERE source = $2 AND status = 'RUNNING' AND order_key > $4
        AND (moved_at <= ${now} - CAST($3 AS bigint) OR moved_at > ${now})`)}) AS found
    ORDER BY order_key, reason LIMIT $5`,

    /** The first row from a number on: its time of receipt tells on which side of the boundary it is. */
    rowFrom: `
    SELECT seq, received_at <= ${expiredBefore} AS is_expired FROM ${deliveries}
    WHERE seq >= CAST($3 AS bigint) ORDER BY seq LIMIT 1`,

    /** From the bodies on, which are fewer than the deliveries. */
    purgeBodies: `
    DELETE FROM ${bodies} WHERE seq IN (
      SELECT delivery.seq FROM ${bodies} AS body CROSS JOIN ${deliveries} AS delivery ${queueOf(dialect)}
      WHERE body.seq < CAST($5 AS bigint) AND delivery.seq = body.seq AND ${settled} AND ${isExpired}
      ORDER BY body.seq LIMIT $3 ${skipLocked("delivery")}) RETURNING 1`,

    /** The plus keeps the planner from the primary key: the index of unhandled deliveries is smaller. */
    purgeUnhandledBodies: `
    DELETE FROM ${bodies} WHERE seq IN (
      SELECT delivery.seq FROM ${deliveries} AS delivery
      WHERE ${isUnhandled} AND +delivery.seq < CAST($5 AS bigint)
        AND ${isExpired} AND ${hasBody}
      ORDER BY +delivery.seq LIMIT $3 ${skipLocked("delivery")}) RETURNING 1`,

    /** Of rows whose bodies were purged. */
    purgeRows: `
    DELETE FROM ${deliveries} WHERE seq IN (
      SELECT delivery.seq FROM ${withQueue(dialect)}
      WHERE delivery.seq < CAST($5 AS bigint) AND ${settled} AND ${isExpired} AND NOT ${hasBody}
      ORDER BY delivery.seq LIMIT $3 ${skipLocked("delivery")}) RETURNING 1`,

    /** In pages of keys: there is no index on the times of heads, and a scan of all would block. */
    purgeHeads: `
    DELETE FROM ${keys} WHERE waiting = 0 AND id IN (
      SELECT id FROM ${keys} AS head
      WHERE id > $5 AND id <= $6 AND waiting = 0 AND moved_at <= ${expiredBefore}
      LIMIT $3 ${skipLocked("head")}) RETURNING 1`,
  };
}

function sourceStatements(dialect: SqlDialect) {
  const { keys, now, wakeSource, skipLocked } = dialect;
  return {
    /** The recursion finds one tenant after the other, with one probe of an index each. */
    waitingSources: `
    WITH RECURSIVE tenants (tenant) AS (
      SELECT (SELECT min(${wakeSource}) FROM ${keys}
        WHERE wake_at IS NOT NULL AND ${wakeSource} > $3 AND ${wakeSource} < $4)
      UNION ALL
      SELECT (SELECT min(${wakeSource}) FROM ${keys}
        WHERE wake_at IS NOT NULL AND ${wakeSource} > tenants.tenant AND ${wakeSource} < $4)
      FROM tenants WHERE tenants.tenant IS NOT NULL),
    names (name) AS (SELECT CAST($2 AS text) UNION ALL SELECT tenant FROM tenants WHERE tenant IS NOT NULL),
    times (name, at) AS (
      SELECT name, (SELECT min(wake_at) FROM ${keys} WHERE wake_at IS NOT NULL AND ${wakeSource} = name) FROM names)
    SELECT ${now} AS now, name AS source, at - ${now} AS due_in
    FROM (SELECT 1) AS one LEFT JOIN times ON at IS NOT NULL ORDER BY name`,

    countBacklog: `
    SELECT coalesce(sum(waiting), 0) AS count FROM (
      SELECT waiting FROM ${keys} WHERE ${wakeSource} = $1 AND wake_at IS NOT NULL LIMIT $2) AS busy`,

    /** Keys that sleep for longer than $3, and leases that last longer. */
    wakeAhead: `
    UPDATE ${keys} SET wake_at = ${now} WHERE id IN (
      SELECT id FROM ${keys} AS ordering_key
      WHERE ${wakeSource} = $2 AND wake_at > ${now} + CAST($3 AS bigint) ${skipLocked("ordering_key")})
    RETURNING 1`,
  };
}
