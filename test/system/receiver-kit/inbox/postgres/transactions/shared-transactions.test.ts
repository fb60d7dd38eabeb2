import type { PostgresInboxOptions, PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { InboxClaim } from "../../../../../../receiver-kit/inbox/inbox.ts";
import { claimOptions, runningAt } from "../../../../../support/inbox-rows.ts";
import { seeded } from "../../../../../support/latency.ts";
import type { PostgresDatabase } from "../../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../../support/shared-server.ts";
import { createSharedTransactionFixture } from "../../../../../support/shared-transaction-fixture.ts";
import { describeWithPostgres } from "../../../../../support/with-postgres.ts";

let database: PostgresDatabase;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

async function createFixture(options: PostgresInboxOptions = {}) {
  const fixture = await createSharedTransactionFixture(database, ["a", "b", "c"], options);
  const { begin, write, claims, effects: kept } = fixture;
  const [a, b, c] = claims as readonly [InboxClaim, InboxClaim, InboxClaim];
  return {
    ...{ ...fixture, kept, a, b, c },
    /** What a handler does that only writes. */
    async handle(claim: InboxClaim, name: string, isAlone = false) {
      const transaction = begin(claim, isAlone);
      try {
        await write(transaction.handle, name);
      } catch (error) {
        return { repeats: await transaction.rollback(), error };
      }
      return { outcome: await transaction.commit() };
    },
  };
}

describeWithPostgres("transactions that events share on PostgreSQL", () => {
  it("commit the writes, the ends and the heads of their events at once", async () => {
    await using at = await createFixture();
    const outcomes = [at.handle(at.a, "a"), at.handle(at.b, "b"), at.handle(at.c, "c")];
    expect(await Promise.all(outcomes)).toEqual(Array(3).fill({ outcome: "settled" }));
    const { names, transactions } = await at.kept();
    expect(names).toEqual(["a", "b", "c"]);
    expect(transactions).toBeLessThanOrEqual(2);
    for (const claim of [at.a, at.b, at.c]) {
      expect(await at.stateOf(claim)).toBe("done");
      expect(await at.inbox.head("default", claim.orderKey!)).toMatchObject({ position: claim.position });
    }
  });

  it("are not shared when eventsPerTransactionMax is 1", async () => {
    await using at = await createFixture({ eventsPerTransactionMax: 1 });
    await Promise.all([at.handle(at.a, "a"), at.handle(at.b, "b"), at.handle(at.c, "c")]);
    expect(await at.kept()).toEqual({ names: ["a", "b", "c"], transactions: 3 });
  });

  it("fail an event whose handler ignores that a statement failed, and commit the others", async () => {
    await using at = await createFixture();
    const careless = at.begin(at.a);
    await at.write(careless.handle, "a");
    await careless.handle.query("SELECT 1 / 0").catch(() => {});
    await expect(careless.handle.query("SELECT 2")).rejects.toMatchObject({
      ...{ code: "TRANSACTION_ABORTED", message: expect.stringContaining('"SELECT …" (SQLSTATE 22012)') },
    });
    const others = at.handle(at.b, "b");
    await expect(careless.commit()).rejects.toMatchObject({ code: "TRANSACTION_ABORTED" });
    await careless.rollback();
    expect(await others).toEqual({ outcome: "settled" });
    expect((await at.kept()).names).toEqual(["b"]);
  });

  it("keep an event whose handler rolled a failed statement back to a savepoint of its own", async () => {
    await using at = await createFixture();
    const transaction = at.begin(at.a);
    await at.write(transaction.handle, "a");
    await transaction.handle.query("SAVEPOINT mine");
    await expect(at.write(transaction.handle, "a")).rejects.toThrow("duplicate key");
    await transaction.handle.query("ROLLBACK TO mine");
    expect(await transaction.commit()).toBe("settled");
    expect((await at.kept()).names).toEqual(["a"]);
  });

  it("let an event go whose turn takes too long: it alone runs again, and later events of its name are shared", async () => {
    // On a busy machine the turns of the others take long.
    await using at = await createFixture({ turnMs: 1_500 });
    const slow = at.begin(at.a);
    await at.write(slow.handle, "a");
    const others = await Promise.all([at.handle(at.b, "b"), at.handle(at.c, "c")]);
    expect(others).toEqual([{ outcome: "settled" }, { outcome: "settled" }]);
    const isLate = () =>
      slow.handle.query("SELECT 1").then(
        () => false,
        () => true,
      );
    await expect.poll(isLate).toBe(true);
    await expect(at.write(slow.handle, "late")).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await slow.commit()).toBe("repeat");
    expect((await at.kept()).names).toEqual(["b", "c"]);
    expect(await at.handle(at.a, "a", true)).toEqual({ outcome: "settled" });

    await at.inbox.insert(runningAt("later", 1));
    const later = at.begin((await at.inbox.claim(claimOptions())).claims[0]!);
    await at.write(later.handle, "later");
    expect(later.isExclusive).toBe(false);
    expect(await later.commit()).toBe("settled");
    expect(await at.executions()).toBe(5);
  });

  it("cancel a statement that waits for a lock, and its event runs again alone", async () => {
    await using at = await createFixture({ turnMs: 100 });
    const other = await at.pool.connect();
    await other.query(`BEGIN; INSERT INTO ${at.schema}.effects VALUES ('a')`);
    const waiting = await at.handle(at.a, "a");
    expect(waiting).toMatchObject({ repeats: "repeat", error: { code: "57014" } });
    await other.query("ROLLBACK");
    other.release();
    expect(await at.handle(at.a, "a", true)).toEqual({ outcome: "settled" });
  });

  it("cancel a statement whose handler has switched the time limit of statements off", async () => {
    await using at = await createFixture({ turnMs: 100 });
    const hanging = at.begin(at.a);
    await hanging.handle.query("SELECT set_config('statement_timeout', '0', true)");
    await expect(hanging.handle.query("SELECT pg_sleep(60)")).rejects.toMatchObject({ code: "57014" });
    expect(await hanging.rollback()).toBe("repeat");
    expect(await at.handle(at.b, "b")).toEqual({ outcome: "settled" });
  });

  it("are READ COMMITTED where the database has a stricter default, and so is what stores and claims", async () => {
    await using strict = await (await sharedPostgres()).database({
      default_transaction_isolation: "serializable",
    });
    await using at = await createSharedTransactionFixture(strict, ["a", "b"]);
    const level = "current_setting('transaction_isolation')";
    await at.pool.query(`CREATE TABLE ${at.schema}.seen (level text);
      CREATE FUNCTION ${at.schema}.see() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN INSERT INTO ${at.schema}.seen VALUES (${level}); RETURN NEW; END $$;
      CREATE TRIGGER see BEFORE INSERT OR UPDATE ON ${at.schema}.ordering_keys
        FOR EACH ROW EXECUTE FUNCTION ${at.schema}.see()`);
    await at.insert(["c"]);
    for (const [index, claim] of at.claims.entries()) {
      const transaction = at.begin(claim, index === 0);
      expect(await transaction.handle.query(`SELECT ${level} AS level`)).toEqual([
        { level: "read committed" },
      ]);
      expect(await transaction.commit()).toBe("settled");
    }
    const { rows } = await at.pool.query(
      `SELECT level, count(*) > 2 AS several FROM ${at.schema}.seen GROUP BY level`,
    );
    expect(rows).toEqual([{ level: "read committed", several: true }]);
  });

  it.each([
    ["SET LOCAL application_name = 'mine'", "SET"],
    ["LOCK TABLE pg_catalog.pg_class IN ACCESS SHARE MODE", "LOCK"],
  ])("are not shared with a handler that begins with %s", async (statement) => {
    await using at = await createFixture();
    const transaction = at.begin(at.a);
    await transaction.handle.query(statement);
    expect(transaction.isExclusive).toBe(true);
    const shared = at.begin(at.b);
    const [row] = await shared.handle.query("SELECT current_setting('application_name') AS name");
    expect(row).not.toEqual({ name: "mine" });
    expect(shared.isExclusive).toBe(false);
    expect(await Promise.all([transaction.commit(), shared.commit()])).toEqual(["settled", "settled"]);
  });

  it.each([
    ["uses the client", (handle: PostgresTransaction) => handle.client()],
    ["sets something", (handle: PostgresTransaction) => handle.query("SET LOCAL application_name = 'mine'")],
  ])("let an event go whose handler %s after it wrote", async (_, use) => {
    await using at = await createFixture();
    const transaction = at.begin(at.a);
    await at.write(transaction.handle, "a");
    await expect(use(transaction.handle)).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await transaction.commit()).toBe("repeat");
    expect((await at.kept()).names).toEqual([]);
  });

  it("commit nothing when the lease of one event was lost: all run again alone, and only that one is lost", async () => {
    await using at = await createFixture({ turnMs: 20_000 });
    // The transaction does not end because of its age, and the other one that may run at a time is in use.
    const startMs = performance.now();
    using _time = vi.spyOn(performance, "now").mockImplementation(() => startMs);
    const holding = at.begin(at.c);
    await at.write(holding.handle, "c");
    const [first, lost] = [at.begin(at.a), at.begin(at.b)];
    const writing = [at.write(first.handle, "a"), at.write(lost.handle, "b")];
    await writing[0];
    const settled = first.commit();
    await writing[1];
    await at.pool.query(`UPDATE ${at.schema}.ordering_keys SET generation = generation + 1 WHERE id = $1`, [
      at.b.lease.keyId,
    ]);
    expect(await Promise.all([settled, lost.commit()])).toEqual(["repeat", "repeat"]);
    expect(await holding.commit()).toBe("settled");
    expect(await at.handle(at.b, "b", true)).toMatchObject({ error: { code: "LEASE_LOST" } });
    expect(await at.handle(at.a, "a", true)).toEqual({ outcome: "settled" });
    expect((await at.kept()).names).toEqual(["a", "c"]);
  });

  it("settle each event once when their connection dies", async () => {
    await using at = await createFixture();
    const first = at.begin(at.a);
    const [backend] = await first.handle.query("SELECT pg_backend_pid() AS pid");
    await at.write(first.handle, "a");
    const second = at.handle(at.b, "b");
    const third = at.handle(at.c, "c");
    await at.pool.query("SELECT pg_terminate_backend($1, 10000)", [backend?.["pid"]]);
    await expect(first.handle.query("SELECT 1")).rejects.toThrow();
    expect(await first.commit()).toBe("repeat");
    expect(await at.handle(at.a, "a", true)).toEqual({ outcome: "settled" });
    expect(await Promise.all([second, third])).toEqual(Array(2).fill({ outcome: "settled" }));
    expect((await at.kept()).names).toEqual(["a", "b", "c"]);
  });

  it("take no turn on a connection that died in the turn before", async () => {
    await using at = await createFixture();
    // The transaction does not end because of its age.
    const startMs = performance.now();
    using _time = vi.spyOn(performance, "now").mockImplementation(() => startMs);
    // Both transactions that may run at a time.
    const [first, second] = [at.begin(at.a), at.begin(at.b)];
    const [backend] = await first.handle.query("SELECT pg_backend_pid() AS pid");
    await at.write(second.handle, "b");
    const third = at.handle(at.c, "c");
    await at.pool.query("SELECT pg_terminate_backend($1, 10000)", [backend?.["pid"]]);
    await expect(first.handle.query("SELECT 1")).rejects.toThrow();
    expect(await first.commit()).toBe("repeat");
    expect(await third).toEqual({ outcome: "settled" });
    expect(await second.commit()).toBe("settled");
    expect((await at.kept()).names).toEqual(["b", "c"]);
  });

  it("return their client to the pool, whatever happened", async () => {
    await using at = await createFixture();
    const discarded = at.begin(at.a);
    await at.write(discarded.handle, "a");
    await discarded.rollback();
    await at.handle(at.b, "b");
    await expect.poll(() => at.pool.totalCount - at.pool.idleCount).toBe(0);
    await expect(discarded.handle.query("SELECT 1")).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
  });

  it.each([
    ["in a shared transaction", false],
    ["in a transaction of its own", true],
  ])("say which statement failed when a handler caught its error %s", async (_, isAlone) => {
    await using at = await createFixture();
    const transaction = at.begin(at.a, isAlone);
    await at.write(transaction.handle, "a");
    const statement = `INSERT INTO ${at.schema}.effects (name) VALUES ('a') -- secret`;
    await transaction.handle.query(statement).catch(() => {});
    await transaction.handle.query("SELECT 1").catch(() => {});
    await expect(transaction.commit()).rejects.toThrow(
      /^PostgreSQL had aborted the transaction of this event, because "INSERT INTO shared_\d+\.effects …" \(SQLSTATE 23505\) failed and the handler caught the error/,
    );
    expect(await transaction.rollback()).toBeUndefined();
    expect((await at.kept()).names).toEqual([]);
  });

  it("fail one event only when a value cannot be sent", async () => {
    await using at = await createFixture();
    const circular: Record<string, unknown> = {};
    circular["itself"] = circular;
    const query = async (values: unknown) => {
      const failing = at.begin(at.b);
      const error = await failing.handle
        .query(`INSERT INTO ${at.schema}.effects VALUES ($1)`, values as unknown[])
        .catch(String);
      // Whether the connection can still be used is not known.
      expect(await failing.rollback()).toBe("repeat");
      return error;
    };
    const outcomes = [at.handle(at.a, "a"), query([circular]), at.handle(at.c, "c")];
    const failed = expect.stringContaining("circular");
    expect(await Promise.all(outcomes)).toEqual([{ outcome: "settled" }, failed, { outcome: "settled" }]);
    expect(await query("b")).toContain("array");
    expect((await at.kept()).names).toEqual(["a", "c"]);
  });

  it("have no effect when their event ended before its turn", async () => {
    await using at = await createFixture({ turnMs: 20_000 });
    const [a, b, c] = [at.begin(at.a), at.begin(at.b), at.begin(at.c)];
    await Promise.all([at.write(a.handle, "a"), at.write(b.handle, "b")]);
    const waiting = at.write(c.handle, "c");
    // As after its time limit.
    await c.rollback();
    await expect(waiting).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await Promise.all([a.commit(), b.commit()])).toEqual(["settled", "settled"]);
    expect((await at.kept()).names).toEqual(["a", "b"]);
    expect(await at.executions()).toBe(2);
  });

  it("of an event that deadlocked run again, once, also when it had a transaction of its own", async () => {
    await using at = await createFixture();
    await at.pool.query(`INSERT INTO ${at.schema}.effects VALUES ('x'), ('y')`);
    const lock = async (handle: PostgresTransaction, name: string) =>
      handle.query(`SELECT FROM ${at.schema}.effects WHERE name = $1 FOR UPDATE`, [name]);
    const outcomesOf = async (isAlone: boolean) => {
      const [first, second] = [at.begin(at.a, isAlone), at.begin(at.b, isAlone)];
      // It makes a transaction its own.
      await Promise.all([first.handle.client(), second.handle.client()]);
      await Promise.all([lock(first.handle, "x"), lock(second.handle, "y")]);
      const errors = await Promise.all(
        [lock(first.handle, "y"), lock(second.handle, "x")].map(async (locking, index) => {
          const code = await locking.then(
            () => undefined,
            (error) => error.code,
          );
          return { code, repeats: await [first, second][index]?.rollback() };
        }),
      );
      return errors.filter(({ code }) => code !== undefined);
    };
    expect(await outcomesOf(false)).toEqual([{ code: "40P01", repeats: "repeat" }]);
    expect(await outcomesOf(true)).toEqual([{ code: "40P01", repeats: undefined }]);
  });

  it("keep the effects of the events that are settled and no others, and execute each statement once", async () => {
    const tasks = Array.from({ length: 150 }, (_, index) => `task-${String(index).padStart(3, "0")}`);
    await using at = await createSharedTransactionFixture(database, tasks);
    const random = seeded(7);
    const expected: string[] = [];
    const outcomes: Record<string, number> = {};
    let statements = 0;
    const count = (outcome: string) => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    };
    const handle = async (claim: InboxClaim, index: number) => {
      const transaction = at.begin(claim);
      const written: string[] = [];
      try {
        const writes = random() < 0.7 ? 1 : 2 + Math.floor(random() * 2);
        for (let n = 0; n < writes; n++) {
          const name = `${index}-${n}`;
          statements += 1;
          expect(await at.write(transaction.handle, name)).toBe(name);
          written.push(name);
          if (random() < 0.2) await new Promise((resolve) => setTimeout(resolve, random() * 3));
        }
        if (random() < 0.1) await transaction.handle.query("SELECT 1 / 0");
        if (random() < 0.1) throw new Error("the handler failed");
      } catch {
        return count((await transaction.rollback()) ?? "failed");
      }
      const outcome = await transaction.commit();
      count(outcome);
      if (outcome === "settled") expected.push(...written);
    };
    const rows = at.claims.map((claim, index) => [claim, index] as const);
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let next = rows.shift(); next; next = rows.shift()) await handle(...next);
      }),
    );
    expect((await at.effects()).names).toEqual(expected.sort());
    expect(outcomes["settled"]).toBeGreaterThan(80);
    expect(outcomes["failed"]).toBeGreaterThan(8);
    expect(await at.executions()).toBe(statements);
  });
});
