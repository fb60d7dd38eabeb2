import type { PostgresInboxOptions, PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import type { Pool } from "pg";
import type { InboxClaim } from "../../receiver-kit/inbox/inbox.ts";
import { claimOptions, doneWith, runningAt } from "./inbox-rows.ts";
import { postgresInbox } from "./inbox-stores.ts";
import type { PostgresDatabase } from "./postgres.ts";

let schemas = 0;

/** An inbox with claimed rows of tasks, in the order of their names, and a table for the effects of handlers. */
export async function createSharedTransactionFixture(
  database: PostgresDatabase,
  tasks: readonly string[],
  options: PostgresInboxOptions = {},
  pool: Pool = database.pool(),
) {
  schemas += 1;
  const schema = `shared_${schemas}`;
  const inbox = postgresInbox(pool, { schema, turnMs: 2_000, ...options });
  await inbox.open();
  // No rollback sets a sequence back.
  await pool.query(`CREATE SEQUENCE ${schema}.executions;
    CREATE TABLE ${schema}.effects (name text UNIQUE, xact text DEFAULT pg_current_xact_id()::text,
      execution bigint DEFAULT nextval('${schema}.executions'))`);
  const insert = (names: readonly string[]) =>
    Promise.all(names.map((name) => inbox.insert(runningAt(name, 1))));
  const claim = async (): Promise<readonly InboxClaim[]> => {
    const { claims } = await inbox.claim(claimOptions({ rowsMax: tasks.length, bytesMax: 64_000_000 }));
    return claims.toSorted((a, b) => (String(a.orderKey) < String(b.orderKey) ? -1 : 1));
  };
  await insert(tasks);
  const claims = await claim();
  return {
    ...{ inbox, pool, schema, claims, insert, claim },
    begin: (row: InboxClaim, isAlone = false) =>
      inbox.begin(row, doneWith(row), { timeoutMs: 20_000, isAlone }),
    async write(handle: PostgresTransaction, name: string) {
      const statement = `INSERT INTO ${schema}.effects VALUES ($1) RETURNING name`;
      return (await handle.query(statement, [name]))[0]?.["name"];
    },
    /** How many writes were executed, those that were rolled back included. */
    async executions() {
      const { rows } = await pool.query(`SELECT last_value, is_called FROM ${schema}.executions`);
      return rows[0].is_called ? Number(rows[0].last_value) : 0;
    },
    /** The effects that were kept, and how many transactions wrote them. */
    async effects(): Promise<{ readonly names: readonly string[]; readonly transactions: number }> {
      const { rows } = await pool.query(
        `SELECT array_agg(name ORDER BY name) AS names, count(DISTINCT xact)::integer AS transactions
         FROM ${schema}.effects`,
      );
      return { names: rows[0].names ?? [], transactions: rows[0].transactions };
    },
    stateOf: async ({ source, id }: InboxClaim) => (await inbox.get({ source, id }))?.state,
    async [Symbol.asyncDispose]() {
      await inbox.close();
      await pool.end();
    },
  };
}
