// What a handler sets for its transaction ends with it, and what it sets on its client does too.

import type { PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { HandlerTransaction, InboxClaim } from "../../../../../receiver-kit/inbox/inbox.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
beforeAll(async () => {
  database = await (await sharedPostgres()).database();
  await database.pool().query(`
    CREATE FUNCTION set_tenant(tenant text) RETURNS void LANGUAGE sql
      AS $$ SELECT set_config('app.tenant', tenant, true) $$`);
});
afterAll(() => database[Symbol.asyncDispose]());

let schemas = 0;

/** An inbox with claimed rows of so many tasks. */
async function createFixture(events: number, max = 16) {
  schemas += 1;
  const pool = database.pool({ max });
  const inbox = postgresInbox(pool, { schema: `sessions_${schemas}` });
  await inbox.open();
  await Promise.all(Array.from({ length: events }, (_, n) => inbox.insert(runningAt(`task-${n}`, 1))));
  const { claims } = await inbox.claim(claimOptions({ rowsMax: events }));
  const begin = (claim: InboxClaim): HandlerTransaction<PostgresTransaction> =>
    inbox.begin([{ claim, settlement: doneWith(claim) }], { timeoutMs: 20_000 });
  return {
    pool,
    inbox,
    claims,
    begin,
    async [Symbol.asyncDispose]() {
      await inbox.close();
      await pool.end();
    },
  };
}

describeWithPostgres("transactions of handlers on PostgreSQL", () => {
  it("show none of 400 events the tenant that every second one sets for its transaction", async () => {
    await using at = await createFixture(400);
    const rows = at.claims.map((claim, index) => [claim, index] as const);
    const seen: unknown[] = [];
    const work = async () => {
      for (let next = rows.shift(); next; next = rows.shift()) {
        const [claim, index] = next;
        const begun = at.begin(claim);
        const sets = [
          `SELECT set_tenant('tenant-${index}')`,
          `SELECT set_config('app.tenant', 'tenant-${index}', true)`,
          `SET LOCAL app.tenant = 'tenant-${index}'`,
        ];
        if (index % 2 === 0) await begun.handle.query(sets[(index / 2) % sets.length] ?? "");
        const [row] = await begun.handle.query("SELECT current_setting('app.tenant', true) AS tenant");
        seen[index] = row?.["tenant"] ?? "";
        expect(await begun.commit()).toBe("settled");
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    expect(seen).toEqual(at.claims.map((_, index) => (index % 2 === 0 ? `tenant-${index}` : "")));
  });

  it("keep the fields that a handler sets on its client to that handler", async () => {
    await using at = await createFixture(1, 1);
    const begun = at.begin(at.claims[0]!);
    const client = (await begun.handle.client()) as unknown as pg.Client & { tenant?: string };
    client.tenant = "a";
    expect(client.tenant).toBe("a");
    expect(await begun.commit()).toBe("settled");
    const next = (await at.pool.connect()) as pg.PoolClient & { tenant?: string };
    next.release();
    expect(next.tenant).toBeUndefined();
  });

  it("keep the names of statements to the handler whose client prepares them", async () => {
    await using at = await createFixture(2, 1);
    for (const [index, claim] of at.claims.entries()) {
      const begun = at.begin(claim);
      const client = (await begun.handle.client()) as unknown as pg.Client;
      const { rows } = await client.query({ name: "named", text: `SELECT ${index} AS index` });
      expect(rows).toEqual([{ index }]);
      expect(await begun.commit()).toBe("settled");
    }
  });

  it("show the inbox its rows as it stored them, whatever parsers of types the application has set", async () => {
    const { binary } = pg.defaults;
    const own = [16, 17, 20, 21, 23, 25, 1016].map((type) => [type, pg.types.getTypeParser(type)] as const);
    pg.defaults.binary = true;
    for (const [type] of own) pg.types.setTypeParser(type, () => "of the application");
    try {
      await using at = await createFixture(2);
      const [first, second] = at.claims;
      expect(first).toMatchObject({ orderKey: expect.stringContaining("task-"), attempts: 1, head: null });
      expect(Buffer.from(first!.body).toString()).toContain("task-");
      expect(await at.begin(first!).commit()).toBe("settled");
      const begun = at.begin(second!);
      await begun.handle.query("SELECT 1");
      expect(await begun.commit()).toBe("settled");
      expect((await at.inbox.get(second!))?.state).toBe("done");
    } finally {
      pg.defaults.binary = binary;
      for (const [type, parse] of own) pg.types.setTypeParser(type, parse as (value: string) => unknown);
    }
  });
});
