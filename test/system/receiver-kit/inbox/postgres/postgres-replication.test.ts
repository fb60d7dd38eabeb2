// What was acknowledged is on a second server, and the receivers continue on that one after the loss of the first.

import { setTimeout as pause } from "node:timers/promises";
import type { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { claimOne, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import type { PostgresDatabase, PostgresServer } from "../../../../support/postgres.ts";
import { ownPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let server: PostgresServer;
let database: PostgresDatabase;
let direct: Pool;

beforeAll(async () => {
  server = await ownPostgres();
  database = await server.database();
  direct = database.pool();
});
afterAll(() => server[Symbol.asyncDispose]());

async function configure(setting: string, value: string): Promise<void> {
  await direct.query(`ALTER SYSTEM SET ${setting} = '${value}'`);
  await direct.query("SELECT pg_reload_conf()");
  await expect.poll(async () => (await direct.query(`SHOW ${setting}`)).rows[0]?.[setting]).toBe(value);
}

/** Sessions whose commit waits for a standby. */
const waiting = async () =>
  (await direct.query("SELECT pid, query FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).rows;

/** Cancels the one commit that waits, as an operator does with pg_cancel_backend. */
async function cancelWait(): Promise<void> {
  await expect.poll(waiting).toHaveLength(1);
  await direct.query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
}

async function createInbox(schema: string) {
  const pool = database.pool();
  const inbox = postgresInbox(pool, { schema, queryTimeoutMs: 1_500 });
  await inbox.open();
  return { pool, inbox };
}

/** The checkpointer applies the setting, which may take a moment. */
async function untilCommitsWait(): Promise<void> {
  const client = await direct.connect();
  for (let waits = false; !waits; ) {
    const commit = client.query("SELECT pg_logical_emit_message(true, 'test', '')").then(() => false);
    waits = await Promise.race([commit, pause(100, true)]);
    if (waits) await cancelWait();
    await commit;
  }
  client.release();
}

/** While no standby confirms anything. */
async function withoutStandby(work: () => Promise<void>): Promise<void> {
  await configure("synchronous_standby_names", "ANY 1 (absent)");
  await untilCommitsWait();
  try {
    await work();
  } finally {
    await configure("synchronous_standby_names", "");
  }
}

describeWithPostgres("with synchronous standbys the PostgreSQL inbox", () => {
  it("acknowledges neither a delivery that is on the primary only, nor a duplicate of it", async () => {
    const { inbox } = await createInbox("unconfirmed");
    const row = runningAt("task-1", 1);
    await withoutStandby(async () => {
      const [stored] = await Promise.allSettled([inbox.insert(row), cancelWait()]);
      expect(stored).toMatchObject({ status: "rejected", reason: { code: "INBOX_UNAVAILABLE" } });
      expect(await inbox.get(row), "the row is on the primary").toMatchObject({ state: "pending" });
      const [repeated] = await Promise.allSettled([inbox.insert(row), expect.poll(waiting).toHaveLength(1)]);
      expect(repeated).toMatchObject({ status: "rejected", reason: { code: "INBOX_UNAVAILABLE" } });
    });
    expect(await inbox.insert(row)).toEqual({ outcome: "duplicate", sameBody: true });
  });

  it("acknowledges no delivery by a database whose synchronous_commit is local", async () => {
    const { inbox } = await createInbox("local_commit");
    await direct.query(
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET synchronous_commit = local`,
    );
    const later = postgresInbox(database.pool(), { schema: "local_commit", queryTimeoutMs: 500 });
    await withoutStandby(async () => {
      await expect(later.insert(runningAt("task-1", 1))).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    });
    await direct.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} RESET synchronous_commit`);
    await inbox.close();
  });

  it("reports no handler's transaction as committed that is on the primary only", async () => {
    const { inbox } = await createInbox("handlers");
    await inbox.insert(runningAt("task-1", 1));
    const claim = await claimOne(inbox);
    const transaction = inbox.begin([{ claim, settlement: doneWith(claim) }], { timeoutMs: 5_000 });
    await transaction.handle.query("SELECT 1");
    await withoutStandby(async () => {
      const [committed] = await Promise.allSettled([transaction.commit(), cancelWait()]);
      expect(committed).toMatchObject({ status: "rejected", reason: { code: "INBOX_UNAVAILABLE" } });
    });
  });

  it("reports no delivery as applied by another request that is on the primary only", async () => {
    const { inbox } = await createInbox("inline_rows");
    const webhook = { id: "msg_1", timestamp: 1_772_357_400, body: Buffer.from("{}"), secretIndex: 0 };
    const begin = () => inbox.beginInline(webhook, { source: "default", leaseMs: 60_000 });
    expect(await begin()).toEqual({ state: "begun", generation: 1 });
    const done = { source: "default", generation: 1, outcome: "done" } as const;
    await withoutStandby(async () => {
      await Promise.allSettled([inbox.finishInline("msg_1", done), cancelWait()]);
      const [begun] = await Promise.allSettled([begin(), expect.poll(waiting).toHaveLength(1)]);
      expect(begun).toMatchObject({ status: "rejected", reason: { code: "INBOX_UNAVAILABLE" } });
    });
    expect(await begin()).toEqual({ state: "done" });
  });
});

describeWithPostgres("a server that was demoted", () => {
  it("loses the clients that are connected to it, and the pool's new ones are used", async () => {
    const { pool, inbox } = await createInbox("demoted");
    const rows = Array.from({ length: 6 }, (_, n) => runningAt(`task-${n}`, 1));
    await Promise.all([inbox.insert(rows[0]!), inbox.stats(), inbox.list({}), inbox.backlog("default", 1)]);
    const ofAll = async (expression: string, count = pool.totalCount): Promise<readonly string[]> => {
      const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()));
      const found = await Promise.all(clients.map((client) => client.query(`SELECT ${expression} AS value`)));
      for (const client of clients) client.release();
      return found.map((result) => String(result.rows[0]?.value));
    };
    const pids = (count?: number) => ofAll("pg_backend_pid()", count);
    // One more than the inbox has used, as of an application that shares the pool.
    const before = await pids(pool.totalCount + 1);
    expect(before.length).toBeGreaterThan(2);
    // A read-only server rejects statements as a standby does.
    await configure("default_transaction_read_only", "on");
    // A busy machine tells its sessions one after the other.
    await expect
      .poll(async () => new Set(await ofAll("current_setting('transaction_read_only')")))
      .toEqual(new Set(["on"]));
    await expect(inbox.insert(rows[1]!)).rejects.toMatchObject({
      code: "INBOX_UNAVAILABLE",
      cause: { code: "25006" },
    });
    const client = await direct.connect();
    await client.query("BEGIN READ WRITE");
    await client.query("ROLLBACK");
    await client.query("SET default_transaction_read_only = off");
    await client.query("ALTER SYSTEM SET default_transaction_read_only = off");
    await client.query("SELECT pg_reload_conf()");
    client.release(true);
    await expect
      .poll(() =>
        inbox.insert(rows[2]!).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    // A client is lost when the inbox next takes it from the pool.
    const kept = async () => {
      // At once, so that each client of the pool is taken.
      await Promise.all(Array.from({ length: 2 * before.length }, () => inbox.list({})));
      const after = await pids();
      return after.filter((pid) => before.includes(pid));
    };
    await expect.poll(kept, { timeout: 20_000 }).toEqual([]);
  });
});
