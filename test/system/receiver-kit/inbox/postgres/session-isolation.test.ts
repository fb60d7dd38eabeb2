// What one handler sets or leaves in its session, no other handler sees, also in a shared transaction.

import type { PostgresInboxOptions } from "@workspace-tasks/receiver-kit/postgres";
import pg, { type Pool } from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { InboxClaim } from "../../../../../receiver-kit/inbox/inbox.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { createSharedTransactionFixture } from "../../../../support/shared-transaction-fixture.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
beforeAll(async () => {
  database = await (await sharedPostgres()).database();
  await database.pool().query(`
    CREATE ROLE tenant_${roleSuffix}; GRANT ALL ON SCHEMA public TO tenant_${roleSuffix};
    CREATE FUNCTION leave(statement text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; END $$;
    CREATE FUNCTION set_tenant(tenant text) RETURNS void LANGUAGE sql
      AS $$ SELECT set_config('app.tenant', tenant, true) $$;
    CREATE TABLE triggering (name text);
    CREATE FUNCTION on_insert() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN PERFORM set_config('app.tenant', NEW.name, true); RETURN NEW; END $$;
    CREATE TRIGGER sets BEFORE INSERT ON triggering FOR EACH ROW EXECUTE FUNCTION on_insert()`);
});
const roleSuffix = Math.random().toString(36).slice(2, 10);
afterAll(() => database[Symbol.asyncDispose]());

const eventCount = 16;
const leavers = new Set([2, 6, 13]);
const leave = (statement: string) => `SELECT leave($left$${statement}$left$)`;
const tenant = "coalesce(current_setting('app.tenant', true), '')";
const heldLocks =
  "(SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())";
const temporaryObjects =
  "(SELECT count(*)::text FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relname = 'left_over')";
const preparedStatements = "(SELECT count(*)::text FROM pg_prepared_statements WHERE from_sql)";
const cursors = "(SELECT count(*)::text FROM pg_cursors WHERE name = 'left_over')";

async function createFixture(events: number, options: PostgresInboxOptions = {}) {
  const tasks = Array.from({ length: events }, (_, index) => `task-${String(index).padStart(3, "0")}`);
  const fixture = await createSharedTransactionFixture(database, tasks, { turnMs: 20_000, ...options });
  const { schema, pool, begin, claims } = fixture;
  await pool.query(`CREATE TABLE ${schema}.seen (name text, leaves boolean, xact xid8, value text);
    GRANT USAGE ON SCHEMA ${schema} TO tenant_${roleSuffix}; GRANT ALL ON ${schema}.seen TO tenant_${roleSuffix}`);
  const handle = async (claim: InboxClaim, statement: string | undefined, look: string, isAlone = false) => {
    const transaction = begin(claim, isAlone);
    let outcome: string | undefined;
    try {
      if (statement) await transaction.handle.query(statement);
      const record = `INSERT INTO ${schema}.seen VALUES ($1, $2, pg_current_xact_id(), ${look})`;
      await transaction.handle.query(record, [claim.id, statement !== undefined]);
      outcome = await transaction.commit();
    } catch (error) {
      outcome = await transaction.rollback();
      if (!outcome) throw error;
    }
    if (outcome === "repeat") return handle(claim, statement, look, true);
    expect(outcome).toBe("settled");
  };
  return {
    ...{ ...fixture, claims, handle },
    async seen(leaves: boolean) {
      const { rows } = await pool.query(
        `SELECT xact::text, value FROM ${schema}.seen WHERE leaves = $1 ORDER BY name`,
        [leaves],
      );
      return rows as readonly { readonly xact: string; readonly value: string }[];
    },
    executed: (text: string) => looksOfIdle(pool, text),
  };
}

/** What an expression returns on each idle client. */
async function looksOfIdle(pool: Pool, expression: string): Promise<readonly string[]> {
  const clients = await Promise.all(Array.from({ length: pool.idleCount }, () => pool.connect()));
  try {
    const values = clients.map(async (client) => {
      const { rows } = await client.query(`SELECT ${expression} AS value`);
      return rows[0].value as string;
    });
    return await Promise.all(values);
  } finally {
    for (const client of clients) client.release();
  }
}

/** All handlers at once; all but the first, which waits for the others, in one transaction. */
async function handleTogether(
  at: Awaited<ReturnType<typeof createFixture>>,
  statement: string,
  look: string,
): Promise<void> {
  // No transaction ends because of its age.
  const startMs = performance.now();
  using _time = vi.spyOn(performance, "now").mockImplementation(() => startMs);
  const [first, ...others] = at.claims as [InboxClaim, ...InboxClaim[]];
  const holding = at.begin(first);
  const held = holding.handle.query("SELECT 1");
  const handled = others.map((claim, index) =>
    at.handle(claim, leavers.has(index) ? statement : undefined, look),
  );
  await held;
  await Promise.all(handled);
  expect(await holding.commit()).toBe("settled");
}

const constant = (name: string) => `current_setting('${name}')`;

describeWithPostgres("sessions of handlers on PostgreSQL", () => {
  it.each([
    ["SET LOCAL in a function", leave("SET LOCAL app.tenant = 'a'"), tenant],
    ["set_config for the transaction", "SELECT set_config('app.tenant', 'a', true)", tenant],
    ["set_config for the transaction, in a function", "SELECT set_tenant('a')", tenant],
    ["set_config for the session", "SELECT set_config('app.tenant', 'a', false)", tenant],
    ["SET in a function", leave("SET app.tenant = 'a'"), tenant],
    ["set_config in a trigger", "INSERT INTO triggering SELECT 'a' FROM pg_backend_pid()", tenant],
    ["the search path", leave("SET search_path = pg_catalog"), constant("search_path")],
    ["the time zone", leave("SET TIME ZONE 'Asia/Tokyo'"), constant("TimeZone")],
    ["the role", leave(`SET ROLE tenant_${roleSuffix}`), "current_user::text"],
    [
      "the user of the session",
      leave(`SET SESSION AUTHORIZATION tenant_${roleSuffix}`),
      "session_user::text",
    ],
    [
      "a read-only transaction",
      leave("SET default_transaction_read_only = on"),
      constant("default_transaction_read_only"),
    ],
    ["an advisory lock of the session", "SELECT pg_advisory_lock(7)", heldLocks],
    ["a cursor", leave("DECLARE left_over CURSOR FOR SELECT 1"), cursors],
    [
      "a cursor that outlives the transaction",
      leave("DECLARE left_over CURSOR WITH HOLD FOR SELECT 1"),
      cursors,
    ],
    ["the place of a sequence", "SELECT nextval('public.places')", "place()"],
  ])("keep %s to the handler in a shared transaction", async (_, statement, look) => {
    await database.pool().query(`CREATE SEQUENCE IF NOT EXISTS public.places;
      CREATE OR REPLACE FUNCTION place() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
        RETURN currval('public.places')::text; EXCEPTION WHEN object_not_in_prerequisite_state THEN RETURN ''; END $$`);
    await using at = await createFixture(eventCount);
    const [clean] = await looksOfIdle(at.pool, look);
    await handleTogether(at, statement, look);
    const [others, leaving] = [await at.seen(false), await at.seen(true)];
    expect(others.map(({ value }) => value)).toEqual(Array(eventCount - 1 - leavers.size).fill(clean));
    // The control: they saw it themselves, and shared the transaction with the others.
    expect(leaving.map(({ value }) => value)).not.toContain(clean);
    expect(new Set([...others, ...leaving].map(({ xact }) => xact)).size).toBe(1);
    expect(new Set(await at.executed(look))).toEqual(new Set([clean]));
  });

  it.each([
    ["an advisory lock of the transaction", "SELECT pg_advisory_xact_lock(7)", heldLocks],
    ["a temporary table", leave("CREATE TEMP TABLE left_over (a int)"), temporaryObjects],
    [
      "a temporary table of the transaction",
      leave("CREATE TEMP TABLE left_over (a int) ON COMMIT DROP"),
      temporaryObjects,
    ],
    ["a table of SELECT INTO", "SELECT 1 AS a INTO TEMP left_over", temporaryObjects],
    ["a prepared statement", leave("PREPARE left_over AS SELECT 1"), preparedStatements],
    ["SET", "SET app.tenant = 'a'", tenant],
    ["SET LOCAL", "SET LOCAL app.tenant = 'a'", tenant],
    ["SET ROLE", `SET ROLE tenant_${roleSuffix}`, "current_user::text"],
    ["SET LOCAL ROLE", `SET LOCAL ROLE tenant_${roleSuffix}`, "current_user::text"],
    ["SET SESSION AUTHORIZATION", `SET SESSION AUTHORIZATION tenant_${roleSuffix}`, "session_user::text"],
    ["PREPARE", "PREPARE left_over AS SELECT 1", preparedStatements],
    ["CREATE TEMP TABLE", "CREATE TEMP TABLE left_over (a int)", temporaryObjects],
    ["DECLARE", "DECLARE left_over CURSOR WITH HOLD FOR SELECT 1", cursors],
    ["a DO block", "DO $$ BEGIN PERFORM set_config('app.tenant', 'a', false); END $$", tenant],
  ])("keep %s to the handler, which has a transaction of its own", async (_, statement, look) => {
    await using at = await createFixture(eventCount);
    const [clean] = await looksOfIdle(at.pool, look);
    await handleTogether(at, statement, look);
    const [others, leaving] = [await at.seen(false), await at.seen(true)];
    expect(others.map(({ value }) => value)).toEqual(Array(eventCount - 1 - leavers.size).fill(clean));
    expect(leaving.map(({ value }) => value)).not.toContain(clean);
    // The others still share theirs: one, and one more after each that was ended. The event behind a handler that left
    // something runs alone, too.
    expect(new Set(others.map(({ xact }) => xact)).size).toBeLessThanOrEqual(1 + 2 * leavers.size);
    expect(new Set([...others, ...leaving].map(({ xact }) => xact)).size).toBeGreaterThan(leavers.size);
    expect(new Set(await at.executed(look))).toEqual(new Set([clean]));
  });

  it.each([
    ["shared", leave("LISTEN left_over")],
    ["its own", "LISTEN left_over"],
  ])("listen to nothing after a handler that began to in a transaction that is %s", async (_, statement) => {
    const look = "(SELECT count(*)::text FROM pg_listening_channels())";
    await using at = await createFixture(eventCount);
    await handleTogether(at, statement, look);
    expect((await at.seen(false)).map(({ value }) => value)).not.toContain("1");
    expect(new Set(await at.executed(look))).toEqual(new Set(["0"]));
  });

  it("show none of 200 events the tenant that every second one sets by a function", async () => {
    await using at = await createFixture(200);
    const rows = at.claims.map((claim, index) => [claim, index] as const);
    const work = async () => {
      for (let next = rows.shift(); next; next = rows.shift()) {
        const [claim, index] = next;
        await at.handle(claim, index % 2 === 0 ? `SELECT set_tenant('tenant-${index}')` : undefined, tenant);
      }
    };
    await Promise.all(Array.from({ length: 16 }, work));
    const [others, setting] = [await at.seen(false), await at.seen(true)];
    expect(others.map(({ value }) => value)).toEqual(Array(100).fill(""));
    expect(new Set(setting.map(({ value }) => value)).size).toBe(100);
    // The control: they shared transactions.
    expect(new Set([...others, ...setting].map(({ xact }) => xact)).size).toBeLessThan(100);
  });

  it("are reset after a handler that failed", async () => {
    await using at = await createFixture(2);
    const [shared, own] = [at.begin(at.claims[0]!), at.begin(at.claims[1]!, true)];
    await shared.handle.query("SELECT pg_advisory_lock(7)");
    await shared.handle.query(leave("PREPARE left_over AS SELECT 1"));
    await own.handle.query("SELECT pg_advisory_lock(8)");
    await own.handle.query(leave("PREPARE left_over AS SELECT 1"));
    expect(await Promise.all([shared.rollback(), own.rollback()])).toEqual([undefined, undefined]);
    await expect.poll(() => at.pool.totalCount - at.pool.idleCount).toBe(0);
    expect(new Set(await at.executed(`${heldLocks} || ${preparedStatements}`))).toEqual(new Set(["00"]));
  });

  it("stay connected when a handler makes its transaction read-only", async () => {
    await using at = await createFixture(3);
    await Promise.all(at.claims.map((claim) => at.handle(claim, undefined, "''", true)));
    const pids = async () => {
      await expect.poll(() => at.pool.totalCount - at.pool.idleCount).toBe(0);
      return at.executed("pg_backend_pid()::text");
    };
    const before = await pids();
    expect(before.length).toBeGreaterThan(1);
    await at.insert(["own", "shared"]);
    const [own, shared] = (await at.claim()).map((claim, index) => at.begin(claim, index === 0));
    await own!.handle.query("SET TRANSACTION READ ONLY");
    await expect(own!.commit()).rejects.toMatchObject({ code: "25006" });
    await own!.rollback();
    await shared!.handle.query("SELECT set_config('transaction_read_only', 'on', true)");
    expect(await shared!.commit()).toBe("repeat");
    expect(await pids()).toEqual(expect.arrayContaining([...before]));
  });

  it("keep parsers, listeners and fields that a handler sets on its client to that handler", async () => {
    await using at = await createFixture(1);
    const own = at.begin(at.claims[0]!, true);
    const client = (await own.handle.client()) as unknown as pg.Client & { tenant?: string };
    client.setTypeParser(25, () => "parsed");
    client.on("notice", () => {});
    client.tenant = "a";
    const { rows } = await client.query("SELECT 'a' AS a, pg_backend_pid() AS pid");
    expect(rows[0].a).toBe("parsed");
    expect([client.tenant, client.listenerCount("notice")]).toEqual(["a", 2]);
    expect(await own.commit()).toBe("settled");
    const next = (await at.pool.connect()) as pg.PoolClient & { tenant?: string };
    const seen = await next.query("SELECT 'a' AS a, pg_backend_pid() AS pid");
    next.release();
    expect(seen.rows).toEqual([{ ...rows[0], a: "a" }]);
    expect([next.tenant, next.listenerCount("notice")]).toEqual([undefined, 1]);
  });

  it("keep the names of statements to the handler whose client prepares them", async () => {
    await using at = await createFixture(2);
    const seen: unknown[] = [];
    for (const [index, claim] of at.claims.entries()) {
      const own = at.begin(claim, true);
      const client = (await own.handle.client()) as unknown as pg.Client;
      const text = `SELECT ${index} AS index, pg_backend_pid() AS pid`;
      seen.push((await client.query({ name: "named", text })).rows[0]);
      expect(await own.commit()).toBe("settled");
    }
    const [first] = seen as [{ pid: number }];
    expect(seen).toEqual([0, 1].map((index) => ({ index, pid: first.pid })));
    expect(await at.executed("(SELECT count(*)::text FROM pg_prepared_statements)")).toContain("0");
  });

  it("show the inbox its rows as it stored them, whatever parsers of types the application has set", async () => {
    const { binary } = pg.defaults;
    const own = [16, 17, 20, 21, 23, 25, 1016].map((type) => [type, pg.types.getTypeParser(type)] as const);
    pg.defaults.binary = true;
    for (const [type] of own) pg.types.setTypeParser(type, () => "of the application");
    try {
      await using at = await createFixture(3);
      const [first, second] = at.claims;
      expect(first).toMatchObject({ orderKey: expect.stringContaining("task-000"), attempts: 1, head: null });
      expect(Buffer.from(first!.body).toString()).toContain("task-000");
      await at.handle(first!, undefined, "''");
      const own = at.begin(second!, true);
      await own.handle.query("SELECT 1");
      expect(await own.commit()).toBe("settled");
      expect(await at.stateOf(second!)).toBe("done");
    } finally {
      pg.defaults.binary = binary;
      for (const [type, parse] of own) pg.types.setTypeParser(type, parse as (value: string) => unknown);
    }
  });

  it("are not shared in a database with deferrable constraints, so that each handler has its own modes", async () => {
    await using at = await createFixture(eventCount);
    await at.pool.query(`CREATE TABLE ${at.schema}.deferring (a int UNIQUE DEFERRABLE)`);
    const violate = `INSERT INTO ${at.schema}.deferring VALUES (1), (1)`;
    const fails = "(SELECT count(*)::text FROM pg_trigger WHERE tgdeferrable)";
    const [deferring, other] = [at.begin(at.claims[0]!), at.begin(at.claims[1]!)];
    await expect(deferring.handle.query("SELECT 1")).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await deferring.rollback()).toBe("repeat");
    await other.rollback();
    const alone = at.begin(at.claims[0]!, true);
    await alone.handle.query(leave("SET CONSTRAINTS ALL DEFERRED"));
    await alone.handle.query(violate);
    await alone.rollback();
    const next = at.begin(at.claims[1]!);
    await expect(next.handle.query(violate)).rejects.toMatchObject({ code: "23505" });
    expect(next.isExclusive).toBe(true);
    await next.rollback();
    await handleTogether(at, "SELECT 1", fails);
    expect(new Set((await at.seen(false)).map(({ xact }) => xact)).size).toBe(eventCount - 1 - leavers.size);
    await at.pool.query(`DROP TABLE ${at.schema}.deferring`);
  });

  it.each([
    ["keep what their pool sets when it connects, and are not shared", undefined, true, "receiver"],
    ["lose what their pool sets when it connects, and are shared, where they may be reset", true, false, ""],
  ])("%s", async (_, resetSessions, isExclusive, left) => {
    const pool = database.pool();
    pool.on("connect", (client) => void client.query("SET app.service = 'receiver'"));
    const service = "coalesce(current_setting('app.service', true), '')";
    await using at = await createSharedTransactionFixture(database, ["a"], { resetSessions }, pool);
    const transaction = at.begin(at.claims[0]!);
    const look = `SELECT ${service} AS name, pg_backend_pid() AS pid`;
    const [row] = await transaction.handle.query(look);
    expect(row?.["name"]).toBe("receiver");
    expect(transaction.isExclusive).toBe(isExclusive);
    expect(await transaction.commit()).toBe("settled");
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
    const idle = await looksOfIdle(pool, `pg_backend_pid() || ${service}`);
    expect(idle).toContain(`${row?.["pid"]}${left}`);
  });
});
