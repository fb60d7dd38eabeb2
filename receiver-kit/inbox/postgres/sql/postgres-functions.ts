// The statements of every delivery are functions of the schema. Their text is long: to parse and plan it takes the server
// longer than to run it for a few rows. A function's plan is kept by each session, behind every pooler; and it is made
// under the function's own settings, so that no statistics change it. Statements prepared by the client have neither.
//
// NAMES. A function's name ends with a hash of its definition. Receivers of different releases can share a schema: each
// calls its own functions, and those of an older release stay.
//
// VERSION. A function begins by checking that its release may use the schema. The lock of that statement lasts until the
// end of the transaction, and a migration waits for it: what the function does then is not seen by a newer schema. After
// a migration the table of the version is empty for a transaction whose snapshot is older.

import { createHash } from "node:crypto";
import { ReceiverError } from "../../../errors.ts";
import { tooOldMessage } from "../../sql/schema-version.ts";
import { postgresVersion } from "./postgres-migrations.ts";
import type { PostgresQueryable } from "./postgres-pool.ts";

export interface ServerFunction {
  readonly name: string;
  /** Creates it. */
  readonly definition: string;
  /** A statement or an expression that calls it, with `$1`, `$2` and so on. */
  readonly call: string;
}

export interface FunctionSource {
  readonly name: string;
  /** Types, in the order of `$1`, `$2` and so on, with commas. */
  readonly parameters: string;
  /** Columns of the result, each with its type. */
  readonly columns: string;
  readonly settingsOff: readonly string[];
  readonly statement: string;
}

export function serverFunction(schema: string, source: FunctionSource): ServerFunction {
  const { parameters, columns, settingsOff, statement } = source;
  const settings = ["plan_cache_mode = force_generic_plan", ...settingsOff.map((name) => `${name} = off`)];
  const definition = `(${parameters}) RETURNS TABLE (${columns}) LANGUAGE plpgsql
    ${settings.map((setting) => `SET ${setting}`).join(" ")} AS $function$
    #variable_conflict use_column
    BEGIN
      ${requireVersion(schema)}
      RETURN QUERY ${statement};
    END $function$`;
  const values = parameters.match(/[^\s,]+/g)?.map((_, index) => `$${index + 1}`) ?? [];
  const created = namedFunction(schema, source.name, definition);
  return { ...created, call: `SELECT * FROM ${created.call}(${values.join(", ")})` };
}

/** `call`: its name with the schema. */
export function namedFunction(schema: string, ownName: string, definition: string): ServerFunction {
  const name = `${ownName}_${createHash("sha256").update(definition).digest("hex").slice(0, 8)}`;
  const call = `${schema}.${name}`;
  return { name, definition: `CREATE OR REPLACE FUNCTION ${call} ${definition}`, call };
}

/** SQLSTATE of a function that its release may not call any more. */
const tooOldState = "WT001";

function requireVersion(schema: string): string {
  const message = tooOldMessage("postgres", postgresVersion, {
    version: "%1$s",
    oldestUsable: "%2$s",
    oldestRelease: "%3$s",
  });
  return `IF NOT EXISTS (SELECT 1 FROM ${schema}.inbox_version WHERE oldest_usable <= ${postgresVersion.version}) THEN
        RAISE EXCEPTION USING ERRCODE = '${tooOldState}', MESSAGE = coalesce(
          (SELECT format('${message}', version, oldest_usable, oldest_release) FROM ${schema}.inbox_version),
          'postgres inbox: the schema was migrated meanwhile');
      END IF;`;
}

/** `RELEASE_TOO_OLD` for the error of a function whose release may not call it any more; another error as it is. */
export function asVersionError(error: unknown): unknown {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (code !== tooOldState) return error;
  return new ReceiverError("RELEASE_TOO_OLD", String(message), { cause: error });
}

export async function missingFunctions(
  queries: PostgresQueryable,
  schema: string,
  functions: readonly ServerFunction[],
): Promise<readonly ServerFunction[]> {
  const { rows } = await queries.query(
    `SELECT function.proname AS name FROM pg_catalog.pg_proc AS function
     JOIN pg_catalog.pg_namespace AS space ON space.oid = function.pronamespace
     WHERE space.nspname = $1 AND function.proname = ANY ($2::text[])`,
    [schema, functions.map(({ name }) => name)],
  );
  const found = new Set(rows.map(({ name }) => name));
  return functions.filter(({ name }) => !found.has(name));
}
