// Statements of two sessions that meet at one key, in the order that once made a difference.

import { createVirtualClock } from "@workspace-tasks/mock-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { claimOptions, runningAt, settle } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import { wrongTables } from "../../../../support/inbox-tables.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
beforeAll(async () => {
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

/** Resolves when the condition holds for that many sessions. */
async function untilBlocked(count: number, condition: string): Promise<void> {
  const pool = database.pool({ max: 1 });
  const blocked = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`;
  await expect.poll(async () => (await pool.query(blocked)).rows.length).toBe(count);
  await pool.end();
}

describeWithPostgres("two processes on one PostgreSQL inbox", () => {
  it("an end that waits for an insert of the same key counts the row that was inserted", async () => {
    const pool = database.pool();
    const inbox = postgresInbox(pool, { schema: "late_insert", clock: createVirtualClock(), prepare: false });
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1, { id: "first" }));
    const [claim] = (await inbox.claim(claimOptions())).claims;
    const blocker = await pool.connect();
    await blocker.query("BEGIN; SELECT 1 FROM late_insert.ordering_keys FOR UPDATE");
    const isWaiting = "wait_event_type = 'Lock'";
    const inserted = inbox.insert(runningAt("task-1", 2, { id: "second" }));
    await untilBlocked(1, isWaiting);
    // No head, and no row but this one in its snapshot.
    const ended = inbox.fail(claim!, { kind: "dead", error: "no" });
    await untilBlocked(2, isWaiting);
    await blocker.query("COMMIT");
    blocker.release();
    expect([await inserted, await ended]).toEqual([{ outcome: "new" }, true]);
    const query = (statement: string) => pool.query(statement).then(({ rows }) => rows);
    expect(await wrongTables(query, { database: "postgres", schema: "late_insert" })).toEqual([]);
    expect((await inbox.claim(claimOptions())).claims.map(({ id }) => id)).toEqual(["second"]);
    await inbox.close();
  });

  it("a claim takes no advisory lock, which any role could hold", async () => {
    const pool = database.pool({ max: 1 });
    const inbox = postgresInbox(pool, { schema: "advisory", clock: createVirtualClock() });
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1, { id: "first" }));
    await pool.query("BEGIN");
    expect((await inbox.claim(claimOptions())).claims.map(({ id }) => id)).toEqual(["first"]);
    const { rows } = await pool.query(
      "SELECT mode FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    );
    await pool.query("COMMIT");
    expect(rows).toEqual([]);
    await inbox.close();
  });

  it("a claim whose snapshot is older than the last lease of a key claims no row that has ended since", async () => {
    const pool = database.pool();
    const clock = createVirtualClock();
    let isSlow = false;
    // Its snapshot is taken before it waits, its locks after that.
    const wait = "(SELECT pg_advisory_xact_lock(1) IS NOT NULL) AND (source || '') >= 'default'::text";
    pool.on("connect", (client) => {
      type Statement = string | { readonly text: string };
      const query = client.query.bind(client) as (statement: Statement, ...rest: unknown[]) => unknown;
      const slowed = async (statement: Statement, ...rest: unknown[]) => {
        const config = typeof statement === "string" ? { text: statement } : statement;
        const text = config.text.includes("AS has_more) AS state")
          ? config.text.replace("(source || '') >= 'default'::text", wait)
          : config.text;
        return query({ ...config, text: isSlow ? text : config.text }, ...rest);
      };
      Object.assign(client, { query: slowed });
    });
    const inbox = postgresInbox(pool, { schema: "stale_snapshot", clock, prepare: false });
    await inbox.open();
    for (const second of [1, 2, 3]) await inbox.insert(runningAt("task-1", second, { id: `at-${second}` }));
    const gate = await pool.connect();
    await gate.query("SELECT pg_advisory_lock(1)");
    isSlow = true;
    const slow = inbox.claim(claimOptions({ worker: "slow", rowsPerKeyMax: 3 }));
    await untilBlocked(1, "wait_event = 'advisory'");
    isSlow = false;
    const [first] = (await inbox.claim(claimOptions({ worker: "fast" }))).claims;
    expect(await settle(inbox, first!)).toBe("settled");
    await gate.query("SELECT pg_advisory_unlock(1)");
    gate.release();
    const result = await slow;
    expect(result.claims.map(({ id }) => id)).toEqual([]);
    expect(result.nextInMs).toBeLessThan(50);
    await clock.advance(50);
    const { claims } = await inbox.claim(claimOptions({ worker: "later", rowsPerKeyMax: 3 }));
    expect(claims.map(({ id }) => id)).toEqual(["at-2", "at-3"]);
    await inbox.close();
  });
});
