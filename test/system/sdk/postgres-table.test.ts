// What another role of the database has prepared under the names of the SDK's tables.
import { type PostgresTableOptions, postgresJournal, postgresRateLimitStore } from "@workspace-tasks/sdk";
import type { Pool } from "pg";
import { expect, it } from "vitest";
import { openJournal } from "../../support/memory-journal.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { describeWithPostgres } from "../../support/with-postgres.ts";

const uses: Readonly<Record<string, (pool: Pool, options?: PostgresTableOptions) => Promise<unknown>>> = {
  rate_limit: (pool, options) =>
    postgresRateLimitStore(pool, options).acquire({ key: "k", limit: 3, count: 1, windowMs: 60_000 }),
  async import_journal(pool, options) {
    const journal = await openJournal(postgresJournal(pool, "firm", options));
    await journal.append(["entry"]).finally(() => journal.close());
  },
};

/** A database in which an attacker may create tables in `public`, and schemas; and a pool of the role that uses the SDK. */
async function sharedDatabase() {
  const database = await (await sharedPostgres()).database();
  const admin = database.pool();
  for (const role of ["attacker", "victim"]) {
    await admin.query(
      `do $$ begin create role ${role} login password 'app'; exception when duplicate_object then end $$`,
    );
  }
  const name = new URL(database.url).pathname.slice(1);
  await admin.query(`grant create on schema public to public; grant create on database ${name} to victim`);
  const connectionString = database.url.replace("postgres:postgres@", "victim:app@");
  return { admin, name, pool: database.pool({ connectionString }) };
}

describeWithPostgres.each(Object.entries(uses))("the table %s", (table, use) => {
  it("is created in a schema of its own, whatever is in the search path", async () => {
    const { admin, pool } = await sharedDatabase();
    await admin.query(`set role attacker; create table public.${table} (a text); reset role`);
    await use(pool);
    const found = await admin.query(
      "select schemaname, tableowner from pg_tables where tablename = $1 and schemaname <> 'public'",
      [table],
    );
    expect(found.rows).toEqual([{ schemaname: "workspace_tasks", tableowner: "victim" }]);
    expect((await admin.query(`select * from public.${table}`)).rows).toEqual([]);
    await use(pool, { schema: "other" });
    expect((await admin.query(`select 1 from other.${table}`)).rowCount).toBe(1);
  });

  it.each([
    [
      "the schema",
      "create schema workspace_tasks authorization attacker",
      "schema workspace_tasks belongs to",
    ],
    [
      "the table",
      `create schema workspace_tasks authorization victim; grant all on schema workspace_tasks to attacker;
       set role attacker; create table workspace_tasks.${table} (a text); reset role`,
      `workspace_tasks.${table} belongs to attacker`,
    ],
    [
      "a view in place of the table",
      `create schema workspace_tasks authorization victim; grant all on schema workspace_tasks to attacker;
       set role attacker; create view workspace_tasks.${table} as select 1; reset role`,
      `workspace_tasks.${table} belongs to attacker`,
    ],
  ])("is not used when another role has prepared %s", async (_, prepare, message) => {
    const { admin, pool } = await sharedDatabase();
    await admin.query(prepare);
    await expect(use(pool)).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringContaining(message),
    });
  });

  it("says what to do when the role may not create a schema", async () => {
    const { admin, pool, name } = await sharedDatabase();
    await admin.query(`revoke create on database ${name} from victim`);
    await expect(use(pool)).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringMatching(
        /permission denied .+; once, as an administrator: create schema workspace_tasks /,
      ),
    });
    await admin.query("create schema workspace_tasks authorization victim");
    await use(pool);
  });

  it("is used in a schema of a role of which that of the pool is a member", async () => {
    const { admin, pool } = await sharedDatabase();
    await admin.query(
      "do $$ begin create role owners; exception when duplicate_object then end $$; grant owners to victim",
    );
    await admin.query("create schema workspace_tasks authorization owners");
    await use(pool);
    await use(pool);
    await admin.query("revoke owners from victim");
  });

  it("is used with `migrate: false` by a role that owns nothing, and may not create tables", async () => {
    const { admin, pool } = await sharedDatabase();
    await use(admin);
    await admin.query(`grant usage on schema workspace_tasks to victim;
      grant select, insert, update on workspace_tasks.${table} to victim`);
    await expect(use(pool)).rejects.toMatchObject({ code: "CONFIGURATION_INVALID" });
    await use(pool, { migrate: false });
  });
});
