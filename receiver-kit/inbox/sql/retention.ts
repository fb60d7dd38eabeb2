// Retention, once for SQLite and PostgreSQL. A call removes at most what it is asked for of each kind, and looks at little
// more: bodies and rows by their numbers, from where the call before has stopped, up to the first page that begins with a
// row that is too young, as a number grows with the time of receipt; heads by the time since which their keys are idle.
// When a round has reached the end, a call returns 0 and the next one begins at the front again. A row is removed after its
// body, so each statement is a step of its own.

import type { InboxMaintenanceStore } from "../inbox.ts";
import { isUnhandled, type SqlDialect, type SqlReadsOptions } from "./sql-reads.ts";

type PurgeOptions = Pick<SqlReadsOptions, "dialect" | "now" | "read" | "write">;

export function createPurge({ dialect, now, read, write }: PurgeOptions): InboxMaintenanceStore["purge"] {
  const sql = purgeStatements(dialect);
  /** Removes rows of a table by their numbers, in pages. */
  const inOrder = ({ page, remove }: { readonly page: string; readonly remove: string }) => {
    let after = 0;
    return async (ages: readonly number[], asOfMs: number | null, rowsMax: number): Promise<number> => {
      let changed = 0;
      while (changed < rowsMax) {
        const [found] = await read(page, [now(), asOfMs, after, Math.min(...ages)]);
        if (Number(found?.["is_old"]) !== 1) {
          after = 0;
          break;
        }
        const limit = rowsMax - changed;
        const removed = await write(remove, [now(), asOfMs, after, limit, ...ages]);
        changed += removed.length;
        const isWhole = removed.length < limit;
        after = isWhole ? Number(found?.["last"]) : Math.max(...removed.map(({ seq }) => Number(seq)));
      }
      return changed;
    };
  };
  const purgeBodies = inOrder(sql.bodies);
  const purgeRows = inOrder(sql.rows);
  return async ({ bodiesMs, rowsMs, headsMs, unhandledBodiesMs, asOfMs = null }, rowsMax) => {
    const bodies = await purgeBodies([Math.min(bodiesMs, rowsMs), unhandledBodiesMs], asOfMs, rowsMax);
    const rows = await purgeRows([rowsMs], asOfMs, rowsMax);
    const heads = await write(sql.removeHeads, [now(), asOfMs, headsMs, rowsMax]);
    return bodies + rows + heads.length;
  };
}

/** How many rows a statement looks at to find some that it may remove. */
const pageRows = 2_000;

function purgeStatements(dialect: SqlDialect) {
  const { tables, now, isFoundBy } = dialect;
  const { deliveries, bodies, keys } = tables;
  const asOf = `CASE WHEN $2::bigint < ${now} THEN $2::bigint ELSE ${now} END`;
  const isOlder = (parameter: string) =>
    `coalesce(delivery.replayed_at, delivery.received_at) <= ${asOf} - ${parameter}::bigint`;
  const isSettled = `(delivery.outcome IN ('stale', 'discarded', 'inline')
        OR (delivery.outcome IS NULL AND waiting.seq IS NULL))`;
  const inPages = (table: string, mayGo: string) => {
    const numbers = `SELECT seq FROM ${table} WHERE seq > $3::bigint ORDER BY seq LIMIT ${pageRows}`;
    return {
      /**
       * The last number of the next page, and whether its first row is old enough to be removed after `$4`. A time in the
       * future was stored before the clock was set back, and says nothing about the rows behind it.
       */
      page: dialect.toText(`
    SELECT page.last, (oldest.received_at <= ${asOf} - $4::bigint OR oldest.received_at > ${now}) AS is_old
    FROM (SELECT min(seq) AS first, max(seq) AS last FROM (${numbers}) AS numbers) AS page
    ${dialect.lookUp(deliveries, "oldest", "oldest.seq = page.first")}`),
      /** The first ones of the page that may go, `$4` at most. */
      remove: dialect.toText(`
    DELETE FROM ${table} WHERE ${isFoundBy("seq", dialect.eachDelivery(numbers, mayGo, "$4::bigint"))}
    RETURNING seq`),
    };
  };
  return {
    bodies: inPages(
      bodies,
      `((${isSettled} AND ${isOlder("$5")}) OR (delivery.${isUnhandled} AND ${isOlder("$6")}))`,
    ),
    /** Rows whose bodies were removed. */
    rows: inPages(
      deliveries,
      `${isSettled} AND ${isOlder("$5")} AND NOT EXISTS (SELECT 1 FROM ${bodies} AS body WHERE body.seq = delivery.seq)`,
    ),
    removeHeads: dialect.toText(`
    DELETE FROM ${keys} WHERE ${isFoundBy("id", dialect.idleKeys(`${asOf} - $3::bigint`, "$4::bigint"))} RETURNING 1`),
  };
}
