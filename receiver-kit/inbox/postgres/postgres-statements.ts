// The statements of every delivery: store, claim, end, renew. `$1` is the time in milliseconds, or null for the server's
// clock, in every statement that needs the time.
//
// TABLES. `deliveries` has a row per delivery, written once: only an end other than "done at the first attempt" changes it.
// `bodies` has the bodies. `ordering_keys` has a row per ordering key that has a head or waiting rows: the head, and the lease.
// `queue` has the waiting rows, narrow, in the order in which they are handled; a row leaves it when it ends. An update
// writes the whole row again, so what changes is kept narrow, and a claim writes to its keys only.
//
//   outcome      NULL: waits while it is queued, done when it is not; else the state in which the row ended
//   head         position of the newest event that was applied; `status` is that event's, `moved_at` when it was applied
//   waiting      rows of the key in the queue, claimed ones included
//   wake_at      when the key has something to do: a row is due, or its lease expires; NULL when nothing waits
//   claimed      numbers of the claimed rows that have not ended, in their order: the first is being handled
//   is_suspect   a lease expired: the next claim takes one row, and a row that ends clears it
//   idle_since   when the head last moved, of keys without waiting rows: what retention looks for
//   due_at       0 until the first failure: a clock that is set cannot delay the row
//
// PLANS. They run in transactions whose settings leave the planner an index, then nested loops. So statistics do not
// matter, nor what a session has prepared while the tables were small. Of a table that was empty then, to read all of an
// index costs the planner as little as to look up a row: rows of a table are found for each row before them by a subquery
// that it cannot merge (OFFSET 0), and are written by their places (ctid). Of a column without statistics it takes a value
// to be rare, and would sort all keys of a source rather than read the first of them in the order of the index: the
// conditions on due keys are ranges, of an expression that no other index has.
//
// SNAPSHOTS. A lock that a statement has waited for shows a row as it is, and its other parts show it as it was. So a place
// is that of the statement's snapshot, and of a key that has not changed since then: a claim and a recovery leave others to
// the next one, and the keys of an end are locked by a statement before it.
//
// LOCKS. A statement that waits for the locks of several keys takes them in the order of their names, so that two of them
// cannot wait for each other; claims skip keys that are locked.
//
// VERSION. A statement that writes does nothing when a newer release has migrated the schema beyond this one. Its lock on
// the table of the version lasts until the end of the transaction, and a migration waits for it; after a migration that
// table is empty for a transaction whose snapshot is older.

import { createHash } from "node:crypto";
import { errorBefore, leaseExpired } from "../row.ts";
import { recoveredPlaces } from "../row-end.ts";
import { keyOf, type SqlTables } from "../sql/sql-reads.ts";

/** Prepared under its name, where the server keeps what is prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A name is that of one text in all releases, since sessions may be shared. */
export function statement(name: string, text: string): Statement {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return { name: `workspace_tasks_${name}_${hash}`, text };
}

export type PostgresTables = SqlTables & { readonly version: string };

/** @param schema an identifier, in quotes */
export const tablesOf = (schema: string): PostgresTables => ({
  deliveries: `${schema}.deliveries`,
  bodies: `${schema}.bodies`,
  keys: `${schema}.ordering_keys`,
  queue: `${schema}.queue`,
  marks: `${schema}.marks`,
  version: `${schema}.inbox_version`,
});

// `clock_timestamp()` is volatile, which would keep the planner from the indexes on times.
export const now = "coalesce($1::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)";

/** The source as the index of the keys that wait has it. */
export const wakeSource = "(source || '')";

/**
 * An acknowledged delivery survives a crash of the server, and its loss where there are synchronous standbys, even where
 * `synchronous_commit` is off or local. Set in each case: the server may load another setting before the commit.
 */
export const makeDurable = `set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on'
    ELSE current_setting('synchronous_commit') END, true)`;

/** Evaluated once for a statement: whether this release may write, and that the commit is durable. */
export const mayWrite = ({ version }: PostgresTables, ownVersion: number, isDurable = true) =>
  `(SELECT count(*) = 1${isDurable ? ` AND ${makeDurable} IS NOT NULL` : ""} FROM ${version} WHERE oldest_usable <= ${ownVersion})`;

/**
 * Makes the commit of a statement that writes nothing wait for the synchronous standbys, and so for every commit before
 * it: what it has read may be on the primary only, after a crash of that during its commit.
 */
export const awaitReplication = `SELECT ${makeDurable}, CASE WHEN current_setting('synchronous_standby_names') <> ''
  THEN pg_logical_emit_message(true, 'workspace_tasks', '')::text END`;

export type PostgresStatements = ReturnType<typeof postgresStatements>;

export function postgresStatements(tables: PostgresTables, version: number) {
  return {
    ...insertStatements(tables, mayWrite(tables, version)),
    ...claimStatements(tables, mayWrite(tables, version, false)),
    ...endStatements(tables, mayWrite(tables, version)),
    awaitReplication: statement("replicate", awaitReplication),
  };
}

/** The columns of a delivery, in the order of the parameters from `$2` on. */
const columnTypes = {
  source: "text",
  webhook_id: "text",
  channel: "text",
  event: "text",
  order_key: "text",
  position: "text",
  status: "text",
  workspace: "text",
  signed_at: "bigint",
  secret_index: "integer",
  traceparent: "text",
  quarantine: "text",
} as const;
const columns = Object.keys(columnTypes);
const afterColumns = columns.length + 2;

/** Of an insert of a key with waiting rows: where it is known already, they are added to its own. */
export const addWaiting = `ON CONFLICT (source, order_key) DO UPDATE
      SET waiting = ordering_key.waiting + excluded.waiting, idle_since = NULL,
        workspace = coalesce(excluded.workspace, ordering_key.workspace),
        wake_at = CASE WHEN ordering_key.worker IS NULL
          THEN least(ordering_key.wake_at, excluded.wake_at) ELSE ordering_key.wake_at END`;

function insertStatements({ deliveries, bodies, keys, queue }: PostgresTables, mayWrite: string) {
  const storedColumns = [...columns.slice(0, -1), "received_at", "outcome", "last_error"].join(", ");
  const storedValues = [
    ...columns.slice(0, -1),
    now,
    "CASE WHEN quarantine IS NOT NULL THEN 'quarantined' END",
    "quarantine",
  ].join(", ");
  const types = Object.values(columnTypes);
  const single = columns.map((name, index) => `$${index + 2}::${types[index]} AS ${name}`).join(", ");
  const arrays = types.map((type, index) => `$${index + 2}::${type}[]`).join(", ");
  return {
    /** One delivery. Returns whether this release may write, and its place, 1, when its id is new. */
    insertRow: statement(
      "insert",
      `WITH input AS MATERIALIZED (SELECT ${single}),
      stored AS (
        INSERT INTO ${deliveries} (${storedColumns}) SELECT ${storedValues} FROM input WHERE ${mayWrite}
        ON CONFLICT (source, webhook_id) DO NOTHING RETURNING seq),
      body_stored AS (INSERT INTO ${bodies} (seq, body) SELECT seq, $${afterColumns}::bytea FROM stored),
      key_stored AS (
        INSERT INTO ${keys} AS ordering_key (source, order_key, workspace, waiting, wake_at)
        SELECT source, ${keyOf("")}, workspace, 1, ${now} FROM input, stored WHERE quarantine IS NULL
        ${addWaiting} RETURNING id),
      queued AS (
        INSERT INTO ${queue} (key_id, position, seq, due_at, body_bytes)
        SELECT id, coalesce(position, ''), seq, 0, length($${afterColumns}::bytea) FROM key_stored, stored, input)
      SELECT EXISTS (SELECT FROM stored) OR ${mayWrite} AS is_usable, ARRAY(SELECT 1::bigint FROM stored) AS places`,
    ),

    /**
     * Many deliveries; the first of equal ids is stored. All bodies are in one buffer, with the start and the length of
     * each: an array of them would be sent as hexadecimal text. Returns the places of those that are new, from 1 on.
     */
    insertRows: statement(
      "insert_all",
      `WITH input AS MATERIALIZED (
        SELECT DISTINCT ON (source, webhook_id) *
        FROM unnest(${arrays}, $${afterColumns}::integer[], $${afterColumns + 1}::integer[])
          WITH ORDINALITY AS input (${columns.join(", ")}, body_start, body_bytes, place)
        ORDER BY source, webhook_id, place),
      stored AS (
        INSERT INTO ${deliveries} (${storedColumns}) SELECT ${storedValues} FROM input WHERE ${mayWrite}
        ON CONFLICT (source, webhook_id) DO NOTHING RETURNING seq, source, webhook_id),
      new_rows AS MATERIALIZED (
        SELECT seq, source, ${keyOf("")} AS order_key, coalesce(position, '') AS position, workspace,
          quarantine IS NULL AS is_event, body_start, body_bytes, place
        FROM stored JOIN input USING (source, webhook_id)),
      bodies_stored AS (
        INSERT INTO ${bodies} (seq, body)
        SELECT seq, substring($${afterColumns + 2}::bytea FROM body_start FOR body_bytes) FROM new_rows),
      keys_stored AS (
        INSERT INTO ${keys} AS ordering_key (source, order_key, workspace, waiting, wake_at)
        SELECT source, order_key, max(workspace), count(*), ${now} FROM new_rows WHERE is_event
        GROUP BY source, order_key ORDER BY source, order_key
        ${addWaiting} RETURNING id, source, order_key),
      queued AS (
        INSERT INTO ${queue} (key_id, position, seq, due_at, body_bytes)
        SELECT id, position, seq, 0, body_bytes FROM new_rows JOIN keys_stored USING (source, order_key) WHERE is_event)
      SELECT ${mayWrite} AS is_usable, ARRAY(SELECT place FROM new_rows) AS places`,
    ),

    /** Whether the bodies of deliveries are those that were stored first, in the order of the deliveries. */
    compareBodies: statement(
      "compare",
      `SELECT (
        SELECT (SELECT body FROM ${bodies} WHERE seq = delivery.seq)
          = substring($5::bytea FROM input.body_start FOR input.body_bytes)
        FROM ${deliveries} AS delivery WHERE source = input.source AND webhook_id = input.webhook_id) AS same
      FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[])
        WITH ORDINALITY AS input (source, webhook_id, body_start, body_bytes, place)
      ORDER BY place`,
    ),
  };
}

/** A time further ahead than the longest delay, `$9`, was written before the clock was set back, and counts as now. */
const isAhead = (time: string) => `${time} > ${now} + $9::bigint`;

function claimStatements({ deliveries, bodies, keys, queue }: PostgresTables, mayWrite: string) {
  const isUnchanged = (key: string) =>
    `(SELECT true FROM ${keys} AS seen WHERE seen.ctid = ${key}.row_place)`;
  const isDue = `(due_at <= ${now} OR ${isAhead("due_at")})`;
  const longest = `${now} + $3::bigint`;
  const claim = (name: string, firstRows: string) =>
    statement(
      name,
      `WITH picked AS MATERIALIZED (
        SELECT id, ctid AS row_place, head, generation, is_suspect, wake_at, worker IS NOT NULL AS is_expired FROM ${keys}
        WHERE ${wakeSource} >= $2::text AND (${wakeSource}, wake_at) <= ($2::text, ${now}) AND wake_at IS NOT NULL
          AND ${mayWrite}
        ORDER BY ${wakeSource}, wake_at, id LIMIT $8::bigint FOR UPDATE SKIP LOCKED),
      found AS MATERIALIZED (
        SELECT picked.id, picked.row_place, picked.head, picked.generation + 1 AS generation, waiting.position,
          waiting.seq, waiting.attempts, row_number() OVER before AS place, sum(waiting.body_bytes) OVER before AS bytes
        FROM picked CROSS JOIN LATERAL (${firstRows}) AS waiting
        WHERE NOT picked.is_expired AND ${isUnchanged("picked")}
        WINDOW before AS (ORDER BY picked.wake_at, picked.id, waiting.position, waiting.seq)),
      taken AS MATERIALIZED (
        SELECT * FROM found WHERE place <= $4::bigint AND (place = 1 OR bytes <= $6::bigint)),
      leased AS (
        UPDATE ${keys} AS ordering_key
        SET worker = $3::text, generation = held.generation, claimed = held.seqs, wake_at = ${now} + $7::bigint
        FROM (
          SELECT row_place, generation, array_agg(seq ORDER BY place) AS seqs FROM taken
          GROUP BY row_place, generation) AS held
        WHERE ordering_key.ctid = held.row_place)
      SELECT state.*, taken.id AS key_id, taken.generation, taken.head, taken.attempts, delivery.seq, delivery.source,
        delivery.webhook_id, delivery.channel, delivery.event, delivery.order_key, delivery.position, delivery.status,
        delivery.workspace, delivery.signed_at, delivery.received_at, delivery.replays, delivery.secret_index,
        delivery.traceparent, (SELECT body FROM ${bodies} WHERE seq = taken.seq) AS body
      FROM (
        SELECT ARRAY(SELECT id FROM picked WHERE is_expired) AS expired,
          ARRAY(SELECT id FROM picked WHERE NOT is_expired AND id NOT IN (SELECT id FROM found)) AS unready,
          (SELECT count(*) FROM picked) = $8::bigint OR (SELECT count(*) FROM found) > (SELECT count(*) FROM taken)
            AS has_more) AS state
      LEFT JOIN (taken CROSS JOIN LATERAL (
        SELECT * FROM ${deliveries} WHERE seq = taken.seq OFFSET 0) AS delivery) ON true
      ORDER BY taken.place`,
    );
  const rowsOf = `FROM ${queue} WHERE key_id = picked.id`;
  const limit = "LIMIT CASE WHEN picked.is_suspect THEN 1 ELSE $5::bigint END";
  const isHeld = "(id, worker, generation) = (input.id, input.worker, input.generation)";
  /** The delay of the retry plan after one attempt more. */
  const delay = "least($5::bigint, $4::bigint * (1::bigint << least(attempts, 30)))";
  return {
    /** Due rows of a key, whatever waits before them. */
    claimLatest: claim(
      "claim",
      `SELECT position, seq, attempts, body_bytes ${rowsOf} AND ${isDue} ORDER BY position, seq ${limit}`,
    ),
    /** Due rows of a key up to the first that is not due. */
    claimStrict: claim(
      "claim_strict",
      `SELECT position, seq, attempts, body_bytes FROM (
        SELECT *, bool_and(${isDue}) OVER (ORDER BY position, seq) AS all_due FROM (
          SELECT * ${rowsOf} ORDER BY position, seq ${limit}) AS first_rows) AS numbered WHERE all_due`,
    ),
    /** When the next key of a source has something to do, and whether the last one's time is too far ahead. */
    nextDue: statement(
      "next",
      `SELECT (
        SELECT wake_at FROM ${keys}
        WHERE ${wakeSource} <= $2::text AND (${wakeSource}, wake_at) > ($2::text, ${now}) AND wake_at IS NOT NULL
        ORDER BY ${wakeSource}, wake_at, id LIMIT 1) - ${now} AS next_in, (
        SELECT wake_at FROM ${keys}
        WHERE ${wakeSource} <= $2::text AND (${wakeSource}, wake_at) > ($2::text, ${longest}) AND wake_at IS NOT NULL
        ORDER BY ${wakeSource}, wake_at, id LIMIT 1) IS NOT NULL AS is_ahead, ${mayWrite} AS is_usable`,
    ),
    /** Wakes the keys of a source whose time is further ahead than the longest delay, `$3`. */
    wakeAhead: statement(
      "wake",
      `UPDATE ${keys} SET wake_at = ${now} WHERE id = ANY (ARRAY(
        SELECT id FROM ${keys}
        WHERE ${wakeSource} <= $2::text AND (${wakeSource}, wake_at) > ($2::text, ${longest}) AND wake_at IS NOT NULL
          AND ${mayWrite}
        ORDER BY ${wakeSource}, wake_at, id LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING 1`,
    ),
    /** Has keys without a due row sleep until one is; not a key with rows that this statement does not see yet. */
    deferKeys: statement(
      "defer",
      `UPDATE ${keys} AS ordering_key SET wake_at = rows.due_at
      FROM unnest($2::bigint[]) AS unready (id) CROSS JOIN LATERAL (
        SELECT count(*) AS count,
          CASE WHEN $3::boolean THEN (array_agg(due_at ORDER BY position, seq))[1] ELSE min(due_at) END AS due_at
        FROM ${queue} WHERE key_id = unready.id) AS rows
      WHERE ordering_key.id = unready.id AND ordering_key.worker IS NULL AND ordering_key.waiting = rows.count
        AND rows.due_at > ${now} AND ${mayWrite} RETURNING 1`,
    ),
    /**
     * Keys whose lease expired: the rows that were being handled have an attempt more, or are dead after their last one.
     * About their due times see row-end.ts.
     */
    recoverExpired: statement(
      "recover",
      `WITH locked AS MATERIALIZED (
        SELECT id, ctid AS row_place, head, moved_at, waiting, claimed FROM ${keys}
        WHERE id = ANY ($2::bigint[]) AND worker IS NOT NULL AND (wake_at <= ${now} OR wake_at > ${now} + $6::bigint)
          AND ${mayWrite}
        FOR UPDATE SKIP LOCKED),
      expired AS MATERIALIZED (SELECT * FROM locked WHERE ${isUnchanged("locked")}),
      handled AS MATERIALIZED (
        SELECT numbered.*, waiting_row.row_place AS queued_place,
          coalesce(waiting_row.attempts + 1 >= $3::integer, false)::integer AS died,
          coalesce(${delay} * least(numbered.place, ${recoveredPlaces}) / ${recoveredPlaces}, 0) AS after
        FROM (SELECT *, row_number() OVER (ORDER BY id) - 1 AS place FROM expired) AS numbered LEFT JOIN LATERAL (
          SELECT ctid AS row_place, attempts FROM ${queue}
          WHERE key_id = numbered.id AND seq = ANY (numbered.claimed) ORDER BY position, seq LIMIT 1) AS waiting_row
        ON true),
      ended AS (
        DELETE FROM ${queue} AS waiting USING handled
        WHERE waiting.ctid = handled.queued_place AND handled.died = 1
        RETURNING waiting.seq, waiting.attempts, waiting.last_error),
      counted AS (
        UPDATE ${queue} AS waiting
        SET attempts = waiting.attempts + 1, due_at = CASE WHEN after > 0 THEN ${now} + after ELSE 0 END
        FROM handled
        WHERE waiting.ctid = handled.queued_place AND handled.died = 0),
      buried AS (
        UPDATE ${deliveries} AS delivery
        SET outcome = 'dead', attempts = ended.attempts + 1, died_at = ${now},
          last_error = '${leaseExpired}' || coalesce('${errorBefore}' || coalesce(ended.last_error, delivery.last_error), '')
        FROM ended CROSS JOIN LATERAL (
          SELECT ctid AS row_place FROM ${deliveries} WHERE seq = ended.seq OFFSET 0) AS stored
        WHERE delivery.ctid = stored.row_place
        RETURNING delivery.source, delivery.webhook_id, delivery.last_error),
      emptied AS (
        DELETE FROM ${keys} WHERE id = ANY (ARRAY(SELECT id FROM handled WHERE head IS NULL AND waiting = died))),
      freed AS (
        UPDATE ${keys} AS ordering_key
        SET worker = NULL, claimed = NULL, waiting = handled.waiting - died, is_suspect = died = 0,
          wake_at = CASE WHEN handled.waiting > 1 THEN ${now} WHEN handled.waiting > died THEN ${now} + after END,
          idle_since = CASE WHEN handled.waiting = died THEN handled.moved_at END
        FROM handled
        WHERE ordering_key.ctid = handled.row_place AND NOT (handled.head IS NULL AND handled.waiting = died))
      SELECT source, webhook_id, last_error FROM buried`,
    ),
    /** Returns the places of those that are still held. One that its own worker is changing at this moment is left as it is. */
    renewLeases: statement(
      "renew",
      `WITH input AS MATERIALIZED (
        SELECT * FROM unnest($3::bigint[], $4::text[], $5::integer[])
        WITH ORDINALITY AS input (id, worker, generation, place)),
      free AS MATERIALIZED (
        SELECT input.id FROM input CROSS JOIN LATERAL (
          SELECT FROM ${keys} WHERE ${isHeld} AND ${mayWrite} FOR UPDATE SKIP LOCKED) AS held),
      renewed AS (
        UPDATE ${keys} SET wake_at = ${now} + $2::bigint WHERE id = ANY (ARRAY(SELECT id FROM free)))
      SELECT ${mayWrite} AS is_usable, ARRAY(
        SELECT place FROM input WHERE (SELECT true FROM ${keys} WHERE ${isHeld})) AS places`,
    ),
  };
}

function endStatements(tables: PostgresTables, mayWrite: string) {
  const { deliveries, keys, queue } = tables;
  const isHeld =
    "id = $2::bigint AND worker = $4::text AND generation = $5::integer AND $3::bigint = ANY (claimed)";
  const isLast = "cardinality(claimed) = 1";
  const advanceKey = `
        UPDATE ${keys} SET
          head = $7::text, status = $8::text, moved_at = ${now}, waiting = waiting - 1, is_suspect = false,
          workspace = CASE WHEN $8::text = 'RUNNING' THEN workspace END,
          claimed = CASE WHEN NOT ${isLast} THEN array_remove(claimed, $3::bigint) END,
          worker = CASE WHEN NOT ${isLast} THEN worker END,
          wake_at = CASE WHEN NOT ${isLast} THEN wake_at WHEN waiting > 1 THEN ${now} END,
          idle_since = CASE WHEN waiting = 1 THEN ${now} END
        WHERE ${isHeld} AND ${mayWrite}
          AND (head IS NULL OR head < $7::text OR (head = $7::text AND $9::boolean))
        RETURNING worker IS NULL AND wake_at IS NOT NULL AS has_more`;
  const removeKey = `
        DELETE FROM ${keys} WHERE ${isHeld} AND ${mayWrite} AND $1::bigint IS NOT DISTINCT FROM $1::bigint
        RETURNING false AS has_more`;
  /**
   * Fails with a division by zero when the row was not held or something newer was applied: a commit may follow at once.
   * Returns a row without columns when others of the key can be claimed.
   */
  const end = (name: string, endsKey: string, recorded = "") =>
    statement(
      name,
      `WITH held AS (${endsKey}),
      ended AS (
        DELETE FROM ${queue} WHERE key_id = $2::bigint AND position = $6::text AND seq = $3::bigint
          AND EXISTS (SELECT FROM held) RETURNING last_error)${recorded}
      SELECT FROM (SELECT) AS one
      WHERE CASE 1 / (SELECT count(*)::integer FROM ended) WHEN 1 THEN (SELECT has_more FROM held) END`,
    );
  const record = (outcome: string, attempts: string) => `,
      recorded AS (
        UPDATE ${deliveries} AS delivery SET outcome = nullif(${outcome}::text, 'done'), attempts = ${attempts}::integer,
          last_error = coalesce(ended.last_error, delivery.last_error)
        FROM ended WHERE delivery.seq = $3::bigint)`;
  const newest = (
    column: string,
  ) => `(array_agg(${column} ORDER BY head_position COLLATE "C" DESC, place DESC)
          FILTER (WHERE result = 'done' AND head_position IS NOT NULL))[1] AS ${column}`;
  return {
    /** One row that is done and advances the head of its key; recorded where it was not its first attempt. */
    endRow: end("end", advanceKey),
    endRowAndRecord: end("end_recorded", advanceKey, record("$10", "$11")),
    /** One row without a key, which is a key of its own. */
    endFreeRow: end("end_free", removeKey),
    endFreeRowAndRecord: end("end_free_recorded", removeKey, record("$7", "$8")),

    /** The places of rows that could not be ended and are held all the same. */
    leasesOf: statement(
      "leases",
      `SELECT ARRAY(
        SELECT place FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::integer[])
          WITH ORDINALITY AS input (id, seq, worker, generation, place)
        JOIN ${keys} AS ordering_key USING (id, worker, generation)
        WHERE input.seq = ANY (ordering_key.claimed)) AS held`,
    ),

    /** Of rows that end together: they are as the next statement sees them. */
    lockKeys: statement(
      "lock",
      `SELECT count(*) FROM (
        SELECT FROM ${keys} WHERE id = ANY ($1::bigint[]) ORDER BY source, order_key FOR UPDATE) AS locked`,
    ),

    /**
     * Ends claimed rows of locked keys, in any way, and advances the heads of their keys; a row whose head is already further becomes
     * stale. A row that is not returned was not held, or had ended before. With `$14` all of them end as requested, or the
     * statement fails with a division by zero; it then returns those of keys of which others can be claimed.
     */
    endRows: statement(
      "end_all",
      `WITH input AS MATERIALIZED (
        SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::integer[], $6::text[], $7::text[],
          $8::integer[], $9::text[], $10::text[], $11::boolean[], $12::bigint[], $13::text[])
        WITH ORDINALITY AS input (key_id, seq, worker, generation, position, outcome,
          attempts, head_position, head_status, allow_same, delay, error, place)),
      ending AS MATERIALIZED (
        SELECT DISTINCT ON (seq) input.*, ordering_key.*, waiting.*,
          CASE WHEN outcome = 'done' AND (head_position < head OR (head_position = head AND NOT allow_same))
          THEN 'stale' ELSE outcome END AS result
        FROM input CROSS JOIN LATERAL (
          SELECT ctid AS key_place, head, moved_at, waiting, claimed FROM ${keys}
          WHERE id = input.key_id AND worker = input.worker AND generation = input.generation
            AND input.seq = ANY (claimed) AND ${mayWrite} OFFSET 0) AS ordering_key
        CROSS JOIN LATERAL (
          SELECT ctid AS row_place, last_error FROM ${queue}
          WHERE key_id = input.key_id AND position = input.position AND seq = input.seq OFFSET 0) AS waiting
        ORDER BY seq, place),
      ended AS (
        DELETE FROM ${queue} AS waiting USING ending
        WHERE waiting.ctid = ending.row_place AND ending.result IN ('done', 'stale', 'dead')),
      retried AS (
        UPDATE ${queue} AS waiting
        SET due_at = ${now} + ending.delay, attempts = ending.attempts, last_error = ending.error FROM ending
        WHERE waiting.ctid = ending.row_place AND ending.result = 'retry'),
      -- A row that ended well, without a failure before, needs no mark: it is done because it is not queued. A failure that
      -- was not counted leaves no attempt behind by which the end of the row would know of it.
      recording AS MATERIALIZED (
        SELECT ending.*, stored.row_place AS stored_place FROM ending CROSS JOIN LATERAL (
          SELECT ctid AS row_place FROM ${deliveries} WHERE seq = ending.seq OFFSET 0) AS stored
        WHERE CASE result WHEN 'done' THEN attempts > 1 OR last_error IS NOT NULL WHEN 'retry' THEN attempts = 0
          ELSE result IN ('stale', 'dead') END),
      recorded AS (
        UPDATE ${deliveries} AS delivery
        SET outcome = nullif(result, 'done'), attempts = recording.attempts,
            died_at = CASE WHEN result = 'dead' THEN ${now} END,
            last_error = coalesce(error, recording.last_error, delivery.last_error)
        FROM recording WHERE delivery.ctid = stored_place AND result <> 'retry'),
      noted AS (
        UPDATE ${deliveries} AS delivery SET last_error = error
        FROM recording WHERE delivery.ctid = stored_place AND result = 'retry'),
      after AS MATERIALIZED (
        SELECT key_id, key_place, head, moved_at, waiting - count(*) FILTER (WHERE result IN ('done', 'stale', 'dead')) AS waiting,
          bool_or(result IN ('done', 'stale', 'dead')) AS has_ended, count(*) FILTER (WHERE delay > 0) AS delayed,
          ${now} + min(delay) FILTER (WHERE delay > 0) AS due_at,
          nullif(ARRAY(SELECT open FROM unnest(claimed) AS open WHERE open <> ALL (array_agg(seq))), '{}') AS claimed,
          ${newest("head_position")}, ${newest("head_status")}
        FROM ending GROUP BY key_id, key_place, head, moved_at, waiting, claimed),
      emptied AS (
        DELETE FROM ${keys} WHERE id = ANY (ARRAY(
          SELECT key_id FROM after WHERE waiting = 0 AND head IS NULL AND head_position IS NULL))),
      updated AS (
        UPDATE ${keys} AS ordering_key
        SET head = coalesce(after.head_position, after.head),
          status = CASE WHEN after.head_position IS NULL THEN ordering_key.status ELSE after.head_status END,
          workspace = CASE WHEN after.head_position IS NULL OR after.head_status = 'RUNNING' THEN ordering_key.workspace END,
          moved_at = CASE WHEN after.head_position IS NULL THEN after.moved_at ELSE ${now} END,
          idle_since = CASE WHEN after.waiting > 0 THEN NULL WHEN after.head_position IS NULL THEN after.moved_at
            ELSE ${now} END,
          waiting = after.waiting, is_suspect = ordering_key.is_suspect AND NOT after.has_ended,
          claimed = after.claimed,
          worker = CASE WHEN after.claimed IS NOT NULL THEN ordering_key.worker END,
          wake_at = CASE WHEN after.claimed IS NOT NULL THEN ordering_key.wake_at WHEN after.waiting = 0 THEN NULL
            WHEN after.waiting = after.delayed THEN after.due_at ELSE ${now} END
        FROM after
        WHERE ordering_key.ctid = after.key_place AND NOT (
          after.waiting = 0 AND after.head IS NULL AND after.head_position IS NULL)
        RETURNING ordering_key.id, ordering_key.worker IS NULL AND ordering_key.wake_at IS NOT NULL AS has_more)
      -- Not evaluated unless it is a result.
      SELECT required.ended, ${mayWrite} AS is_usable, place, result,
        key_id IN (SELECT id FROM updated WHERE has_more) AS has_more
      FROM (SELECT 1 / CASE WHEN $14::boolean AND (
          SELECT count(*) FROM ending WHERE result = outcome) < (SELECT count(*) FROM input)
        THEN 0 ELSE 1 END AS ended) AS required LEFT JOIN ending ON true
      WHERE CASE required.ended WHEN 1 THEN NOT $14::boolean OR key_id IN (SELECT id FROM updated WHERE has_more) END`,
    ),
  };
}
