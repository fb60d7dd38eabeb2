// What requests, operators, retention and reconciling ask of the inbox, beside the deliveries that pass. A number of a
// delivery grows with its time of receipt. `$1` is the time wherever a statement needs it.
//
// RETENTION. A call removes at most what it is asked for, and looks at little more: bodies and rows by their numbers, from
// where the call before has stopped, below the first that is too young; heads by the time since which their keys are idle.
// When a round has reached the end, a call returns 0 and the next one begins at the front again.

import { tenantRange } from "../../signature/tenant.ts";
import * as inbox from "../inbox.ts";
import { listBy, type SearchedStorage, searchInSteps } from "../search.ts";
import type { GuardedClient } from "./guarded-pool.ts";
import type { PostgresDatabase } from "./postgres-operations.ts";
import type { PostgresRow } from "./postgres-pool.ts";
import * as inboxRow from "./postgres-rows.ts";
import { keyOf, makeDurable, now, type PostgresTables, wakeSource } from "./postgres-statements.ts";
import type { SqlValue } from "./sql-text.ts";

type Methods = inbox.InboxInlineStore &
  inbox.InboxOperatorStore &
  inbox.InboxMaintenanceStore &
  Pick<inbox.InboxAcceptStore, "backlog"> &
  Pick<inbox.InboxWorkQueue<unknown>, "waitingSources">;

interface RecordsOptions {
  readonly database: PostgresDatabase;
  readonly tables: PostgresTables;
  /** Number of the schema that this release writes. */
  readonly version: number;
}

export function postgresRecords({ database, tables, version }: RecordsOptions): Methods {
  const { pool, now: readNow, wake, requireUsable } = database;
  const sql = recordStatements(tables);
  /** Reports and retention may take longer than a delivery. */
  const largeLimitMs = 6 * pool.limitMs;
  const read = async (text: string, values: readonly SqlValue[], limitMs?: number) => {
    const [result] = await pool.run("claim", [[{ name: "", text }, values]], limitMs);
    return result?.rows ?? [];
  };
  const query = async (client: GuardedClient, text: string, values: readonly SqlValue[]) =>
    (await client.execute([{ name: "", text }, values])).rows;
  /** Statements in one transaction, durable, of a release that may write. */
  const write = async <Result>(
    work: (execute: Execute) => Promise<Result>,
    limitMs?: number,
  ): Promise<Result> => {
    const usable = `SELECT ${makeDurable} FROM ${tables.version} WHERE oldest_usable <= ${version}`;
    const result = await pool.transaction(async (client) => {
      const [found] = await client.send(usable);
      return found?.rows.length
        ? { value: await work((text, values) => query(client, text, values)) }
        : undefined;
    }, limitMs);
    if (result) return result.value;
    await requireUsable();
    return write(work, limitMs);
  };
  const change = (text: string, values: readonly SqlValue[], limitMs?: number) =>
    write(async (execute) => (await execute(text, values)).length, limitMs);
  const head: inbox.InboxStore["head"] = async (source, key) =>
    inboxRow.toHead((await read(sql.headOf, [readNow(), source, key]))[0]);
  const searched = searchedBy((text, values) => read(text, values, largeLimitMs), sql);
  const search = (given: inbox.InboxSearch) => searchInSteps(searched, given);
  const purge = createPurge({ read, write, sql, now: readNow, limitMs: largeLimitMs });

  return {
    head,
    purge,
    async replay({ source, id }, { event, orderKey, position, status, workspaceId }) {
      const key = orderKey ?? `id:${id}`;
      const isReplayed = await write(async (execute) => {
        // So that it is not purged or replayed by another one meanwhile.
        await execute(sql.lockDelivery, [source, id]);
        const [found] = await execute(sql.findReplayable, [source, id]);
        if (!found) return false;
        const seq = Number(found["seq"]);
        await execute(sql.replayDelivery, [readNow(), seq, event, orderKey, position, status, workspaceId]);
        await execute(sql.queueRow, [
          ...[readNow(), source, key, workspaceId],
          ...[position ?? "", seq, Number(found["body_bytes"])],
        ]);
        return true;
      });
      if (isReplayed) wake(source);
      return isReplayed;
    },
    discard: async ({ source, id }) => (await change(sql.discardRow, [source, id])) > 0,
    async advanceHead({ source, key, position }) {
      if ((await change(sql.advanceHead, [readNow(), source, key, position])) > 0) return "newer";
      return (await head(source, key))?.position === position ? "same" : "stale";
    },
    async beginInline({ id, timestamp, body }, { source, leaseMs }) {
      return write(async (execute): Promise<inbox.InboxBeginInlineResult> => {
        const [begun] = await execute(sql.beginInline, [readNow(), source, id, timestamp, leaseMs]);
        if (begun) {
          await execute(sql.insertBody, [Number(begun["seq"]), body]);
          return { state: "begun", generation: Number(begun["generation"]) };
        }
        await execute(sql.shortenLease, [readNow(), source, id, leaseMs]);
        const [row] = await execute(sql.inlineLease, [readNow(), source, id]);
        if (row?.["state"] === "inline")
          return { state: "busy", retryAfterMs: Math.max(0, Number(row["ends_in"])) };
        await execute(sql.awaitReplication, []);
        return { state: "done" };
      });
    },
    async finishInline(id, { source, generation, outcome }) {
      const recorded = outcome === "done" ? null : "inline";
      return (await change(sql.finishInline, [source, id, generation, recorded])) > 0;
    },
    search,
    list: listBy(search),
    async get({ source, id }) {
      const [row] = await read(sql.getRow, [source, id]);
      return row && inboxRow.toDetails(row);
    },
    reconcileCandidates: async ({ source, runningForMs, afterKey, limit }) =>
      inboxRow.toCandidates(
        await read(sql.reconcileCandidates, [readNow(), source, runningForMs, afterKey, limit], largeLimitMs),
      ),
    async readMarks(source) {
      const rows = await read(sql.readMarks, [readNow(), source]);
      return { nowMs: Number(rows[0]?.["now"]), marks: inboxRow.toMarks(rows) };
    },
    async writeMarks(source, marks) {
      for (const [name, value] of Object.entries(marks)) await change(sql.writeMark, [source, name, value]);
    },
    keepMark: (source, name, value) =>
      write(async (execute) => String((await execute(sql.keepMark, [source, name, value]))[0]?.["value"])),
    async waitingSources(source) {
      const { from, to } = tenantRange(source);
      const rows = await read(sql.waitingSources, [readNow(), source, from, to]);
      return rows.map((row) => ({ source: String(row["source"]), dueInMs: Number(row["due_in"]) }));
    },
    async backlog(source, limit) {
      const [row] = await read(sql.countBacklog, [source, limit]);
      return Math.min(limit, Number(row?.["count"]));
    },
    async leases() {
      const found = await read(sql.leases, [readNow()]);
      return found.map(({ source, worker, rows, ends_in }) => ({
        source: String(source),
        worker: String(worker),
        rows: Number(rows),
        endsInMs: Number(ends_in),
      }));
    },
    async stats() {
      const [found] = await read(sql.stats, [readNow()]);
      const { waiting, dead, quarantined, oldest, ahead } = found as Readonly<Record<string, number | null>>;
      return {
        rows: { waiting: Number(waiting), dead: Number(dead), quarantined: Number(quarantined) },
        // Below 0 for rows stored before the clock was set back.
        oldestPendingMs: oldest === null ? null : Math.max(0, Number(oldest)),
        storedAheadMs: Math.max(0, Number(ahead)),
      };
    },
  };
}

function searchedBy(read: Execute, sql: ReturnType<typeof recordStatements>): SearchedStorage {
  return {
    stepRows: 5_000,
    async range() {
      const [range] = await read(sql.seqRange, []);
      return { first: Number(range?.["first"] ?? 0), last: Number(range?.["last"] ?? -1) };
    },
    async receiptFrom(seq) {
      const [row] = await read(sql.receiptFrom, [seq]);
      return row && { seq: Number(row["seq"]), receivedAtMs: Number(row["received_at"]) };
    },
    async unhandledBelow(belowSeq, rowsMax) {
      const [row] = await read(sql.unhandledBelow, [belowSeq, rowsMax]);
      const count = Number(row?.["count"]);
      return count > 0 ? { fromSeq: Number(row?.["first"]), count } : undefined;
    },
    async waiting(rowsMax) {
      const found = await read(sql.waitingSeqs, [rowsMax + 1]);
      return found.length > rowsMax ? undefined : found.map(({ seq }) => Number(seq));
    },
    async find({ belowSeq, fromSeq, isUnhandled }, given, rowsMax, seqs) {
      const { states = null, source = null, events, keyText = null, errorText, bodyText } = given;
      const { idEnd = null, sinceMs = null, untilMs = null } = given;
      const patterns = events?.map((pattern) => pattern.replace(/[\\%_]/g, "\\$&").replaceAll("*", "%"));
      const found = await read(seqs ? sql.findSeqs : isUnhandled ? sql.findUnhandled : sql.findRows, [
        ...[belowSeq, fromSeq, rowsMax, source, states, patterns ?? null, keyText],
        ...[errorText?.replaceAll("\n", " ") ?? null, bodyText === undefined ? null : Buffer.from(bodyText)],
        ...[idEnd, sinceMs, untilMs],
        ...(seqs ? [seqs] : []),
      ]);
      return found.map(inboxRow.toSummary);
    },
  };
}

type Execute = (text: string, values: readonly SqlValue[]) => Promise<readonly PostgresRow[]>;

interface PurgeOptions {
  read: Execute;
  write<Result>(work: (execute: Execute) => Promise<Result>, limitMs?: number): Promise<Result>;
  readonly sql: ReturnType<typeof recordStatements>;
  now(): number | null;
  readonly limitMs: number;
}

function createPurge({ read, write, sql, now, limitMs }: PurgeOptions): inbox.InboxStore["purge"] {
  /** Number of the first row that is too young, by bisection: the times of receipt need no index. */
  const findBoundary = async (afterMs: number, asOfMs: number | null) => {
    const [range] = await read(sql.seqRange, []);
    const [first, last] = [Number(range?.["first"] ?? 0), Number(range?.["last"] ?? -1)];
    let [expired, young] = [first - 1, last + 1];
    while (young - expired > 1) {
      const middle = Math.floor((expired + young) / 2);
      const [row] = await read(sql.rowFrom, [now(), afterMs, middle, asOfMs]);
      if (row?.["is_expired"] === true) expired = Number(row["seq"]);
      else young = middle;
    }
    return young;
  };
  /** Removes rows by their numbers, in pages; the next call continues where this one ends. */
  const inOrder = (statement: string) => {
    let [after, below] = [0, 0];
    return async (ages: readonly number[], asOfMs: number | null, rowsMax: number): Promise<number> => {
      if (after === 0) below = await findBoundary(Math.min(...ages), asOfMs);
      let changed = 0;
      while (changed < rowsMax) {
        const values = [now(), asOfMs, after, below, pageRows, rowsMax - changed, ...ages];
        const [page] = await write((execute) => execute(statement, values), limitMs);
        changed += Number(page?.["changed"]);
        const last = inboxRow.toNumber(page?.["last"]);
        after = last ?? 0;
        if (last === null) break;
      }
      return changed;
    };
  };
  const purgeBodies = inOrder(sql.purgeBodies);
  const purgeRows = inOrder(sql.purgeRows);
  return async ({ bodiesMs, rowsMs, headsMs, unhandledBodiesMs, asOfMs = null }, rowsMax) => {
    const bodies = await purgeBodies([Math.min(bodiesMs, rowsMs), unhandledBodiesMs], asOfMs, rowsMax);
    const rows = await purgeRows([rowsMs], asOfMs, rowsMax);
    const heads = await write(
      async (execute) => (await execute(sql.purgeHeads, [now(), asOfMs, headsMs, rowsMax])).length,
      limitMs,
    );
    return bodies + rows + heads;
  };
}

/** How many rows a statement looks at to find some that it may remove. */
const pageRows = 2_000;

function recordStatements(tables: PostgresTables) {
  return {
    ...rowStatements(tables),
    ...inlineStatements(tables),
    ...maintenanceStatements(tables),
    ...countStatements(tables),
  };
}

/** A delivery, its key and its place in the queue; the last two may be absent. */
const withQueue = ({ deliveries, keys, queue }: PostgresTables) => `
  ${deliveries} AS delivery
  LEFT JOIN ${keys} AS ordering_key ON delivery.outcome IS NULL AND ordering_key.source = delivery.source
    AND ordering_key.order_key = ${keyOf("delivery.")}
  LEFT JOIN ${queue} AS waiting ON waiting.key_id = ordering_key.id
    AND waiting.position = coalesce(delivery.position, '') AND waiting.seq = delivery.seq`;

const isUnhandled = "outcome IN ('dead', 'quarantined')";

function rowStatements(tables: PostgresTables) {
  const { deliveries, bodies, keys, queue } = tables;
  const state = `
    CASE WHEN delivery.outcome IS NOT NULL THEN delivery.outcome WHEN waiting.seq IS NULL THEN 'done'
      WHEN waiting.seq = ANY (ordering_key.claimed) THEN 'running' ELSE 'pending' END`;
  const summary = `
    SELECT delivery.seq, delivery.source, delivery.webhook_id, delivery.channel, ${state} AS state, delivery.event,
      delivery.order_key, delivery.position, delivery.status, delivery.workspace, delivery.signed_at,
      delivery.received_at, delivery.died_at, coalesce(nullif(waiting.due_at, 0), delivery.replayed_at, delivery.received_at) AS due_at,
      coalesce(waiting.attempts, delivery.attempts) AS attempts, delivery.replays,
      coalesce(waiting.last_error, delivery.last_error) AS last_error, delivery.secret_index, delivery.traceparent`;
  const time =
    "CASE delivery.outcome WHEN 'dead' THEN coalesce(delivery.died_at, delivery.received_at) ELSE delivery.received_at END";
  const withBodyBytes = `SELECT *, (SELECT length(body) FROM ${bodies} AS stored WHERE stored.seq = listed.seq) AS body_bytes`;
  /** What is known without the key comes first; each key is then found by its index. */
  const findIn = (rowsOf: string) => `
    ${withBodyBytes} FROM (
      SELECT * FROM (
        ${summary} FROM ${withQueue(tables)}
        WHERE ${rowsOf} AND delivery.seq < $1::bigint AND delivery.seq >= $2::bigint
          AND ($4::text IS NULL OR delivery.source = $4::text)
          AND ($5::text[] IS NULL OR coalesce(delivery.outcome, 'done') = ANY ($5::text[])
            OR (delivery.outcome IS NULL AND $5::text[] && '{pending,running}'))
          AND ($6::text[] IS NULL OR delivery.event LIKE ANY ($6::text[]))
          AND ($7::text IS NULL OR position($7::text IN delivery.order_key) > 0)
          AND ($9::bytea IS NULL OR position($9::bytea IN (
            SELECT body FROM ${bodies} AS stored WHERE stored.seq = delivery.seq)) > 0)
          AND ($10::text IS NULL OR right(delivery.webhook_id, length($10::text)) = $10::text)
          AND ($11::bigint IS NULL OR ${time} >= $11::bigint) AND ($12::bigint IS NULL OR ${time} < $12::bigint)
        ) AS found
      WHERE ($5::text[] IS NULL OR state = ANY ($5::text[]))
        AND ($8::text IS NULL OR position($8::text IN replace(last_error, chr(10), ' ')) > 0)
      ORDER BY seq DESC LIMIT $3::bigint) AS listed ORDER BY seq DESC`;
  /** A range of one outcome: PostgreSQL would look for one that no row has in all rows, in the order of their numbers. */
  const unhandledSeqs = (outcome: string) => `(
        SELECT seq FROM ${deliveries}
        WHERE outcome BETWEEN '${outcome}' AND '${outcome}' AND ${isUnhandled} AND seq < $1::bigint
        ORDER BY outcome DESC, seq DESC LIMIT $2::bigint)`;
  const unhandledBetween = (outcome: string) =>
    `SELECT seq FROM ${deliveries} WHERE outcome = '${outcome}' AND ${isUnhandled} AND seq < $1::bigint AND seq >= $2::bigint`;
  return {
    findRows: findIn("true"),
    /** The numbers are found first, one search of the index per outcome: otherwise all rows between them are read. */
    findUnhandled: findIn(
      `delivery.seq = ANY (ARRAY(${["dead", "quarantined"].map(unhandledBetween).join(" UNION ALL ")}))`,
    ),
    findSeqs: findIn("delivery.seq = ANY ($13::bigint[])"),

    /** One search of the index per outcome, as each is in the order of the numbers. */
    unhandledBelow: `
    SELECT min(seq) AS first, count(*) AS count FROM (
      SELECT seq FROM (${["dead", "quarantined"].map(unhandledSeqs).join(" UNION ALL ")}) AS both_outcomes
      ORDER BY seq DESC LIMIT $2::bigint) AS step`,

    waitingSeqs: `SELECT seq FROM (SELECT seq FROM ${queue} LIMIT $1::bigint) AS waiting ORDER BY seq DESC`,

    receiptFrom: `SELECT seq, received_at FROM ${deliveries} WHERE seq >= $1::bigint ORDER BY seq LIMIT 1`,

    getRow: `
    ${summary}, body.body, length(body.body) AS body_bytes FROM ${withQueue(tables)}
    LEFT JOIN ${bodies} AS body ON body.seq = delivery.seq
    WHERE delivery.source = $1::text AND delivery.webhook_id = $2::text`,

    lockDelivery: `SELECT 1 FROM ${deliveries} WHERE source = $1::text AND webhook_id = $2::text FOR UPDATE`,

    /** A row that does not wait and has a body. */
    findReplayable: `
    SELECT delivery.seq, length(body.body) AS body_bytes FROM ${withQueue(tables)}
    JOIN ${bodies} AS body ON body.seq = delivery.seq
    WHERE delivery.source = $1::text AND delivery.webhook_id = $2::text AND waiting.seq IS NULL
      AND delivery.outcome IS DISTINCT FROM 'inline'`,

    replayDelivery: `
    UPDATE ${deliveries}
    SET outcome = NULL, attempts = NULL, replays = replays + 1, replayed_at = ${now}, died_at = NULL, event = $3::text,
      order_key = $4::text, position = $5::text, status = $6::text, workspace = $7::text
    WHERE seq = $2::bigint`,

    queueRow: `
    WITH queued_key AS (
      INSERT INTO ${keys} AS ordering_key (source, order_key, workspace, waiting, wake_at)
      VALUES ($2::text, $3::text, $4::text, 1, ${now})
      ON CONFLICT (source, order_key) DO UPDATE
      SET waiting = ordering_key.waiting + 1, idle_since = NULL,
        workspace = coalesce(excluded.workspace, ordering_key.workspace),
        wake_at = CASE WHEN ordering_key.worker IS NULL
          THEN least(ordering_key.wake_at, excluded.wake_at) ELSE ordering_key.wake_at END
      RETURNING id)
    INSERT INTO ${queue} (key_id, position, seq, due_at, body_bytes)
    SELECT id, $5::text, $6::bigint, 0, $7::integer FROM queued_key`,

    discardRow: `
    UPDATE ${deliveries} SET outcome = 'discarded'
    WHERE source = $1::text AND webhook_id = $2::text AND ${isUnhandled} RETURNING 1`,
  };
}

/** Rows that a request handles itself, and the heads that they advance. */
function inlineStatements({ deliveries, bodies, keys }: PostgresTables) {
  return {
    /** Stores a row, or takes over one whose lease ended; otherwise changes nothing and returns no row. */
    beginInline: `
    INSERT INTO ${deliveries} AS delivery
      (source, webhook_id, channel, signed_at, received_at, outcome, lease_until, generation)
    VALUES ($2::text, $3::text, 'webhook', $4::bigint, ${now}, 'inline', ${now} + $5::bigint, 1)
    ON CONFLICT (source, webhook_id) DO UPDATE
    SET lease_until = excluded.lease_until, generation = delivery.generation + 1
    WHERE delivery.outcome = 'inline' AND delivery.lease_until <= ${now}
    RETURNING seq, generation`,

    /** One that ends later than a lease can was taken before the clock was set back. */
    shortenLease: `
    UPDATE ${deliveries} SET lease_until = ${now} + $4::bigint
    WHERE source = $2::text AND webhook_id = $3::text AND outcome = 'inline' AND lease_until > ${now} + $4::bigint`,

    insertBody: `INSERT INTO ${bodies} (seq, body) VALUES ($1::bigint, $2::bytea) ON CONFLICT (seq) DO NOTHING`,

    inlineLease: `
    SELECT outcome AS state, lease_until - ${now} AS ends_in FROM ${deliveries}
    WHERE source = $2::text AND webhook_id = $3::text`,

    finishInline: `
    UPDATE ${deliveries} SET outcome = $4::text, lease_until = 0
    WHERE source = $1::text AND webhook_id = $2::text AND generation = $3::integer AND outcome = 'inline' RETURNING 1`,

    advanceHead: `
    INSERT INTO ${keys} AS ordering_key (source, order_key, head, moved_at, idle_since, waiting)
    VALUES ($2::text, $3::text, $4::text, ${now}, ${now}, 0)
    ON CONFLICT (source, order_key) DO UPDATE
    SET head = excluded.head, status = NULL, moved_at = excluded.moved_at,
      idle_since = CASE WHEN ordering_key.waiting = 0 THEN excluded.moved_at END
    WHERE ordering_key.head IS NULL OR excluded.head > ordering_key.head RETURNING 1`,

    awaitReplication: `
    SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
      THEN pg_logical_emit_message(true, 'workspace_tasks', '')::text END`,
  };
}

function maintenanceStatements(tables: PostgresTables) {
  const { deliveries, bodies, keys, marks } = tables;
  const asOf = (parameter: string) => `least(${now}, coalesce(${parameter}::bigint, ${now}))`;
  const age = "coalesce(delivery.replayed_at, delivery.received_at)";
  const isOlder = (parameter: string) => `${age} <= ${asOf("$2")} - ${parameter}::bigint`;
  const isSettled = `(delivery.outcome IN ('stale', 'discarded', 'inline')
        OR (delivery.outcome IS NULL AND waiting.seq IS NULL))`;
  /** Of a page of numbers after $3 and below $4: removes at most $6; returns where to continue. */
  const purgePage = (from: string, mayGo: string) => `
    WITH page AS MATERIALIZED (
      SELECT seq FROM ${from} WHERE seq > $3::bigint AND seq < $4::bigint ORDER BY seq LIMIT $5::bigint),
    expired AS MATERIALIZED (
      SELECT delivery.seq FROM page CROSS JOIN LATERAL (
        SELECT delivery.seq FROM ${withQueue(tables)} WHERE delivery.seq = page.seq AND ${mayGo}
        LIMIT 1 FOR UPDATE OF delivery SKIP LOCKED) AS delivery
      ORDER BY page.seq LIMIT $6::bigint),
    removed AS (DELETE FROM ${from} WHERE seq = ANY (ARRAY(SELECT seq FROM expired)) RETURNING 1)
    SELECT (SELECT count(*) FROM removed) AS changed,
      CASE WHEN (SELECT count(*) FROM expired) = $6::bigint THEN (SELECT max(seq) FROM expired)
        ELSE (SELECT max(seq) FROM page) END AS last`;
  const candidates = (select: string) =>
    `SELECT * FROM (${select} GROUP BY order_key ORDER BY order_key LIMIT $5::bigint) AS page`;
  const uncovered = (outcome: "dead" | "quarantined", isCovered: string) =>
    candidates(`
      SELECT order_key, min(workspace) AS workspace, '${outcome}' AS reason FROM ${deliveries} AS delivery
      WHERE source = $2::text AND outcome = '${outcome}' AND ${isUnhandled} AND order_key > $4::text AND NOT EXISTS (
        SELECT 1 FROM ${keys} AS head
        WHERE head.source = delivery.source AND head.order_key = delivery.order_key AND ${isCovered})`);
  return {
    headOf: `
    SELECT head AS position, status, ${now} - moved_at AS unchanged FROM ${keys}
    WHERE source = $2::text AND order_key = $3::text AND head IS NOT NULL`,

    readMarks: `SELECT ${now} AS now, name, value FROM (SELECT 1) AS one LEFT JOIN ${marks} ON source = $2::text`,

    writeMark: `
    INSERT INTO ${marks} (source, name, value) VALUES ($1::text, $2::text, $3::text)
    ON CONFLICT (source, name) DO UPDATE SET value = excluded.value RETURNING 1`,

    /** An update to the same value, so that it returns the row that another transaction has just inserted. */
    keepMark: `
    INSERT INTO ${marks} AS kept (source, name, value) VALUES ($1::text, $2::text, $3::text)
    ON CONFLICT (source, name) DO UPDATE SET value = kept.value RETURNING value`,

    /** A time in the future was stored before the clock was set back, and says nothing about age. */
    reconcileCandidates: `
    SELECT order_key, workspace, reason FROM (
      ${uncovered("dead", "head.head >= delivery.position")}
      UNION ALL ${uncovered("quarantined", `head.moved_at >= delivery.received_at AND head.moved_at <= ${now}`)}
      UNION ALL ${candidates(`
      SELECT order_key, min(workspace) AS workspace, 'running-too-long' AS reason FROM ${keys}
      WHERE source = $2::text AND status = 'RUNNING' AND order_key > $4::text
        AND (moved_at <= ${now} - $3::bigint OR moved_at > ${now})`)}) AS found
    ORDER BY order_key, reason LIMIT $5::bigint`,

    seqRange: `SELECT (SELECT min(seq) FROM ${deliveries}) AS first, (SELECT max(seq) FROM ${deliveries}) AS last`,

    /** The first row from a number on: its time of receipt tells on which side of the boundary it is. */
    rowFrom: `
    SELECT seq, received_at <= ${asOf("$4")} - $2::bigint AS is_expired FROM ${deliveries}
    WHERE seq >= $3::bigint ORDER BY seq LIMIT 1`,

    purgeBodies: purgePage(
      bodies,
      `((${isSettled} AND ${isOlder("$7")}) OR (delivery.${isUnhandled} AND ${isOlder("$8")}))`,
    ),

    /** Of rows whose bodies were purged. */
    purgeRows: purgePage(
      deliveries,
      `${isSettled} AND ${isOlder("$7")} AND NOT EXISTS (SELECT 1 FROM ${bodies} AS body WHERE body.seq = delivery.seq)`,
    ),

    purgeHeads: `
    DELETE FROM ${keys} WHERE id = ANY (ARRAY(
      SELECT id FROM ${keys} WHERE idle_since IS NOT NULL AND idle_since <= ${asOf("$2")} - $3::bigint AND waiting = 0
      ORDER BY idle_since LIMIT $4::bigint FOR UPDATE SKIP LOCKED)) RETURNING 1`,
  };
}

function countStatements({ deliveries, keys, queue }: PostgresTables) {
  const countUnhandled = (outcome: "dead" | "quarantined") => `(SELECT count(*) FROM (
        SELECT FROM ${deliveries} WHERE outcome = '${outcome}' AND ${isUnhandled} LIMIT ${inbox.countedMax}) AS counted)`;
  /** The recursion finds one source after the other, with one probe of an index each. */
  const sources = (first: string, condition: string) => `
    RECURSIVE sources (name) AS (
      SELECT (SELECT min(${wakeSource}) FROM ${keys} WHERE wake_at IS NOT NULL AND ${first})
      UNION ALL
      SELECT (SELECT min(${wakeSource}) FROM ${keys}
        WHERE wake_at IS NOT NULL AND ${wakeSource} > sources.name ${condition})
      FROM sources WHERE sources.name IS NOT NULL)`;
  /** Of leases that hold: what waits for a later attempt is due after them. */
  const leasedKeys = (isDue: "<=" | ">") => `(
        SELECT source, worker, claimed, wake_at FROM ${keys}
        WHERE wake_at IS NOT NULL AND ${wakeSource} = first.name AND wake_at ${isDue} ${now} ORDER BY wake_at LIMIT 500)`;
  return {
    waitingSources: `
    WITH ${sources(`${wakeSource} > $3::text AND ${wakeSource} < $4::text`, `AND ${wakeSource} < $4::text`)},
    names (name) AS (SELECT $2::text UNION ALL SELECT name FROM sources WHERE name IS NOT NULL),
    times (name, at) AS (
      SELECT name, (SELECT min(wake_at) FROM ${keys} WHERE wake_at IS NOT NULL AND ${wakeSource} = names.name) FROM names)
    SELECT name AS source, at - ${now} AS due_in FROM times WHERE at IS NOT NULL ORDER BY name`,

    countBacklog: `
    SELECT coalesce(sum(waiting), 0) AS count FROM (
      SELECT waiting FROM ${keys} WHERE ${wakeSource} = $1::text AND wake_at IS NOT NULL LIMIT $2::bigint) AS busy`,

    leases: `
    WITH ${sources("true", "")}
    SELECT held.source, worker, coalesce(cardinality(claimed), 0) AS rows, wake_at - ${now} AS ends_in FROM (
      SELECT name FROM sources WHERE name IS NOT NULL LIMIT 100) AS first CROSS JOIN LATERAL (
        ${leasedKeys("<=")} UNION ALL ${leasedKeys(">")}) AS held
    WHERE worker IS NOT NULL ORDER BY wake_at`,

    /** The key that has waited longest has the row that has waited longest, or one like it. */
    stats: `
    WITH ${sources("true", "")},
    first AS MATERIALIZED (
      SELECT longest.id FROM sources CROSS JOIN LATERAL (
        SELECT id, wake_at FROM ${keys}
        WHERE wake_at IS NOT NULL AND ${wakeSource} = sources.name AND worker IS NULL AND wake_at <= ${now}
        ORDER BY wake_at LIMIT 1) AS longest
      ORDER BY longest.wake_at LIMIT 1)
    SELECT (SELECT count(*) FROM (SELECT FROM ${queue} LIMIT ${inbox.countedMax}) AS counted) AS waiting,
      ${countUnhandled("dead")} AS dead, ${countUnhandled("quarantined")} AS quarantined,
      (SELECT ${now} - min(coalesce(delivery.replayed_at, delivery.received_at)) FROM (
        SELECT seq FROM ${queue} WHERE key_id = (SELECT id FROM first) ORDER BY position, seq LIMIT 100) AS waiting
        JOIN ${deliveries} AS delivery ON delivery.seq = waiting.seq) AS oldest,
      (SELECT received_at FROM ${deliveries} ORDER BY seq DESC LIMIT 1) - ${now} AS ahead`,
  };
}
