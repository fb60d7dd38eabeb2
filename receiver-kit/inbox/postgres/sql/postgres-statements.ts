// The SQL of the PostgreSQL inbox, besides the statements that it shares with SQLite. `$1` is the time in milliseconds, or
// null for the server's own clock, in every statement that needs the time.
//
// PLANS. A table that was filled since it was last analysed, or never was, must not change how a statement runs. The
// statements of every delivery are functions with settings that leave the planner one plan (postgres-functions.ts); the
// others find rows by an array of ids, or by a LATERAL subquery with a LIMIT. Of a column without statistics the planner
// takes a value to be rare, and would sort all keys of a source rather than read the first of them in the order of the
// index: the conditions on keys are ranges, which it takes to be wide, of an expression that no other index has.
//
// LOCKS. A statement that waits for the locks of several keys takes them in the order of their names, so that two of them
// cannot wait for each other; the others skip keys that are locked. A key whose lock was free may still have changed
// since the statement's snapshot was taken, and then the snapshot shows rows of it that have ended: see `is_steady`.

import { type SqlTables, sqlStatements, tablesWith } from "../../sql/sql-statements.ts";
import { claimFunctions } from "./postgres-claim-functions.ts";
import { durable, makeDurable, now, replicated, wakeSource } from "./postgres-expressions.ts";
import { type FunctionSource, serverFunction } from "./postgres-functions.ts";
import { leaseStatements } from "./postgres-lease-statements.ts";
import { endFunction, insertFunction } from "./postgres-row-functions.ts";

export type PostgresStatements = ReturnType<typeof postgresStatements>;

/** @param schema an identifier, in quotes where it needs them */
export function postgresStatements(schema: string) {
  const tables = tablesWith(`${schema}.`);
  const claims = claimFunctions(tables);
  const functions = {
    insertRows: serverFunction(schema, insertFunction(tables)),
    claimLatest: serverFunction(schema, claims.latest),
    claimStrict: serverFunction(schema, claims.strict),
    endRows: serverFunction(schema, endFunction(tables)),
    /** At the start of a transaction of statements that write and are not functions of the schema. */
    requireVersion: serverFunction(schema, requireVersion),
  };
  const calls = Object.fromEntries(Object.entries(functions).map(([name, { call }]) => [name, call]));
  return {
    functions: Object.values(functions),
    ...(calls as Record<keyof typeof functions, string>),
    ...sqlStatements({
      ...{ ...tables, now, least: "least", wakeSource },
      isClaimed: "waiting.seq = ANY (ordering_key.claimed)",
      isListed: "(CAST($3 AS text[]) IS NULL OR state = ANY($3))",
      skipLocked: (table) => `FOR UPDATE OF ${table} SKIP LOCKED`,
      forUpdate: "FOR UPDATE",
    }),
    ...leaseStatements(tables),
    ...compareStatements(tables),
    /** Begins a transaction of other statements that write. */
    beginWrite: `${calls["requireVersion"]}; SELECT ${makeDurable}`,
  };
}

/** Does nothing else than every function does first. */
const requireVersion: FunctionSource = {
  ...{ name: "require_version", parameters: "", columns: "version integer", settingsOff: [] },
  statement: "SELECT 1",
};

function compareStatements({ deliveries, bodies }: SqlTables) {
  return {
    compareBodies: `
    WITH ${durable}, ${replicated}
    SELECT input.source, input.webhook_id,
      body.body = substring($5::bytea FROM body_start FOR input.body_bytes) AS same
    FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[])
      AS input (source, webhook_id, body_start, body_bytes)
    CROSS JOIN LATERAL (
      SELECT seq FROM ${deliveries} AS stored
      WHERE stored.source = input.source AND stored.webhook_id = input.webhook_id LIMIT 1) AS delivery
    LEFT JOIN LATERAL (
      SELECT body FROM ${bodies} AS stored WHERE stored.seq = delivery.seq LIMIT 1) AS body ON true
    CROSS JOIN durable CROSS JOIN replicated
    WHERE durable.setting IS NOT NULL AND replicated.lsn IS NOT NULL`,

    awaitReplication: `
    WITH ${durable}, ${replicated}
    SELECT 1 FROM durable, replicated WHERE durable.setting IS NOT NULL AND replicated.lsn IS NOT NULL`,
  };
}
