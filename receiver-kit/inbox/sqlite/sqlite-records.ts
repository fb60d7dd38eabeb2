// What differs of the statements that SQLite and PostgreSQL share.

import { type SqlDialect, withQueue } from "../sql/sql-reads.ts";
import { sqliteTables } from "./sqlite-migrations.ts";

const { deliveries, keys } = sqliteTables;

const lookUp: SqlDialect["lookUp"] = (table, alias, condition) =>
  `LEFT JOIN ${table} AS ${alias} ON ${condition}`;

/** SQLite has no statistics: where it could choose another index, INDEXED BY names the right one. */
export const sqliteDialect: SqlDialect = {
  tables: sqliteTables,
  lookUp,
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
  eachDelivery: (page, condition, limit) => `
      SELECT delivery.seq FROM (${page}) AS page CROSS JOIN ${withQueue({ tables: sqliteTables, lookUp })}
      WHERE delivery.seq = page.seq AND ${condition} ORDER BY page.seq LIMIT ${limit}`,
  idleKeys: (since, limit) => `
      SELECT id FROM ${keys} INDEXED BY ${keys}_moved
      WHERE moved_at IS NOT NULL AND moved_at <= ${since} AND waiting = 0 ORDER BY moved_at LIMIT ${limit}`,
  toText: (statement) => statement.replace(/\$(\d+)(?:::\w+(?:\[\])?)?/g, "?$1"),
};
