// What operators, retention and reconciling ask of an inbox in a database, once for SQLite and PostgreSQL. The statements are
// written for PostgreSQL; where the two differ, a part comes from the dialect. `$1` is the time wherever a statement needs it.
// None of them reads more rows than it is asked for: on SQLite, deliveries that arrive meanwhile wait for it.

import { tenantRange } from "../../signature/tenant.ts";
import { firstOfEachKey } from "../core/core.ts";
import * as inbox from "../inbox.ts";
import { listBy, type SearchedStorage, searchInSteps } from "../search.ts";
import * as inboxRow from "./rows.ts";

export type SqlValue =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly (string | number | boolean | null)[];

export type SqlTables = Readonly<Record<"deliveries" | "bodies" | "keys" | "queue" | "marks", string>>;

/** Where the databases differ. A parameter is one such as `$3`. */
export interface SqlDialect {
  readonly tables: SqlTables;
  /** Adds the row of a table that a condition finds by an index, if there is one. */
  lookUp(table: string, alias: string, condition: string): string;
  /** The time, of a statement whose first parameter it is. */
  readonly now: string;
  /** The keys with something to do, where their index must be named. */
  readonly wakingKeys: string;
  /** The source of a key as that index has it. */
  readonly wakeSource: string;
  /** The same of the dead and quarantined deliveries, in the order of their numbers. */
  readonly unhandled: string;
  /** Rows of one outcome that are read in the order of their numbers. */
  isOutcome(outcome: string): string;
  /** Whether the row of the queue is one of those that its key's worker has claimed. */
  readonly isClaimed: string;
  readonly claimedCount: string;
  /** Whether a value is in a list. */
  isOneOf(value: string, parameter: string): string;
  /** Whether a text matches one of a list of patterns. */
  isLikeOneOf(text: string, parameter: string): string;
  /** A pattern in which `*` stands for any text, as the database has it. */
  toPattern(pattern: string): string;
  /** Whether a text or some bytes contain others. */
  contains(whole: string, parameter: string): string;
  /** Whether a number is one of those that a statement finds, which is executed first. */
  isFoundBy(number: string, statement: string): string;
  /** Selects, in their order, the deliveries of a page that meet a condition, without those that are being changed. */
  eachDelivery(page: string, condition: string, limit: string): string;
  /** Selects the ids of keys without waiting rows whose heads have not moved since, the first ones first. */
  idleKeys(since: string, limit: string): string;
  /** A statement as the database has it. */
  toText(statement: string): string;
}

/** Runs one statement. */
export type Execute = (text: string, values: readonly SqlValue[]) => Promise<readonly inboxRow.SqlRow[]>;

export interface SqlReadsOptions {
  readonly dialect: SqlDialect;
  /** `null` for the clock of the database. */
  now(): number | null;
  readonly read: Execute;
  /** For what may take longer than a delivery. */
  readonly readLong: Execute;
  /** In a transaction, durable. */
  readonly write: Execute;
}

type Methods = inbox.InboxMaintenanceStore &
  inbox.InboxOperatorStore &
  Pick<inbox.InboxStore, "backlog" | "waitingSources">;

export function sqlReads({
  dialect,
  now,
  read,
  readLong,
  write,
}: SqlReadsOptions): Omit<Methods, "purge" | "replay" | "discard"> {
  const sql = readStatements(dialect);
  const search = (given: inbox.InboxSearch) => searchInSteps(searchedBy(readLong, sql, dialect), given);
  return {
    search,
    list: listBy(search),
    async get({ source, id }) {
      const [row] = await read(sql.getRow, [source, id]);
      return row && inboxRow.toDetails(row);
    },
    async head(source, key) {
      return inboxRow.toHead((await read(sql.headOf, [now(), source, key]))[0]);
    },
    async reconcileCandidates({ source, runningForMs, afterKey, limit }) {
      const found = await readLong(sql.candidates, [now(), source, runningForMs, afterKey, limit]);
      return firstOfEachKey(found.map(inboxRow.toCandidate));
    },
    async readMarks(source) {
      const rows = await read(sql.readMarks, [now(), source]);
      return { nowMs: Number(rows[0]?.["now"]), marks: inboxRow.toMarks(rows) };
    },
    async writeMarks(source, marks) {
      for (const [name, value] of Object.entries(marks)) await write(sql.writeMark, [source, name, value]);
    },
    async keepMark(source, name, value) {
      return String((await write(sql.keepMark, [source, name, value]))[0]?.["value"]);
    },
    async waitingSources(source) {
      const { from, to } = tenantRange(source);
      const rows = await read(sql.waitingSources, [now(), source, from, to]);
      return rows.map((row) => ({ source: String(row["source"]), dueInMs: Number(row["due_in"]) }));
    },
    async backlog(source, limit) {
      const [row] = await read(sql.countBacklog, [source, limit]);
      return Math.min(limit, Number(row?.["count"]));
    },
    async leases() {
      const found = await read(sql.leases, [now()]);
      return found.map(({ source, worker, rows, ends_in }) => ({
        source: String(source),
        worker: String(worker),
        rows: Number(rows),
        endsInMs: Number(ends_in),
      }));
    },
    async stats() {
      const [found] = await read(sql.stats, [now()]);
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

/** How many rows one step of a search reads at most: about 2 ms on SQLite, where it blocks the event loop. */
export const stepRows = 5_000;

function searchedBy(
  read: Execute,
  sql: ReturnType<typeof readStatements>,
  { toPattern }: SqlDialect,
): SearchedStorage {
  return {
    stepRows,
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
      // Sorted here: SQLite would sort the whole queue before a limit.
      return found.length > rowsMax
        ? undefined
        : found.map(({ waiting }) => Number(waiting)).sort((a, b) => b - a);
    },
    async find({ belowSeq, fromSeq, isUnhandled }, given, rowsMax, seqs) {
      const { states = null, source = null, events, keyText = null, errorText, bodyText } = given;
      const { idEnd = null, sinceMs = null, untilMs = null } = given;
      const found = await read(seqs ? sql.findSeqs : isUnhandled ? sql.findUnhandled : sql.findRows, [
        ...[belowSeq, fromSeq, rowsMax, source, states, events?.map(toPattern) ?? null, keyText],
        ...[errorText?.replaceAll("\n", " ") ?? null, bodyText === undefined ? null : Buffer.from(bodyText)],
        ...[idEnd, sinceMs, untilMs],
        ...(seqs ? [seqs] : []),
      ]);
      return found.map(inboxRow.toSummary);
    },
  };
}

/** Key of a row that has none; others are JSON arrays. */
export const keyOf = (row: string) => `coalesce(${row}order_key, 'id:' || ${row}webhook_id)`;

export const isUnhandled = "outcome IN ('dead', 'quarantined')";

/** A delivery, its key and its place in the queue; the last two may be absent. */
export function withQueue({ tables, lookUp }: Pick<SqlDialect, "tables" | "lookUp">): string {
  const { deliveries, keys, queue } = tables;
  const ofDelivery = `ordering_key.source = delivery.source AND ordering_key.order_key = ${keyOf("delivery.")}`;
  const itself = "waiting.position = coalesce(delivery.position, '') AND waiting.seq = delivery.seq";
  return `
  ${deliveries} AS delivery
  ${lookUp(keys, "ordering_key", `delivery.outcome IS NULL AND ${ofDelivery}`)}
  ${lookUp(queue, "waiting", `waiting.key_id = ordering_key.id AND ${itself}`)}`;
}

function readStatements(dialect: SqlDialect) {
  const statements = {
    ...rowStatements(dialect),
    ...reconcileStatements(dialect),
    ...countStatements(dialect),
  };
  const texts = Object.entries(statements).map(([name, text]) => [name, dialect.toText(text)]);
  return Object.fromEntries(texts) as typeof statements;
}

function rowStatements(dialect: SqlDialect) {
  const { tables, isOneOf, contains } = dialect;
  const { deliveries, bodies, queue } = tables;
  const state = `
    CASE WHEN delivery.outcome IS NOT NULL THEN delivery.outcome WHEN waiting.seq IS NULL THEN 'done'
      WHEN ${dialect.isClaimed} THEN 'running' ELSE 'pending' END`;
  const summary = `
    SELECT delivery.seq, delivery.source, delivery.webhook_id, delivery.channel, ${state} AS state, delivery.event,
      delivery.order_key, delivery.position, delivery.status, delivery.workspace, delivery.signed_at,
      delivery.received_at, delivery.died_at,
      coalesce(nullif(waiting.due_at, 0), delivery.replayed_at, delivery.received_at) AS due_at,
      coalesce(waiting.attempts, delivery.attempts) AS attempts, delivery.replays,
      coalesce(waiting.last_error, delivery.last_error) AS last_error, delivery.secret_index, delivery.traceparent`;
  const time =
    "CASE delivery.outcome WHEN 'dead' THEN coalesce(delivery.died_at, delivery.received_at) ELSE delivery.received_at END";
  const bodyOf = (row: string) => `(SELECT body FROM ${bodies} AS stored WHERE stored.seq = ${row}.seq)`;
  const id = "delivery.webhook_id";
  /** What is known without the key comes first; each key is then found by its index. */
  const findIn = (rowsOf: string) => `
    SELECT *, length(${bodyOf("listed")}) AS body_bytes FROM (
      SELECT * FROM (
        ${summary} FROM ${withQueue(dialect)}
        WHERE ${rowsOf} AND delivery.seq < $1::bigint AND delivery.seq >= $2::bigint
          AND ($4::text IS NULL OR delivery.source = $4::text)
          AND ($5::text[] IS NULL OR ${isOneOf("coalesce(delivery.outcome, 'done')", "$5::text[]")}
            OR (delivery.outcome IS NULL AND (${isOneOf("'pending'", "$5::text[]")} OR ${isOneOf("'running'", "$5::text[]")})))
          AND ($6::text[] IS NULL OR ${dialect.isLikeOneOf("delivery.event", "$6::text[]")})
          AND ($7::text IS NULL OR ${contains("delivery.order_key", "$7::text")})
          AND ($9::bytea IS NULL OR ${contains(bodyOf("delivery"), "$9::bytea")})
          AND ($10::text IS NULL OR substr(${id}, length(${id}) - length($10::text) + 1) = $10::text)
          AND ($11::bigint IS NULL OR ${time} >= $11::bigint) AND ($12::bigint IS NULL OR ${time} < $12::bigint)
        ) AS found
      WHERE ($5::text[] IS NULL OR ${isOneOf("state", "$5::text[]")})
        AND ($8::text IS NULL OR ${contains("replace(last_error, '\n', ' ')", "$8::text")})
      ORDER BY seq DESC LIMIT $3::bigint) AS listed ORDER BY seq DESC`;
  const both = (select: (outcome: string) => string) =>
    `${select("dead")} UNION ALL ${select("quarantined")}`;
  /** One search of the index per outcome, as each is in the order of the numbers. */
  const newest = (outcome: string) => `
      SELECT seq FROM (
        SELECT seq FROM ${dialect.unhandled}
        WHERE ${dialect.isOutcome(outcome)} AND ${isUnhandled} AND seq < $1::bigint
        ORDER BY outcome DESC, seq DESC LIMIT $2::bigint) AS ${outcome}`;
  const between = (outcome: string) => `
      SELECT seq FROM ${dialect.unhandled}
      WHERE outcome = '${outcome}' AND ${isUnhandled} AND seq < $1::bigint AND seq >= $2::bigint`;
  return {
    findRows: findIn("true"),
    /** The numbers are found first: otherwise all rows between them are read. */
    findUnhandled: findIn(dialect.isFoundBy("delivery.seq", both(between))),
    findSeqs: findIn(isOneOf("delivery.seq", "$13::bigint[]")),

    unhandledBelow: `
    SELECT min(seq) AS first, count(*) AS count FROM (
      SELECT seq FROM (${both(newest)}) AS both_outcomes ORDER BY seq DESC LIMIT $2::bigint) AS step`,

    waitingSeqs: `SELECT seq AS waiting FROM ${queue} LIMIT $1::bigint`,

    receiptFrom: `SELECT seq, received_at FROM ${deliveries} WHERE seq >= $1::bigint ORDER BY seq LIMIT 1`,

    seqRange: `SELECT (SELECT min(seq) FROM ${deliveries}) AS first, (SELECT max(seq) FROM ${deliveries}) AS last`,

    getRow: `
    ${summary}, body.body, length(body.body) AS body_bytes FROM ${withQueue(dialect)}
    LEFT JOIN ${bodies} AS body ON body.seq = delivery.seq
    WHERE delivery.source = $1::text AND delivery.webhook_id = $2::text`,
  };
}

function reconcileStatements({ tables, now }: SqlDialect) {
  const { deliveries, keys, marks } = tables;
  const page = (select: string) =>
    `SELECT * FROM (${select} GROUP BY order_key ORDER BY order_key LIMIT $5::bigint) AS page`;
  const uncovered = (outcome: "dead" | "quarantined", isCovered: string) =>
    page(`
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
    ON CONFLICT (source, name) DO UPDATE SET value = excluded.value`,

    /** An update to the same value, so that it returns the row that another transaction has just inserted. */
    keepMark: `
    INSERT INTO ${marks} AS kept (source, name, value) VALUES ($1::text, $2::text, $3::text)
    ON CONFLICT (source, name) DO UPDATE SET value = kept.value RETURNING value`,

    /** A time in the future was stored before the clock was set back, and says nothing about age. */
    candidates: `
    SELECT order_key, workspace, reason FROM (
      ${uncovered("dead", "head.head >= delivery.position")}
      UNION ALL ${uncovered("quarantined", `head.moved_at >= delivery.received_at AND head.moved_at <= ${now}`)}
      UNION ALL ${page(`
      SELECT order_key, min(workspace) AS workspace, 'running-too-long' AS reason FROM ${keys}
      WHERE source = $2::text AND status = 'RUNNING' AND order_key > $4::text
        AND (moved_at <= ${now} - $3::bigint OR moved_at > ${now})`)}) AS found
    ORDER BY order_key, reason LIMIT $5::bigint`,
  };
}

function countStatements({ tables, now, wakingKeys, wakeSource, isFoundBy, claimedCount }: SqlDialect) {
  const { deliveries, keys, queue } = tables;
  const countUnhandled = (outcome: "dead" | "quarantined") => `(SELECT count(*) FROM (
        SELECT 1 FROM ${deliveries} WHERE outcome = '${outcome}' AND ${isUnhandled} LIMIT ${inbox.countedMax}) AS counted)`;
  const waking = (condition: string) => `FROM ${wakingKeys} WHERE wake_at IS NOT NULL AND ${condition}`;
  const wakingOf = (name: string, isDue: string) =>
    waking(`${wakeSource} = ${name} AND wake_at ${isDue} ${now}`);
  /** The recursion finds one source after the other, with one probe of an index each. */
  const sources = (first: string, next = "") => `
    RECURSIVE sources (name) AS (
      SELECT (SELECT min(${wakeSource}) ${waking(first)})
      UNION ALL
      SELECT (SELECT min(${wakeSource}) ${waking(`${wakeSource} > sources.name ${next}`)})
      FROM sources WHERE sources.name IS NOT NULL)`;
  /** Of leases that hold: what waits for a later attempt is due after them. */
  const leasedKeys = (name: string, isDue: "<=" | ">") => `
        SELECT id FROM (SELECT id ${wakingOf("first.name", isDue)} ORDER BY wake_at LIMIT 500) AS ${name}`;
  const leased = `${leasedKeys("due", "<=")} UNION ALL ${leasedKeys("later", ">")}`;
  return {
    waitingSources: `
    WITH ${sources(`${wakeSource} > $3::text AND ${wakeSource} < $4::text`, `AND ${wakeSource} < $4::text`)},
    names (name) AS (SELECT $2::text UNION ALL SELECT name FROM sources WHERE name IS NOT NULL),
    times (name, at) AS (SELECT name, (SELECT min(wake_at) ${waking(`${wakeSource} = names.name`)}) FROM names)
    SELECT name AS source, at - ${now} AS due_in FROM times WHERE at IS NOT NULL ORDER BY name`,

    countBacklog: `
    SELECT coalesce(sum(waiting), 0) AS count FROM (
      SELECT waiting ${waking(`${wakeSource} = $1::text`)} LIMIT $2::bigint) AS busy`,

    leases: `
    WITH ${sources("true")}
    SELECT held.source, worker, ${claimedCount} AS rows, wake_at - ${now} AS ends_in
    FROM (SELECT name FROM sources WHERE name IS NOT NULL LIMIT 100) AS first
    JOIN ${keys} AS held ON ${isFoundBy("held.id", leased)}
    WHERE worker IS NOT NULL ORDER BY wake_at`,

    /** The key that has waited longest has the row that has waited longest, or one like it. */
    stats: `
    WITH ${sources("true")},
    first AS MATERIALIZED (
      SELECT longest.id FROM sources JOIN ${keys} AS longest ON longest.id = (
        SELECT id ${wakingOf("sources.name", "<=")} AND worker IS NULL ORDER BY wake_at, id LIMIT 1)
      ORDER BY longest.wake_at LIMIT 1)
    SELECT (SELECT count(*) FROM (SELECT 1 FROM ${queue} LIMIT ${inbox.countedMax}) AS counted) AS waiting,
      ${countUnhandled("dead")} AS dead, ${countUnhandled("quarantined")} AS quarantined,
      (SELECT ${now} - min(coalesce(delivery.replayed_at, delivery.received_at)) FROM (
        SELECT seq FROM ${queue} WHERE key_id = (SELECT id FROM first) ORDER BY position, seq LIMIT 100) AS waiting
        JOIN ${deliveries} AS delivery ON delivery.seq = waiting.seq) AS oldest,
      (SELECT received_at FROM ${deliveries} ORDER BY seq DESC LIMIT 1) - ${now} AS ahead`,
  };
}
