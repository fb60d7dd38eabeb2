// The first statement of a turn is sent behind the reset that ends the turn before, where the client can do that.

import type { PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import type { Pool, PoolClient } from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { InboxClaim } from "../../../../../../receiver-kit/inbox/inbox.ts";
import type { PostgresDatabase } from "../../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../../support/shared-server.ts";
import { createSharedTransactionFixture } from "../../../../../support/shared-transaction-fixture.ts";
import { describeWithPostgres } from "../../../../../support/with-postgres.ts";

let database: PostgresDatabase;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

interface Observed {
  pipelines: boolean;
  /** `sent` and `done` of each statement. */
  readonly log: string[];
}

/** Clients that log what they send, and cannot pipeline where `pipelines` is false. */
function observe(pool: Pool, { pipelines, log }: Observed): void {
  pool.on("connect", (client) => {
    if (!pipelines) (client as { pipeline?: unknown }).pipeline = undefined;
    const send = client.query.bind(client) as (...values: unknown[]) => Promise<unknown>;
    const logged = (...values: unknown[]) => {
      const [query] = values as [string | { readonly text?: string } | undefined];
      const text = typeof query === "string" ? query : String(query?.text);
      const name = /reset_session/.test(text) && /SAVEPOINT/.test(text) ? "reset" : /^\w+/.exec(text)?.[0];
      log.push(`sent ${name}`);
      const result = send(...values);
      const done = () => void log.push(`done ${name}`);
      result?.then?.(done, done);
      return result;
    };
    client.query = logged as typeof client.query;
  });
}

async function createFixture({ pipelines = true, turnMs = 20_000 } = {}) {
  const log: string[] = [];
  const pool = database.pool();
  observe(pool, { pipelines, log });
  const options = { turnMs, resetSessions: true };
  const fixture = await createSharedTransactionFixture(database, ["a", "b", "c", "d"], options, pool);
  const [a, b, c, d] = fixture.claims.map((claim) => fixture.begin(claim)) as [
    ...[Begun, Begun, Begun, Begun],
  ];
  const [claimA, claimB] = fixture.claims as [InboxClaim, InboxClaim, ...InboxClaim[]];
  return {
    ...{ ...fixture, log, a, b, c, d, claimA, claimB },
    /** Its text is not plain: it shares a transaction with events that begin with other statements. */
    async write(handle: PostgresTransaction, name: string) {
      const statement = `INSERT INTO ${fixture.schema}.effects VALUES ($1, pg_current_xact_id()) RETURNING name`;
      return (await handle.query(statement, [name]))[0]?.["name"];
    },
    /** One of the two transactions that may run at a time, so that a, b and c share the other one. */
    async hold() {
      await d.handle.query("SELECT 1");
      log.length = 0;
      return async () => expect(await d.commit()).toBe("settled");
    },
  };
}
type Fixture = Awaited<ReturnType<typeof createFixture>>;
type Begun = ReturnType<Awaited<ReturnType<typeof createSharedTransactionFixture>>["begin"]>;

/** No transaction ends because of its age. */
function stopTime() {
  const startMs = performance.now();
  return vi.spyOn(performance, "now").mockImplementation(() => startMs);
}

async function writeAlone(at: Fixture, claim: InboxClaim, name: string): Promise<void> {
  const alone = at.begin(claim, true);
  await at.write(alone.handle, name);
  expect(await alone.commit()).toBe("settled");
}

const takesLock = "SELECT pg_advisory_xact_lock(7)";

describeWithPostgres("turns of events in a shared transaction on PostgreSQL", () => {
  it.each([
    ["is sent behind the reset of the turn before", true, "SELECT 1", true],
    ["waits for the reset on a client that cannot pipeline", false, "SELECT 1", false],
    ["waits for the reset after a turn in which a statement failed", true, "SELECT 1 / 0", false],
  ])("the first statement %s", async (_, pipelines, statement, isBehind) => {
    using _time = stopTime();
    await using at = await createFixture({ pipelines });
    const letGo = await at.hold();
    await at.a.handle.query("SAVEPOINT mine");
    await at.a.handle.query(statement).catch(() => at.a.handle.query("ROLLBACK TO SAVEPOINT mine"));
    const written = at.write(at.b.handle, "b");
    const settled = at.a.commit();
    expect(await written).toBe("b");
    expect(await Promise.all([settled, at.b.commit()])).toEqual(["settled", "settled"]);
    await letGo();
    expect(at.log.indexOf("sent INSERT") < at.log.indexOf("done reset")).toBe(isBehind);
    expect(at.log.indexOf("sent reset")).toBeLessThan(at.log.indexOf("sent INSERT"));
    await expect.poll(() => at.pool.totalCount - at.pool.idleCount).toBe(0);
    const clients = await Promise.all(Array.from({ length: at.pool.idleCount }, () => at.pool.connect()));
    const states = clients.map((client) => (client as PoolClient & { pipeline?: unknown }).pipeline);
    for (const client of clients) client.release();
    expect(new Set(states)).toEqual(new Set([pipelines ? false : undefined]));
  });

  it.each([
    ["is repeated with the event behind it", true, "repeat"],
    ["is repeated alone on a client that cannot pipeline", false, "settled"],
  ])("an event whose reset fails %s, and each has its effects once", async (_, pipelines, outcome) => {
    using _time = stopTime();
    await using at = await createFixture({ pipelines });
    const letGo = await at.hold();
    await at.write(at.a.handle, "a");
    await at.a.handle.query(takesLock);
    const behind = at.write(at.b.handle, "b").then(
      () => at.b.commit(),
      async (error) => {
        expect(error).toMatchObject({ code: "TRANSACTION_ENDED" });
        return at.b.rollback();
      },
    );
    const later = at.write(at.c.handle, "c").then(() => at.c.commit());
    expect(await at.a.commit()).toBe("repeat");
    expect(await Promise.all([behind, later])).toEqual([outcome, "settled"]);
    await writeAlone(at, at.claimA, "a");
    if (outcome === "repeat") await writeAlone(at, at.claimB, "b");
    await letGo();
    expect((await at.effects()).names).toEqual(["a", "b", "c"]);
    // That of the first one twice; behind a reset that failed nothing is executed.
    expect(await at.executions()).toBe(4);
    expect(await Promise.all(at.claims.map(at.stateOf))).toEqual(Array(4).fill("done"));
  });

  it("an event keeps nothing that it sent behind a reset that failed, whatever its handler does with the error", async () => {
    using _time = stopTime();
    await using at = await createFixture();
    const letGo = await at.hold();
    await at.a.handle.query("SAVEPOINT mine");
    await at.write(at.a.handle, "a");
    await at.a.handle.query(takesLock);
    // The savepoint of the other event is still there: this one succeeds.
    const reviving = at.b.handle.query("ROLLBACK TO SAVEPOINT mine").catch((error) => error);
    const unawaited = at.c.handle.query("SELECT 1");
    expect(await at.a.commit()).toBe("repeat");
    expect(await reviving).toMatchObject({ code: "TRANSACTION_ENDED" });
    await expect(at.write(at.b.handle, "b")).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await at.b.commit()).toBe("repeat");
    await unawaited;
    expect(await at.c.commit()).toBe("settled");
    await letGo();
    expect((await at.effects()).names).toEqual([]);
  });

  it("an event whose handler did not wait for its statement is repeated when that was behind a reset that failed", async () => {
    using _time = stopTime();
    await using at = await createFixture();
    const letGo = await at.hold();
    await at.a.handle.query(takesLock);
    const unawaited = at.write(at.b.handle, "b").catch((error) => error);
    const outcomes = [at.a.commit(), at.b.commit()];
    expect(await Promise.all(outcomes)).toEqual(["repeat", "repeat"]);
    expect(await unawaited).toMatchObject({ code: "TRANSACTION_ENDED" });
    await letGo();
    expect((await at.effects()).names).toEqual([]);
  });

  it("a statement that waits for a lock behind a reset is cancelled, and the event before it is settled", async () => {
    await using at = await createFixture({ turnMs: 200 });
    const other = await at.pool.connect();
    await other.query(`BEGIN; INSERT INTO ${at.schema}.effects VALUES ('b')`);
    await at.hold();
    await at.write(at.a.handle, "a");
    const waiting = at.write(at.b.handle, "b").catch((error) => error);
    const settled = at.a.commit();
    expect(await waiting).toMatchObject({ code: "57014" });
    expect(await at.b.rollback()).toBe("repeat");
    expect(await settled).toBe("settled");
    await other.query("ROLLBACK");
    other.release();
    await writeAlone(at, at.claimB, "b");
    await at.d.rollback();
    expect((await at.effects()).names).toEqual(["a", "b"]);
  });

  it("an event that begins while the last reset is in progress shares the transaction", async () => {
    using _time = stopTime();
    await using at = await createFixture();
    const letGo = await at.hold();
    const xact = "SELECT pg_current_xact_id()::text AS xact";
    const first = await at.a.handle.query(xact);
    const settled = at.a.commit();
    // No response arrives between the tasks of one tick.
    for (let tasks = 0; tasks < 200; tasks++) await null;
    expect(at.log).toContain("sent reset");
    expect(at.log).not.toContain("done reset");
    expect(await at.b.handle.query(xact)).toEqual(first);
    expect(await Promise.all([settled, at.b.commit()])).toEqual(["settled", "settled"]);
    await letGo();
  });
});
