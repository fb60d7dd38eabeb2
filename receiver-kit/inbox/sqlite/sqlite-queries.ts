// What operators, retention and reconciling read and remove. Some of it reads many rows: in steps, between which deliveries
// are stored, as a read blocks the event loop.

import { tenantRange } from "../../signature/tenant.ts";
import * as core from "../core/core.ts";
import type { Delivery, QueuedRow } from "../core/storage.ts";
import * as inbox from "../inbox.ts";
import { listBy, type SearchedStorage, searchInSteps } from "../search.ts";
import type { SqliteConnection, SqliteRow, SqliteValue } from "./sqlite-driver.ts";
import { sqliteTables } from "./sqlite-migrations.ts";
import { deliveryColumns, storageOf, toBytes } from "./sqlite-storage.ts";

const { deliveries, bodies, keys, queue, marks } = sqliteTables;
const wakeIndex = `${keys} INDEXED BY workspace_tasks_ordering_keys_wake`;

/** How many rows one step reads at most, about 2 ms. */
export const stepRows = 5_000;

type Read = <Result>(operation: (connection: SqliteConnection, nowMs: number) => Result) => Promise<Result>;
type Reads = Pick<
  inbox.InboxStore,
  | "search"
  | "list"
  | "get"
  | "stats"
  | "leases"
  | "head"
  | "reconcileCandidates"
  | "readMarks"
  | "waitingSources"
  | "backlog"
>;

export function sqliteReads(read: Read): Reads {
  const rows = (statement: string, ...values: readonly SqliteValue[]) =>
    read((connection) => connection.query(statement, values));
  const search = (given: inbox.InboxSearch) => searchInSteps(searchedBy(rows), given);
  return {
    search,
    list: listBy(search),
    async get({ source, id }) {
      const [row] = await rows(getRow, source, id);
      return row && { ...toSummary(row), body: toBytes(row["body"]) };
    },
    async leases() {
      const found = await read((connection, nowMs) => connection.query(leases, [nowMs]));
      return found.map(({ source, worker, claimed, endsIn }) => ({
        source: String(source),
        worker: String(worker),
        // A comma is before and after each number.
        rows: String(claimed).split(",").length - 2,
        endsInMs: Number(endsIn),
      }));
    },
    async stats() {
      const [found] = await read((connection, nowMs) => connection.query(stats, [nowMs]));
      const { waiting, dead, quarantined, oldest, ahead } = found as Readonly<Record<string, number | null>>;
      return {
        rows: { waiting: Number(waiting), dead: Number(dead), quarantined: Number(quarantined) },
        // Below 0 for rows stored before the clock was set back.
        oldestPendingMs: oldest === null ? null : Math.max(0, Number(oldest)),
        storedAheadMs: Math.max(0, Number(ahead)),
      };
    },
    head: (source, key) =>
      read((connection, nowMs) => core.headOf(storageOf(connection).findKey(source, key), nowMs)),
    async reconcileCandidates({ source, runningForMs, afterKey, limit }) {
      const found = await read((connection, nowMs) =>
        connection.query(candidates, [nowMs, source, runningForMs, afterKey, limit]),
      );
      return core.firstOfEachKey(found.map((row) => ({ ...row }) as unknown as inbox.ReconcileCandidate));
    },
    async readMarks(source) {
      const found = await read((connection, nowMs) => ({
        nowMs,
        stored: connection.query(readMarks, [source]),
      }));
      const named = found.stored.map(({ name, value }) => [String(name), String(value)]);
      return { nowMs: found.nowMs, marks: Object.fromEntries(named) };
    },
    async waitingSources(source) {
      const { from, to } = tenantRange(source);
      return read((connection, nowMs) =>
        connection
          .query(waitingSources, [source, from, to])
          .map((row) => ({ source: String(row["source"]), dueInMs: Number(row["at"]) - nowMs })),
      );
    },
    async backlog(source, limit) {
      const [row] = await rows(countBacklog, source, limit);
      return Math.min(limit, Number(row?.["count"]));
    },
  };
}

function searchedBy(
  rows: (statement: string, ...values: readonly SqliteValue[]) => Promise<readonly SqliteRow[]>,
): SearchedStorage {
  return {
    stepRows,
    async range() {
      const [range] = await rows(seqRange);
      return { first: Number(range?.["first"] ?? 0), last: Number(range?.["last"] ?? -1) };
    },
    async receiptFrom(seq) {
      const [row] = await rows(receiptFrom, seq);
      return row && { seq: Number(row["seq"]), receivedAtMs: Number(row["receivedAtMs"]) };
    },
    async unhandledBelow(belowSeq, rowsMax) {
      const [row] = await rows(unhandledBelow, belowSeq, rowsMax);
      const count = Number(row?.["count"]);
      return count > 0 ? { fromSeq: Number(row?.["first"]), count } : undefined;
    },
    async waiting(rowsMax) {
      const [counted] = await rows(countWaiting, rowsMax + 1);
      if (Number(counted?.["count"]) > rowsMax) return undefined;
      // Sorted here: SQLite would sort the whole queue before a limit.
      const found = await rows(waitingSeqs, rowsMax);
      return found.map(({ waiting }) => Number(waiting)).sort((a, b) => b - a);
    },
    async find({ belowSeq, fromSeq, isUnhandled }, search, rowsMax, seqs) {
      const { states, source = null, events, keyText = null, errorText = null, bodyText } = search;
      const { idEnd = null, sinceMs = null, untilMs = null } = search;
      const globs = events?.map((pattern) => pattern.replace(/[?[]/g, "[$&]"));
      const found = await rows(
        seqs ? findSeqs : isUnhandled ? findUnhandled : findRows,
        ...[belowSeq, fromSeq, rowsMax, source, states ? JSON.stringify(states) : null],
        ...[globs ? JSON.stringify(globs) : null, keyText, errorText?.replaceAll("\n", " ") ?? null],
        ...[bodyText === undefined ? null : Buffer.from(bodyText), idEnd, sinceMs, untilMs],
        ...(seqs ? [JSON.stringify(seqs)] : []),
      );
      return found.map(toSummary);
    },
  };
}

export function writeMarks(connection: SqliteConnection, source: string, given: inbox.InboxMarks): void {
  for (const [name, value] of Object.entries(given))
    connection.changePrepared(writeMark, [source, name, value]);
}

export function keepMark(connection: SqliteConnection, source: string, name: string, value: string): string {
  const kept = connection.query(readMarks, [source]).find((mark) => mark["name"] === name);
  if (kept === undefined) connection.changePrepared(writeMark, [source, name, value]);
  return kept === undefined ? value : String(kept["value"]);
}

/** Where the next step of a purge continues: a round reads each row once, however many it keeps. */
export class SqlitePurge {
  #afterBody = 0;
  #afterRow = 0;

  /** Returns how many rows it changed, and whether rows are left to look at. */
  step(connection: SqliteConnection, retention: inbox.InboxRetention, rowsMax: number, nowMs: number) {
    const asOfMs = Math.min(nowMs, retention.asOfMs ?? nowMs);
    const heads = connection.changePrepared(purgeHeads, [asOfMs - retention.headsMs, rowsMax]);
    const bodyMs = Math.min(retention.bodiesMs, retention.rowsMs, retention.unhandledBodiesMs);
    const ofBodies = this.#purge(
      connection,
      bodiesPage,
      this.#afterBody,
      asOfMs - bodyMs,
      retention,
      rowsMax,
      asOfMs,
    );
    this.#afterBody = ofBodies.after;
    const rowMs = asOfMs - retention.rowsMs;
    const ofRows = this.#purge(connection, rowsPage, this.#afterRow, rowMs, retention, rowsMax, asOfMs);
    this.#afterRow = ofRows.after;
    return {
      changed: heads + ofBodies.changed + ofRows.changed,
      isOver: ofBodies.after === 0 && ofRows.after === 0,
    };
  }

  #purge(
    connection: SqliteConnection,
    page: string,
    afterSeq: number,
    /** The number of a delivery grows with its time of receipt: from a younger one on, none has expired. */
    youngestMs: number,
    retention: inbox.InboxRetention,
    rowsMax: number,
    nowMs: number,
  ): { readonly changed: number; readonly after: number } {
    let after = afterSeq;
    let changed = 0;
    for (let read = 0; read < purgeRowsMax && changed < rowsMax; ) {
      const rows = connection.query(page, [after, rowsMax]) as unknown as readonly PurgedRow[];
      for (const row of rows) {
        if (row.receivedAtMs > youngestMs) return { changed, after: 0 };
        if (changed === rowsMax) return { changed, after };
        const has = { isQueued: row.isQueued === 1, hasBody: row.hasBody === 1 };
        const part = core.expiredPart(row, has, retention, nowMs);
        if (part !== undefined && has.hasBody) connection.changePrepared(deleteBody, [row.seq]);
        if (part === "row" && page === rowsPage) connection.changePrepared(deleteRow, [row.seq]);
        const isRowLeft = part === "row" && page === bodiesPage;
        if (part === "body" || (part === "row" && !isRowLeft)) changed += 1;
        after = row.seq;
      }
      if (rows.length < rowsMax) return { changed, after: 0 };
      read += rows.length;
    }
    return { changed, after };
  }
}

/** How many rows a step looks at. */
const purgeRowsMax = 2_000;

type PurgedRow = Pick<Delivery, "seq" | "outcome" | "receivedAtMs" | "replayedAtMs"> & {
  readonly isQueued: number;
  readonly hasBody: number;
};

/** A delivery, its key and its place in the queue; the last two may be absent. */
const withQueue = `
    LEFT JOIN ${keys} AS ordering_key ON delivery.outcome IS NULL AND ordering_key.source = delivery.source
      AND ordering_key.order_key = coalesce(delivery.order_key, 'id:' || delivery.webhook_id)
    LEFT JOIN ${queue} AS waiting ON waiting.key_id = ordering_key.id
      AND waiting.position = coalesce(delivery.position, '') AND waiting.seq = delivery.seq`;

const purged = `
  delivery.seq, delivery.outcome, delivery.received_at AS receivedAtMs, delivery.replayed_at AS replayedAtMs,
  waiting.seq IS NOT NULL AS isQueued`;
const rowsPage = `
  SELECT ${purged}, EXISTS (SELECT 1 FROM ${bodies} AS body WHERE body.seq = delivery.seq) AS hasBody
  FROM ${deliveries} AS delivery ${withQueue} WHERE delivery.seq > ?1 ORDER BY delivery.seq LIMIT ?2`;
const bodiesPage = `
  SELECT ${purged}, 1 AS hasBody FROM ${bodies} AS body CROSS JOIN ${deliveries} AS delivery ${withQueue}
  WHERE body.seq > ?1 AND delivery.seq = body.seq ORDER BY body.seq LIMIT ?2`;
const deleteBody = `DELETE FROM ${bodies} WHERE seq = ?1`;
const deleteRow = `DELETE FROM ${deliveries} WHERE seq = ?1`;
const purgeHeads = `
  DELETE FROM ${keys} WHERE id IN (
    SELECT id FROM ${keys} INDEXED BY workspace_tasks_ordering_keys_moved
    WHERE moved_at IS NOT NULL AND moved_at <= ?1 AND waiting = 0 LIMIT ?2)`;

const state = `
    CASE WHEN delivery.outcome IS NOT NULL THEN delivery.outcome
      WHEN waiting.seq IS NULL THEN 'done'
      WHEN instr(ordering_key.claimed, ',' || waiting.seq || ',') > 0 THEN 'running'
      ELSE 'pending' END`;
const summary = `
    SELECT ${deliveryColumns}, ${state} AS state, waiting.seq AS queuedSeq, waiting.due_at AS queuedDueAtMs,
      waiting.attempts AS queuedAttempts, waiting.last_error AS queuedError,
      (SELECT length(body) FROM ${bodies} AS stored WHERE stored.seq = delivery.seq) AS bodyBytes`;
/** What is known without the key comes first. */
const findIn = (rowsOf: string) => `
  SELECT * FROM (
    ${summary} FROM ${deliveries} AS delivery ${withQueue}
    WHERE ${rowsOf} AND delivery.seq < ?1 AND delivery.seq >= ?2 AND (?4 IS NULL OR delivery.source = ?4)
      AND (?5 IS NULL OR coalesce(delivery.outcome, 'done') IN (SELECT value FROM json_each(?5))
        OR (delivery.outcome IS NULL AND EXISTS (SELECT 1 FROM json_each(?5) WHERE value IN ('pending', 'running'))))
      AND (?6 IS NULL OR EXISTS (SELECT 1 FROM json_each(?6) WHERE delivery.event GLOB value))
      AND (?7 IS NULL OR instr(delivery.order_key, ?7) > 0)
      AND (?9 IS NULL OR instr((SELECT body FROM ${bodies} AS stored WHERE stored.seq = delivery.seq), ?9) > 0)
      AND (?10 IS NULL OR substr(delivery.webhook_id, -length(?10)) = ?10)
      AND (?11 IS NULL OR ${time} >= ?11) AND (?12 IS NULL OR ${time} < ?12))
  WHERE (?5 IS NULL OR state IN (SELECT value FROM json_each(?5)))
    AND (?8 IS NULL OR instr(replace(coalesce(queuedError, lastError), char(10), ' '), ?8) > 0)
  ORDER BY seq DESC LIMIT ?3`;
const time =
  "CASE delivery.outcome WHEN 'dead' THEN coalesce(delivery.died_at, delivery.received_at) ELSE delivery.received_at END";
const unhandledSeqs = `
    SELECT seq FROM ${deliveries} INDEXED BY ${deliveries}_unhandled_seq
    WHERE outcome IN ('dead', 'quarantined') AND seq < ?1`;
const findRows = findIn("true");
const findUnhandled = findIn(`delivery.seq IN (${unhandledSeqs} AND seq >= ?2)`);
const findSeqs = findIn("delivery.seq IN (SELECT value FROM json_each(?13))");
/** One search of the index per outcome, as each is in the order of the numbers. */
const unhandledBelow = `
  SELECT min(seq) AS first, count(*) AS count FROM (
    SELECT seq FROM (
      SELECT * FROM (${unhandledSeqs} AND outcome = 'dead' ORDER BY seq DESC LIMIT ?2)
      UNION ALL SELECT * FROM (${unhandledSeqs} AND outcome = 'quarantined' ORDER BY seq DESC LIMIT ?2))
    ORDER BY seq DESC LIMIT ?2)`;
const countWaiting = `SELECT count(*) AS count FROM (SELECT 1 FROM ${queue} LIMIT ?1)`;
const waitingSeqs = `SELECT seq AS waiting FROM ${queue} LIMIT ?1`;
const receiptFrom = `
  SELECT seq, received_at AS receivedAtMs FROM ${deliveries} WHERE seq >= ?1 ORDER BY seq LIMIT 1`;
const getRow = `
  ${summary}, body.body FROM ${deliveries} AS delivery ${withQueue}
  LEFT JOIN ${bodies} AS body ON body.seq = delivery.seq WHERE delivery.source = ?1 AND delivery.webhook_id = ?2`;

const seqRange = `SELECT (SELECT min(seq) FROM ${deliveries}) AS first, (SELECT max(seq) FROM ${deliveries}) AS last`;
const countUnhandled = (outcome: "dead" | "quarantined") => `(SELECT count(*) FROM (
    SELECT 1 FROM ${deliveries} WHERE outcome = '${outcome}' AND outcome IN ('dead', 'quarantined') LIMIT ${inbox.countedMax}))`;
/** The key that has waited longest has the row that has waited longest, or one like it. */
const sources = `RECURSIVE sources (name) AS (
    SELECT (SELECT min(source) FROM ${wakeIndex} WHERE wake_at IS NOT NULL)
    UNION ALL
    SELECT (SELECT min(source) FROM ${wakeIndex} WHERE wake_at IS NOT NULL AND source > sources.name)
    FROM sources WHERE sources.name IS NOT NULL)`;

/** Of leases that hold: what waits for a later attempt is due after them. */
const leasedKeys = (isDue: "<=" | ">") => `held.id IN (
    SELECT id FROM ${wakeIndex} WHERE source = first.name AND wake_at IS NOT NULL AND wake_at ${isDue} ?1
    ORDER BY wake_at LIMIT 500)`;
const leases = `
  WITH ${sources}
  SELECT held.source, worker, claimed, wake_at - ?1 AS endsIn
  FROM (SELECT name FROM sources WHERE name IS NOT NULL LIMIT 100) AS first
  JOIN ${keys} AS held ON held.worker IS NOT NULL AND (${leasedKeys("<=")} OR ${leasedKeys(">")})
  ORDER BY wake_at`;

const stats = `
  WITH ${sources},
  first (id) AS (
    SELECT longest.id FROM sources JOIN ${keys} AS longest ON longest.id = (
      SELECT id FROM ${wakeIndex} WHERE source = sources.name AND wake_at IS NOT NULL AND wake_at <= ?1 AND worker IS NULL
      ORDER BY wake_at, id LIMIT 1)
    ORDER BY longest.wake_at LIMIT 1)
  SELECT (SELECT count(*) FROM (SELECT 1 FROM ${queue} LIMIT ${inbox.countedMax})) AS waiting,
    ${countUnhandled("dead")} AS dead, ${countUnhandled("quarantined")} AS quarantined,
    (SELECT ?1 - min(coalesce(delivery.replayed_at, delivery.received_at)) FROM (
      SELECT seq FROM ${queue} WHERE key_id = (SELECT id FROM first) ORDER BY position, seq LIMIT 100) AS waiting
      JOIN ${deliveries} AS delivery ON delivery.seq = waiting.seq) AS oldest,
    (SELECT received_at FROM ${deliveries} ORDER BY seq DESC LIMIT 1) - ?1 AS ahead`;

const candidatesOf = (select: string) => `
    SELECT * FROM (${select} GROUP BY order_key ORDER BY order_key LIMIT ?5)`;
const uncovered = (outcome: "dead" | "quarantined", isCovered: string) =>
  candidatesOf(`
      SELECT order_key AS key, min(workspace) AS workspaceId, '${outcome}' AS reason FROM ${deliveries} AS delivery
      WHERE source = ?2 AND outcome = '${outcome}' AND outcome IN ('dead', 'quarantined') AND order_key > ?4
        AND NOT EXISTS (
          SELECT 1 FROM ${keys} AS head
          WHERE head.source = delivery.source AND head.order_key = delivery.order_key AND ${isCovered})`);
/** A time in the future was stored before the clock was set back, and says nothing about age. */
const candidates = `
  SELECT * FROM (
    ${uncovered("dead", "head.position >= delivery.position")}
    UNION ALL ${uncovered("quarantined", "head.moved_at >= delivery.received_at AND head.moved_at <= ?1")}
    UNION ALL ${candidatesOf(`
      SELECT order_key AS key, min(workspace) AS workspaceId, 'running-too-long' AS reason FROM ${keys}
      WHERE source = ?2 AND status = 'RUNNING' AND order_key > ?4 AND (moved_at <= ?1 - ?3 OR moved_at > ?1)`)})
  ORDER BY key, reason LIMIT ?5`;

const readMarks = `SELECT name, value FROM ${marks} WHERE source = ?1`;
const writeMark = `
  INSERT INTO ${marks} (source, name, value) VALUES (?1, ?2, ?3)
  ON CONFLICT (source, name) DO UPDATE SET value = excluded.value`;

/** The recursion finds one tenant after the other, with one probe of an index each. */
const waitingSources = `
  WITH RECURSIVE tenants (tenant) AS (
    SELECT (SELECT min(source) FROM ${wakeIndex} WHERE wake_at IS NOT NULL AND source > ?2 AND source < ?3)
    UNION ALL
    SELECT (SELECT min(source) FROM ${wakeIndex} WHERE wake_at IS NOT NULL AND source > tenants.tenant AND source < ?3)
    FROM tenants WHERE tenants.tenant IS NOT NULL),
  names (name) AS (SELECT ?1 UNION ALL SELECT tenant FROM tenants WHERE tenant IS NOT NULL),
  times (name, at) AS (
    SELECT name, (SELECT min(wake_at) FROM ${wakeIndex} WHERE wake_at IS NOT NULL AND source = name) FROM names)
  SELECT name AS source, at FROM times WHERE at IS NOT NULL ORDER BY name`;
const countBacklog = `
  SELECT coalesce(sum(waiting), 0) AS count FROM (
    SELECT waiting FROM ${wakeIndex} WHERE source = ?1 AND wake_at IS NOT NULL LIMIT ?2)`;

type ListedRow = Delivery & {
  readonly state: inbox.InboxRowState;
  readonly queuedSeq: number | null;
  readonly queuedDueAtMs: number;
  readonly queuedAttempts: number;
  readonly queuedError: string | null;
  readonly bodyBytes: number | null;
  readonly body?: unknown;
};

function toSummary(row: SqliteRow): inbox.InboxRowSummary {
  const { state, queuedSeq, queuedDueAtMs, queuedAttempts, queuedError, bodyBytes, body, ...delivery } =
    row as unknown as ListedRow;
  const queued: Pick<QueuedRow, "dueAtMs" | "attempts" | "lastError"> | null =
    queuedSeq === null ? null : { dueAtMs: queuedDueAtMs, attempts: queuedAttempts, lastError: queuedError };
  return core.summaryOf(delivery, queued, state === "running", bodyBytes);
}
