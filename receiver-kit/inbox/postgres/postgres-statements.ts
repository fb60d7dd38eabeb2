// The SQL of the PostgreSQL inbox, besides the statements that it shares with SQLite. `$1` is the time in milliseconds, or
// null for the server's own clock, in every statement that needs the time.

import { leaseExpired } from "../inbox.ts";
import { sqlStatements } from "../sql-statements.ts";

// `clock_timestamp()` is volatile, which would keep the planner from the indexes on times.
const now = "coalesce($1::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)";

/**
 * An acknowledged delivery must survive a crash of the server even where `synchronous_commit` is off for the database;
 * stronger settings stay as they are.
 */
const durable = `durable AS MATERIALIZED (
    SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
      THEN set_config('synchronous_commit', 'on', true) ELSE '' END AS setting)`;

const held = "state = 'running' AND worker = $3 AND generation = $4";

export type PostgresStatements = ReturnType<typeof postgresStatements>;

/** `schema` is an identifier that needs no quotes. */
export function postgresStatements(schema: string) {
  const inbox = `${schema}.inbox`;
  const bodies = `${schema}.bodies`;
  const heads = `${schema}.order_heads`;
  const marks = `${schema}.marks`;

  const claimRows = (earlierMustBeDue: string) => `
    WITH claimed AS (
      UPDATE ${inbox}
      SET state = 'running', worker = $2, due_at = ${now}, lease_until = ${now} + $3::bigint,
          generation = generation + 1, attempts = attempts + 1
      WHERE seq IN (
        SELECT candidate.seq FROM ${inbox} AS candidate
        WHERE candidate.source = $5 AND candidate.state = 'pending' AND candidate.due_at <= ${now}
          AND (candidate.order_key IS NULL OR (
            NOT EXISTS (
              SELECT 1 FROM ${inbox} AS busy
              WHERE busy.source = candidate.source AND busy.order_key = candidate.order_key
                AND busy.state = 'running')
            AND NOT EXISTS (
              SELECT 1 FROM ${inbox} AS earlier
              WHERE earlier.source = candidate.source AND earlier.order_key = candidate.order_key
                AND earlier.state = 'pending' ${earlierMustBeDue}
                AND (earlier.position, earlier.seq) < (candidate.position, candidate.seq))))
        ORDER BY candidate.due_at, candidate.seq
        LIMIT $4
        FOR UPDATE SKIP LOCKED)
      RETURNING *)
    SELECT claimed.*, body.body, head.position AS head
    FROM claimed LEFT JOIN ${bodies} AS body USING (seq) LEFT JOIN ${heads} AS head USING (source, order_key)
    ORDER BY claimed.seq`;

  const shared = sqlStatements({
    ...{ inbox, bodies, heads, marks, now, least: "least" },
    isListed: "(CAST($3 AS text[]) IS NULL OR state = ANY($3))",
    using: () => "",
    skipLocked: "FOR UPDATE SKIP LOCKED",
    returning: "RETURNING 1",
  });

  const onHeadConflict = `ON CONFLICT (source, order_key) DO UPDATE
      SET position = excluded.position, status = excluded.status, moved_at = excluded.moved_at,
          workspace = coalesce(excluded.workspace, head.workspace)`;
  const deleteBodies = (emptyRows: string) => `
    WITH emptied AS (${emptyRows} RETURNING seq)
    DELETE FROM ${bodies} WHERE seq IN (SELECT seq FROM emptied) RETURNING 1`;

  return {
    ...shared,

    purgeBodies: deleteBodies(shared.purgeBodies),
    purgeUnhandledBodies: deleteBodies(shared.purgeUnhandledBodies),

    countStates: `
    SELECT state, count(*) AS count,
      CASE WHEN state = 'pending' THEN ${now} - (
        SELECT min(received_at) FROM ${inbox} WHERE state = 'pending' AND due_at <= ${now}) END AS oldest
    FROM ${inbox} GROUP BY state`,

    /** The first of equal ids is stored. `$17` is all bodies in one buffer: an array of them would be sent as hexadecimal text. */
    insertRows: `
    WITH ${durable},
    input AS (
      SELECT DISTINCT ON (source, webhook_id) *
      FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::bigint[], $12::text[], $13::integer[], $14::text[], $15::integer[], $16::integer[])
      WITH ORDINALITY AS input (source, webhook_id, channel, state, event, order_key, position, status, workspace,
        signed_at, last_error, secret_index, traceparent, body_start, body_bytes, place)
      ORDER BY source, webhook_id, place),
    stored AS (
      INSERT INTO ${inbox} (source, webhook_id, channel, state, event, order_key, position, status, workspace, signed_at,
        received_at, due_at, last_error, secret_index, traceparent, body_bytes)
      SELECT source, webhook_id, channel, state, event, order_key, position, status, workspace, signed_at,
        ${now}, ${now}, last_error, secret_index, traceparent, body_bytes
      FROM input, durable WHERE durable.setting IS NOT NULL
      ON CONFLICT (source, webhook_id) DO NOTHING
      RETURNING seq, source, webhook_id),
    bodies AS (
      INSERT INTO ${bodies} (seq, body)
      SELECT seq, substring($17::bytea FROM body_start FOR body_bytes)
      FROM input JOIN stored USING (source, webhook_id))
    SELECT source, webhook_id FROM stored`,

    compareBodies: `
    SELECT source, webhook_id, body.body = substring($5::bytea FROM body_start FOR input.body_bytes) AS same
    FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[])
      AS input (source, webhook_id, body_start, body_bytes)
    JOIN ${inbox} AS row USING (source, webhook_id) LEFT JOIN ${bodies} AS body USING (seq)`,

    /** A row whose lease expired waits again, or is dead after its last attempt. Rows in an open transaction are skipped. */
    reclaimExpired: `
    UPDATE ${inbox}
    SET state = CASE WHEN attempts >= $2 THEN 'dead' ELSE 'pending' END,
        last_error = CASE WHEN attempts >= $2 THEN '${leaseExpired}' ELSE last_error END,
        due_at = ${now}, worker = NULL, lease_until = NULL
    WHERE seq IN (
      SELECT seq FROM ${inbox}
      WHERE source = $3 AND state = 'running' AND lease_until <= least(${now}, coalesce($4::bigint, ${now}))
      FOR UPDATE SKIP LOCKED)
    RETURNING source, webhook_id, state`,

    claimLatest: claimRows(`AND earlier.due_at <= ${now}`),
    claimStrict: claimRows(""),

    nextDue: `
    SELECT least(
      (SELECT min(due_at) FROM ${inbox} WHERE source = $2 AND state = 'pending' AND due_at > ${now}),
      (SELECT min(lease_until) FROM ${inbox}
        WHERE source = $2 AND state = 'running' AND lease_until > ${now})) - ${now} AS next_in, ${now} AS now`,

    renewLeases: `
    WITH input AS (
      SELECT * FROM unnest($3::bigint[], $4::text[], $5::integer[]) AS input (seq, worker, generation)),
    free AS (
      SELECT row.seq FROM ${inbox} AS row JOIN input USING (seq, worker, generation)
      WHERE row.state = 'running' ORDER BY row.seq FOR UPDATE OF row SKIP LOCKED),
    renewed AS (
      UPDATE ${inbox} AS row SET lease_until = ${now} + $2::bigint, due_at = ${now} FROM free WHERE row.seq = free.seq)
    SELECT row.seq FROM ${inbox} AS row JOIN input USING (seq, worker, generation) WHERE row.state = 'running'`,

    /** Settles rows and advances their heads; a row whose head is already further becomes stale. */
    settleRows: `
    WITH input AS (
      SELECT * FROM unnest($2::bigint[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::boolean[])
      AS input (seq, worker, generation, state, order_key, position, status, allow_same)),
    held AS (
      SELECT row.seq, row.source, row.workspace, input.state, input.order_key, input.position, input.status, input.allow_same
      FROM ${inbox} AS row JOIN input USING (seq, worker, generation)
      WHERE row.state = 'running' ORDER BY row.seq FOR UPDATE OF row),
    moved AS (
      INSERT INTO ${heads} AS head (source, order_key, position, status, moved_at, workspace)
      SELECT source, order_key, position, status, ${now}, workspace FROM held
      WHERE order_key IS NOT NULL ORDER BY source, order_key
      ${onHeadConflict}
      WHERE excluded.position > head.position
      RETURNING source, order_key)
    UPDATE ${inbox} AS row
    SET state = held_rows.state, worker = NULL, lease_until = NULL
    FROM (
      SELECT held.seq, CASE WHEN held.order_key IS NULL OR moved.order_key IS NOT NULL
          OR (held.allow_same AND head.position = held.position) THEN held.state ELSE 'stale' END AS state
      FROM held
      LEFT JOIN moved ON moved.source = held.source AND moved.order_key = held.order_key
      LEFT JOIN ${heads} AS head ON head.source = held.source AND head.order_key = held.order_key) AS held_rows
    WHERE row.seq = held_rows.seq
    RETURNING row.seq, row.state`,

    /** Locks a claimed row and advances its head, as the first statement of a handler's transaction. */
    openTransaction: `
    WITH held AS (SELECT seq, source, workspace FROM ${inbox} WHERE seq = $2 AND ${held} FOR UPDATE),
    moved AS (
      INSERT INTO ${heads} AS head (source, order_key, position, status, moved_at, workspace)
      SELECT source, $5::text, $6::text, $7::text, ${now}, workspace FROM held WHERE $5::text IS NOT NULL
      ${onHeadConflict}
      WHERE excluded.position > head.position OR ($8::boolean AND excluded.position = head.position)
      RETURNING 1)
    SELECT EXISTS (SELECT 1 FROM held) AS held, EXISTS (SELECT 1 FROM moved) AS moved,
      pg_current_xact_id()::text AS id, pg_backend_pid() AS pid, transaction_timestamp()::text AS began`,

    /** Returns no row outside the transaction that `openTransaction` began. */
    settleOpened: `
    UPDATE ${inbox} SET state = $2, worker = NULL, lease_until = NULL
    WHERE seq = $1 AND pg_current_xact_id()::text = $3 RETURNING seq`,

    beginInline: `
    WITH ${durable},
    begun AS (
      INSERT INTO ${inbox} AS row
        (source, webhook_id, channel, state, signed_at, received_at, due_at, lease_until, generation, body_bytes)
      SELECT $2, $3, 'webhook', 'inline', $4::bigint, ${now}, ${now}, ${now} + $5::bigint, 1, length($6::bytea)
      FROM durable WHERE durable.setting IS NOT NULL
      ON CONFLICT (source, webhook_id) DO UPDATE
      SET lease_until = excluded.lease_until, due_at = excluded.due_at, generation = row.generation + 1
      WHERE row.state = 'inline' AND row.lease_until <= ${now}
      RETURNING seq, generation),
    bodies AS (
      INSERT INTO ${bodies} (seq, body) SELECT seq, $6::bytea FROM begun ON CONFLICT (seq) DO NOTHING)
    SELECT generation FROM begun`,

    finishInline: `
    WITH ${durable}
    UPDATE ${inbox} SET state = $4, lease_until = 0 FROM durable
    WHERE durable.setting IS NOT NULL
      AND source = $1 AND webhook_id = $2 AND generation = $3 AND state = 'inline'
    RETURNING seq`,

    advanceHead: `
    WITH ${durable}
    INSERT INTO ${heads} AS head (source, order_key, position, status, moved_at)
    SELECT $2, $3, $4, NULL, ${now} FROM durable WHERE durable.setting IS NOT NULL
    ${onHeadConflict}
    WHERE excluded.position > head.position
    RETURNING 1`,
  };
}
