// What differs of the statements that SQLite and PostgreSQL share, and retention. Some of it reads many rows: in steps, between
// which deliveries are stored, as a read blocks the event loop.

import * as core from "../core/core.ts";
import type { Delivery } from "../core/storage.ts";
import type * as inbox from "../inbox.ts";
import { type SqlDialect, withQueue } from "../sql/sql-reads.ts";
import type { SqliteConnection } from "./sqlite-driver.ts";
import { sqliteTables } from "./sqlite-migrations.ts";

const { deliveries, bodies, keys } = sqliteTables;

/** SQLite has no statistics: where it could choose another index, INDEXED BY names the right one. */
export const sqliteDialect: SqlDialect = {
  tables: sqliteTables,
  lookUp: (table, alias, condition) => `LEFT JOIN ${table} AS ${alias} ON ${condition}`,
  now: "$1",
  wakingKeys: `${keys} INDEXED BY ${keys}_wake`,
  wakeSource: "source",
  unhandled: `${deliveries} INDEXED BY ${deliveries}_unhandled_seq`,
  isOutcome: (outcome) => `outcome = '${outcome}'`,
  // A comma is before and after each number.
  isClaimed: "instr(ordering_key.claimed, ',' || waiting.seq || ',') > 0",
  claimedCount: "length(claimed) - length(replace(claimed, ',', '')) - 1",
  isOneOf: (value, parameter) => `${value} IN (SELECT value FROM json_each(${parameter}))`,
  isLikeOneOf: (text, parameter) => `EXISTS (SELECT 1 FROM json_each(${parameter}) WHERE ${text} GLOB value)`,
  toPattern: (pattern) => pattern.replace(/[?[]/g, "[$&]"),
  contains: (whole, parameter) => `instr(${whole}, ${parameter}) > 0`,
  isFoundBy: (number, statement) => `${number} IN (${statement})`,
  toText: (statement) => statement.replace(/\$(\d+)(?:::\w+(?:\[\])?)?/g, "?$1"),
};

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

const purged = `
  delivery.seq, delivery.outcome, delivery.received_at AS receivedAtMs, delivery.replayed_at AS replayedAtMs,
  waiting.seq IS NOT NULL AS isQueued`;
const rowsPage = `
  SELECT ${purged}, EXISTS (SELECT 1 FROM ${bodies} AS body WHERE body.seq = delivery.seq) AS hasBody
  FROM ${withQueue(sqliteDialect)} WHERE delivery.seq > ?1 ORDER BY delivery.seq LIMIT ?2`;
const bodiesPage = `
  SELECT ${purged}, 1 AS hasBody FROM ${bodies} AS body CROSS JOIN ${withQueue(sqliteDialect)}
  WHERE body.seq > ?1 AND delivery.seq = body.seq ORDER BY body.seq LIMIT ?2`;
const deleteBody = `DELETE FROM ${bodies} WHERE seq = ?1`;
const deleteRow = `DELETE FROM ${deliveries} WHERE seq = ?1`;
const purgeHeads = `
  DELETE FROM ${keys} WHERE id IN (
    SELECT id FROM ${keys} INDEXED BY workspace_tasks_ordering_keys_moved
    WHERE moved_at IS NOT NULL AND moved_at <= ?1 AND waiting = 0 LIMIT ?2)`;
