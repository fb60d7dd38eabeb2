import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { createFreezingProxy } from "../../../../support/freezing-proxy.ts";
import { claimOptions, doneWith, runningAt, settle } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import type { PostgresDatabases } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let server: PostgresDatabases;
beforeAll(async () => {
  server = await sharedPostgres();
});

/** An inbox with one claimed row, behind a proxy, and a direct connection to its database. */
async function fixture(queryTimeoutMs = 2_000) {
  const database = await server.database();
  const direct = database.pool();
  const proxy = await createFreezingProxy(server.port);
  const connectionString = database.url.replace(`:${server.port}/`, `:${proxy.port}/`);
  const pool = database.pool({ connectionString });
  const inbox = postgresInbox(pool, { queryTimeoutMs });
  await inbox.open();
  await direct.query("CREATE TABLE effects (name text)");
  await inbox.insert(runningAt("task-1", 1));
  const claimOne = async () => (await inbox.claim(claimOptions())).claims[0]!;
  return {
    inbox,
    direct,
    proxy,
    pool,
    claimOne,
    async [Symbol.asyncDispose]() {
      proxy.heal();
      await inbox.close();
      await proxy[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

const waitingForLocks =
  "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

// They mostly wait.
describeWithPostgres("the PostgreSQL inbox", () => {
  it.concurrent("does not interrupt a slow statement of a handler, or one that failed", async () => {
    await using at = await fixture();
    const claim = await at.claimOne();
    const transaction = at.inbox.begin([{ claim, settlement: doneWith(claim) }], { timeoutMs: 60_000 });
    await transaction.handle.query("SAVEPOINT before");
    await expect(transaction.handle.query("SELECT 1 / 0")).rejects.toThrow("division by zero");
    await pause(2_500);
    await transaction.handle.query("ROLLBACK TO before");
    await transaction.handle.query("SELECT pg_sleep(4.5)");
    expect(await transaction.commit()).toBe("settled");
  });

  it.concurrent("stores, claims and ends other events while a key is locked by another session", async () => {
    await using at = await fixture(5_000);
    await at.inbox.insert(runningAt("task-2", 1));
    const { claims } = await at.inbox.claim(claimOptions());
    const other = await at.direct.connect();
    try {
      await other.query("BEGIN");
      const key = `order_key = '["task-1"]'`;
      await other.query(`SELECT 1 FROM workspace_tasks.ordering_keys WHERE ${key} FOR UPDATE`);
      const outcomes = await Promise.allSettled([
        ...claims.map((claim) => settle(at.inbox, claim)),
        ...["task-1", "task-2", "task-3"].map((task) => at.inbox.insert(runningAt(task, 2))),
      ]);
      expect(outcomes.map((outcome) => ("value" in outcome ? outcome.value : outcome.reason.code))).toEqual([
        ...["INBOX_UNAVAILABLE", "settled"],
        ...["INBOX_UNAVAILABLE", { outcome: "new" }, { outcome: "new" }],
      ]);
      const next = await at.inbox.claim(claimOptions());
      expect(next.claims.map(({ orderKey }) => orderKey).toSorted()).toEqual(['["task-2"]', '["task-3"]']);
    } finally {
      await other.query("ROLLBACK");
      other.release();
    }
    expect(await settle(at.inbox, claims[0]!)).toBe("settled");
  });

  it.concurrent("keeps no key locked whose claim the server cannot send", async ({ expect }) => {
    await using at = await fixture();
    const body = Buffer.alloc(1_000_000, "x");
    for (let n = 1; n <= 12; n++) await at.inbox.insert(runningAt(`task-${n}`, 2, { body }));
    const other = await at.direct.connect();
    await other.query("BEGIN; LOCK TABLE workspace_tasks.bodies");
    const claiming = at.inbox.claim(claimOptions({ rowsMax: 20 }));
    claiming.catch(() => {});
    await expect.poll(async () => (await at.direct.query(waitingForLocks)).rows.length).toBe(1);
    at.proxy.freezeExisting();
    await other.query("COMMIT");
    other.release();
    await expect(claiming).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    const locked = `
      SELECT count(*)::integer AS count FROM workspace_tasks.ordering_keys AS ordering_key
      WHERE NOT EXISTS (SELECT 1 FROM free WHERE free.id = ordering_key.id)`;
    const free = "WITH free AS (SELECT id FROM workspace_tasks.ordering_keys FOR UPDATE SKIP LOCKED)";
    const lockedKeys = async () => (await at.direct.query(`${free} ${locked}`)).rows[0].count;
    await expect.poll(lockedKeys).toBe(0);
  });

  it.concurrent("leaves no statements behind at the server while a lock keeps it from storing", async () => {
    await using at = await fixture();
    const other = await at.direct.connect();
    await other.query("BEGIN; LOCK TABLE workspace_tasks.deliveries");
    for (let n = 0; n < 4; n++) await expect(at.inbox.insert(runningAt(`task-${n}`, 2))).rejects.toThrow();
    const { rows } = await other.query(waitingForLocks);
    // The first of each statement; the later ones limited themselves.
    expect(rows.length).toBeLessThanOrEqual(2);
    await other.query("ROLLBACK");
    other.release();
    expect(await at.inbox.insert(runningAt("task-9", 2))).toEqual({ outcome: "new" });
  });
});
