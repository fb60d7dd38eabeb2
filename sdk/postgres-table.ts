import { foreignOwner, ownersQuery } from "@workspace-tasks/kernel/postgres-owner.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { WorkspaceTasksError } from "./errors.ts";

/** Where `postgresRateLimitStore` and `postgresJournal` keep what they have. */
export interface PostgresTableOptions {
  /** Its owner must be the role of the pool, or one of which that is a member. Default `workspace_tasks`, as that of the inbox. */
  readonly schema?: string | undefined;
  /**
   * False: nothing is created, and the owner is trusted that has granted the table to the role of the pool, which then needs SELECT,
   * INSERT and UPDATE on it, and USAGE on the schema. Default true.
   */
  readonly migrate?: boolean | undefined;
}

const tableOptions = s.strictOptions<PostgresTableOptions>()({
  schema: s.withDefault(s.stringLike(/^[a-z_][a-z0-9_]{0,62}$/, "1 to 63 of a-z 0-9 _"), "workspace_tasks"),
  migrate: s.withDefault(s.boolean, true),
});

export interface PostgresTable {
  /** The name has the schema in front: the search path decides nothing. */
  readonly name: string;
  /**
   * Creates the schema and the table unless they exist.
   *
   * @throws {WorkspaceTasksError} `CONFIGURATION_INVALID` when another role owns one of them
   */
  prepare(query: PostgresQueryFunction): Promise<void>;
}

export type PostgresQueryFunction = (
  text: string,
  values?: unknown[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export function postgresTable(
  caller: string,
  table: string,
  columns: string,
  options: PostgresTableOptions,
  lockTimeoutMs: number,
): PostgresTable {
  const invalid = (message: string) =>
    new WorkspaceTasksError("CONFIGURATION_INVALID", `${caller}: ${message}`);
  const { schema, migrate } = s.parse(tableOptions, options, ({ messageWithValue }) =>
    invalid(messageWithValue),
  );
  const name = `"${schema}".${table}`;

  async function find(query: PostgresQueryFunction) {
    const found = await query(ownersQuery, [schema, [table]]);
    const foreign = foreignOwner(schema, found);
    if (foreign !== undefined) throw invalid(foreign);
    return { hasSchema: found.length > 0, hasTable: found.some((each) => each["name"] === table) };
  }

  return {
    name,
    async prepare(query) {
      if (!migrate) return;
      const { hasSchema, hasTable } = await find(query);
      if (hasTable) return;
      // Without the lock two processes that start together collide inside `create … if not exists`. Any role can hold it, so
      // it is waited for briefly. To create a schema needs a right on the database, also when it exists. The statements of
      // one message are one transaction, which also ends when one of them fails.
      const creating = query(`
        set local lock_timeout = ${lockTimeoutMs};
        select pg_advisory_xact_lock(hashtext('workspace-tasks tables'));
        ${hasSchema ? "" : `create schema if not exists "${schema}";`}
        create table if not exists ${name} (${columns})`);
      await creating.catch((error: { readonly code?: unknown; readonly message?: unknown }) => {
        if (error.code !== "42501") throw error;
        const advice = `once, as an administrator: create schema ${schema} authorization <the role of the pool>`;
        throw new WorkspaceTasksError("CONFIGURATION_INVALID", `${caller}: ${error.message}; ${advice}`, {
          cause: error,
        });
      });
      await find(query);
    },
  };
}
