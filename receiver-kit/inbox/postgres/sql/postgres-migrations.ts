// Migrations of the PostgreSQL inbox, in order; a released entry never changes (see schema-version.ts). All tables are in
// one schema.
//
// TABLES. An update writes the whole row again. So a delivery is written once, its body in a table of its own; what
// changes as it is handled is in narrow tables. The lease belongs to a key, so that a claim needs neither a lock of the
// whole inbox nor a search for the other rows of a key; the rows of a lease are known by their numbers. Ids and positions
// compare by bytes, whatever the database's language. A mark of no source counts for the whole schema.

import { firstSchema } from "../../sql/first-schema.ts";
import { type Migration, schemaVersionOf } from "../../sql/schema-version.ts";
import { tablesWith } from "../../sql/sql-statements.ts";
import { wakeSource } from "./postgres-expressions.ts";

export const postgresMigrations: readonly Migration<(schema: string) => string>[] = [
  {
    release: "0.1.0",
    oldestUsable: 1,
    statements: (schema) =>
      `CREATE SEQUENCE ${schema}.row_numbers; ${firstSchema({
        ...{ ...tablesWith(`${schema}.`), wakeSource, prefix: "", inKey: "" },
        ...{ text: 'text COLLATE "C"', bytes: "bytea", rowNumber: "bigint", rowNumbers: "bigint[]" },
        newRowNumber: `bigint DEFAULT nextval('${schema}.row_numbers')`,
      })}`,
  },
];

/** Of this release. */
export const postgresVersion = schemaVersionOf(postgresMigrations);
