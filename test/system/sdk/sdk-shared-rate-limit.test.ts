import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { createClient, postgresRateLimitStore } from "@workspace-tasks/sdk";
import { beforeAll, expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { busiestWindow } from "../../support/engine-fixture.ts";
import { createFreezingProxy } from "../../support/freezing-proxy.ts";
import type { PostgresDatabases } from "../../support/postgres.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { describeWithPostgres } from "../../support/with-postgres.ts";
import type { RateLimitProcessInput } from "./rate-limit-program.ts";

/** Of a store: three permits per minute. */
const permits = { key: "k", limit: 3, windowMs: 60_000 };

let postgres: PostgresDatabases;
let program: readonly string[];

beforeAll(async () => {
  postgres = await sharedPostgres();
  program = await bundledProgram("test/system/sdk/rate-limit-program.ts");
});

function startProcess(input: RateLimitProcessInput) {
  return promisify(execFile)(process.execPath, [...program, JSON.stringify(input)]);
}

async function runProcess(input: RateLimitProcessInput): Promise<{ succeeded: number; failures: string[] }> {
  const { stdout } = await startProcess(input);
  return JSON.parse(stdout) as { succeeded: number; failures: string[] };
}

async function countedBy({ control }: MockServer) {
  const { data } = await control.listRequests({ limit: 1_000 });
  const counted = data.filter(({ operationName }) => operationName === "Me");
  const accepted = counted.filter(({ status }) => status !== 429);
  return { accepted: accepted.map(({ at }) => Date.parse(at)), rejected: counted.length - accepted.length };
}

// They mostly wait: for a window, or for a lock.
describeWithPostgres("a rate limit in PostgreSQL", () => {
  it.concurrent("three processes stay within a shared rate limit, also when a fourth that holds permits of it is killed, and no call fails", async () => {
    await using database = await postgres.database();
    const [requests, windowMs] = [60, 500];
    await using mock = await createMockServer({ settings: { rateLimit: { requests, windowMs } } });
    const { apiKey, baseUrl } = mock;
    const common = { apiKey, baseUrl, databaseUrl: database.url, requests, windowMs, concurrency: requests };
    const killed = startProcess({ ...common, calls: Number.MAX_SAFE_INTEGER });
    const end = expect(killed).rejects.toMatchObject({ signal: "SIGKILL" });
    const acceptedMin = (count: number) =>
      expect
        .poll(async () => (await countedBy(mock)).accepted.length, { timeout: 60_000 })
        .toBeGreaterThan(count);
    await acceptedMin(0);
    const others = [1, 2, 3].map(() => runProcess({ ...common, calls: 0.5 * requests }));
    await acceptedMin(requests);
    killed.child.kill("SIGKILL");
    await end;
    expect(await Promise.all(others)).toEqual(Array(3).fill({ succeeded: 0.5 * requests, failures: [] }));
    const { accepted, rejected } = await countedBy(mock);
    // Rare ones: on a busy machine a request can take longer than the store allows for.
    expect(rejected).toBeLessThan(0.1 * accepted.length);
    expect(busiestWindow(accepted, windowMs)).toBeLessThanOrEqual(requests);
    // More than two windows.
    expect(accepted.length).toBeGreaterThan(2.4 * requests);
  }, 300_000);

  it.concurrent("control: four processes without a store get 429s", async () => {
    const requests = 20;
    const windowMs = 60_000;
    await using mock = await createMockServer({ settings: { rateLimit: { requests, windowMs } } });
    const { apiKey, baseUrl } = mock;
    // Clients with clocks of their own, as in processes of their own: their limiters are independent.
    const clients = [1, 2, 3, 4].map(() => createClient({ apiKey, baseUrl, clock: { ...systemClock } }));
    const calls = clients.flatMap((client) =>
      Array.from({ length: 10 }, () => client.me({ deadlineMs: 5_000 }).catch(() => undefined)),
    );
    await Promise.all(calls);
    expect((await countedBy(mock)).rejected).toBeGreaterThan(0);
  });

  it.concurrent("a shared rate limit blocks all processes when one is rejected", async () => {
    await using database = await postgres.database();
    const store = postgresRateLimitStore(database.pool());
    const other = postgresRateLimitStore(database.pool());
    expect(await store.acquire({ ...permits, count: 2 })).toMatchObject({ granted: 2 });
    await other.block("k", 40_000);
    await other.block("k", 30_000);
    const blocked = await store.acquire({ ...permits, count: 1 });
    expect(blocked.granted).toBe(0);
    expect(blocked.retryInMs).toBeGreaterThan(60_000 - 10_000);
    expect(await store.acquire({ ...permits, key: "another", count: 2 })).toMatchObject({ granted: 2 });
    await store.block("blocked first", 40_000);
    const { granted, retryInMs } = await other.acquire({ ...permits, key: "blocked first", count: 1 });
    expect(granted).toBe(0);
    expect(Math.round(retryInMs / 10_000)).toBe(4);
  });

  it.concurrent("the store creates its table once, and never grants more permits than the limit, however many processes ask at once", async () => {
    await using database = await postgres.database();
    const stores = Array.from({ length: 8 }, () => postgresRateLimitStore(database.pool({ max: 1 })));
    const grants = await Promise.all(
      stores.flatMap((store) =>
        Array.from({ length: 5 }, () => store.acquire({ ...permits, limit: 50, count: 3 })),
      ),
    );
    expect(grants.reduce((sum, { granted }) => sum + granted, 0)).toBe(50);
    const { retryInMs } = await stores[0]!.acquire({ ...permits, limit: 50, count: 3 });
    expect(retryInMs).toBeGreaterThan(30_000);
    expect(retryInMs).toBeLessThanOrEqual(60_000);
  });

  it.concurrent("a permit is free again one window after it was granted", async () => {
    await using database = await postgres.database();
    const store = postgresRateLimitStore(database.pool());
    const acquire = { ...permits, count: 3, windowMs: 500 };
    expect((await store.acquire(acquire)).granted).toBe(3);
    await expect.poll(async () => (await store.acquire(acquire)).granted).toBe(3);
    const pool = database.pool();
    const { rows } = await pool.query("select cardinality(permits) as kept from workspace_tasks.rate_limit");
    // What is older than a window is dropped.
    expect(rows[0]?.kept).toBeLessThanOrEqual(3);
  });

  it.concurrent("the store works with a table that a later release has extended", async () => {
    await using database = await postgres.database();
    const store = postgresRateLimitStore(database.pool());
    expect((await store.acquire({ ...permits, count: 1 })).granted).toBe(1);
    const pool = database.pool();
    await pool.query("alter table workspace_tasks.rate_limit add column added text not null default 'x'");
    expect((await store.acquire({ ...permits, count: 5 })).granted).toBe(2);
  });

  it.concurrent("calls succeed again after the store's connections died silently, and close ends", async () => {
    await using database = await postgres.database();
    await using mock = await createMockServer();
    await using proxy = await createFreezingProxy(postgres.port);
    const { apiKey, baseUrl } = mock;
    const connectionString = database.url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const pool = database.pool({ connectionString });
    const store = postgresRateLimitStore(pool);
    const client = createClient({ apiKey, baseUrl, rateLimit: { store } });
    await Promise.all([client.me(), client.me(), client.me()]);
    proxy.freezeExisting();
    expect((await client.me()).__typename).toBe("WorkspaceUser");
    proxy.freezeAll();
    const failed = client.me().catch((error: { code: string }) => error.code);
    await client.close();
    expect(["CLIENT_CLOSED", "RATE_LIMIT_STORE_FAILED"]).toContain(await failed);
    proxy.heal();
  });

  it.concurrent("a held lock on creating the table does not stop a store whose table exists", async () => {
    await using database = await postgres.database();
    const acquire = { ...permits, count: 1 };
    await postgresRateLimitStore(database.pool()).acquire(acquire);
    const other = database.pool();
    await other.query("select pg_advisory_lock(hashtext('workspace-tasks tables'))");
    expect((await postgresRateLimitStore(database.pool()).acquire(acquire)).granted).toBe(1);
    await other.query("drop table workspace_tasks.rate_limit");
    await expect(postgresRateLimitStore(database.pool()).acquire(acquire)).rejects.toThrow("lock timeout");
  });

  it.concurrent("the store creates a table that was removed when it is asked the next time", async () => {
    await using database = await postgres.database();
    const store = postgresRateLimitStore(database.pool());
    await store.acquire({ ...permits, count: 1 });
    await database.pool().query("drop schema workspace_tasks cascade");
    await expect(store.acquire({ ...permits, count: 1 })).rejects.toThrow("does not exist");
    expect((await store.acquire({ ...permits, count: 1 })).granted).toBe(1);
  });

  it.concurrent("a held lock on the row of a key ends a statement in the server, too", async () => {
    await using database = await postgres.database();
    const pool = database.pool();
    const store = postgresRateLimitStore(pool);
    await store.acquire({ ...permits, count: 1 });
    const holder = await database.pool().connect();
    await holder.query("begin; update workspace_tasks.rate_limit set permits = permits");
    const statements = [store.acquire({ ...permits, count: 1 }), store.block("k", 1)];
    await Promise.all(statements.map((each) => expect(each).rejects.toThrow("lock timeout")));
    await holder.query("rollback");
    holder.release();
    expect(await store.acquire({ ...permits, count: 1 })).toMatchObject({ granted: 1 });
  });

  it.concurrent("the store contains a hash of the key, never the key", async () => {
    await using database = await postgres.database();
    await using mock = await createMockServer();
    const { apiKey, baseUrl } = mock;
    const pool = database.pool();
    const client = createClient({ apiKey, baseUrl, rateLimit: { store: postgresRateLimitStore(pool) } });
    await client.me();
    await client.close();
    const { rows } = await pool.query("select * from workspace_tasks.rate_limit");
    expect(rows).toEqual([
      expect.objectContaining({ key_hash: expect.stringMatching(/^[0-9a-f]{64}$/), permits: [1] }),
    ]);
    expect(JSON.stringify(rows)).not.toContain(apiKey);
  });
});
