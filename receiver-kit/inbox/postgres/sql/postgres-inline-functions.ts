// What a request that handles its delivery itself writes.

import { inlineStatements, type SqlTables } from "../../sql/sql-statements.ts";
import { durable, now } from "./postgres-expressions.ts";
import type { FunctionSource } from "./postgres-functions.ts";

export function inlineFunctions(tables: SqlTables) {
  const durably = "FROM durable WHERE durable.setting IS NOT NULL";
  const sql = inlineStatements({ ...tables, now, durably });
  const inline = (name: string, parameters: string, columns: string, statement: string): FunctionSource => {
    // See postgres-claim-functions.ts.
    const settingsOff = ["jit", "enable_seqscan"];
    return { name, parameters, columns, settingsOff, statement: `WITH ${durable}${statement}` };
  };
  return {
    begin: inline(
      "begin_inline",
      "bigint, text, text, bigint, bigint, bytea",
      "generation integer",
      `,
    begun AS (${sql.beginInline}),
    body_stored AS (
      INSERT INTO ${tables.bodies} (seq, body) SELECT seq, $6 FROM begun ON CONFLICT (seq) DO NOTHING)
    SELECT generation FROM begun`,
    ),
    finish: inline(
      "finish_inline",
      "text, text, integer, text",
      "seq bigint",
      `${sql.finishInline} RETURNING seq`,
    ),
    advanceHead: inline(
      "advance_head",
      "bigint, text, text, text",
      "id bigint",
      `${sql.advanceHead} RETURNING id`,
    ),
  };
}
