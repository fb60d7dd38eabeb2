import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { createFreezingProxy } from "../../../../support/freezing-proxy.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { describeWithPostgres } from "../../../../support/machine.ts";
import { PostgresServer } from "../../../../support/postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

const queryTimeoutMs = 1_000;

/** An inbox with one claimed row, behind a proxy, and a direct connection to its database. */
async function fixture() {
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
    ...{ inbox, direct, proxy, pool, claimOne },
    async [Symbol.asyncDispose]() {
      proxy.heal();
      await inbox.close();
      await proxy[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

describeWithPostgres("the PostgreSQL inbox", () => {
  it("frees the row of a transaction whose connection died, and its effects take place once", async () => {
    await using at = await fixture();
    const claim = await at.claimOne();
    const transaction = at.inbox.begin(claim, doneWith(claim), { timeoutMs: 60_000 });
    await transaction.handle.query("INSERT INTO effects VALUES ('first')");
    at.proxy.freezeExisting();
    const startedMs = performance.now();
    await expect(transaction.handle.query("INSERT INTO effects VALUES ('never')")).rejects.toThrow();
    expect(performance.now() - startedMs).toBeLessThan(6_000);
    await transaction.rollback();
    expect(await at.inbox.fail(claim, { kind: "retry", delayMs: 0, error: "connection lost" })).toBe(true);
    const again = await at.claimOne();
    const repeated = at.inbox.begin(again, doneWith(again), { timeoutMs: 60_000 });
    await repeated.handle.query("INSERT INTO effects VALUES ('second')");
    expect(await repeated.commit()).toBe("settled");
    at.proxy.heal();
    expect((await at.direct.query("SELECT name FROM effects")).rows).toEqual([{ name: "second" }]);
    expect(at.pool.totalCount).toBe(at.pool.idleCount);
  });

  it("does not interrupt a slow statement of a handler, or one that failed", async () => {
    await using at = await fixture();
    const claim = await at.claimOne();
    const transaction = at.inbox.begin(claim, doneWith(claim), { timeoutMs: 60_000 });
    await transaction.handle.query("SAVEPOINT before");
    await expect(transaction.handle.query("SELECT 1 / 0")).rejects.toThrow("division by zero");
    await pause(1_500);
    await transaction.handle.query("ROLLBACK TO before");
    await transaction.handle.query("SELECT pg_sleep(2.5)");
    expect(await transaction.commit()).toBe("settled");
  });

  it("reports who holds the lock of the claims, and claims again when it is released", async () => {
    await using at = await fixture();
    const lock = createHash("sha256").update("workspace_tasks_inbox.claim.default").digest().readBigInt64BE();
    const other = await at.direct.connect();
    await other.query("SELECT pg_advisory_lock($1)", [String(lock)]);
    await expect(at.claimOne()).rejects.toMatchObject({
      code: "INBOX_UNAVAILABLE",
      message: expect.stringMatching(
        /^postgres inbox: process \d+ of role postgres blocks the claims of events$/,
      ),
    });
    await other.query("SELECT pg_advisory_unlock_all()");
    other.release();
    expect((await at.claimOne()).orderKey).toContain("task-1");
  });

  it("leaves no statements behind at the server while a lock keeps it from storing", async () => {
    await using at = await fixture();
    const other = await at.direct.connect();
    await other.query("BEGIN; LOCK TABLE workspace_tasks.inbox");
    for (let n = 0; n < 4; n++) await expect(at.inbox.insert(runningAt(`task-${n}`, 2))).rejects.toThrow();
    const { rows } = await other.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
    // The first of each statement; the later ones limited themselves.
    expect(rows.length).toBeLessThanOrEqual(2);
    await other.query("ROLLBACK");
    other.release();
    expect(await at.inbox.insert(runningAt("task-9", 2))).toEqual({ outcome: "new" });
  });
});
