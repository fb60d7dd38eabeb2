// Events whose statements leave nothing in the session: their transactions need no reset, and their turns overlap.

import type { PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import type { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { InboxClaim } from "../../../../../../receiver-kit/inbox/inbox.ts";
import { isPlainStatement } from "../../../../../../receiver-kit/inbox/postgres/sql/plain-statement.ts";
import type { PostgresDatabase } from "../../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../../support/shared-server.ts";
import { createSharedTransactionFixture } from "../../../../../support/shared-transaction-fixture.ts";
import { describeWithPostgres } from "../../../../../support/with-postgres.ts";

let database: PostgresDatabase;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
  await database.pool().query(`
    CREATE FUNCTION set_tenant(tenant text) RETURNS text LANGUAGE plpgsql STABLE
      AS $$ BEGIN RETURN set_config('app.tenant', tenant, true); END $$`);
});
afterAll(() => database[Symbol.asyncDispose]());

const tasks = Array.from({ length: 40 }, (_, index) => `task-${String(index).padStart(2, "0")}`);

/** The end of one turn or group in a shared transaction. */
interface End {
  readonly kind: "reset" | "plain";
  /** Sent in the transaction until then. */
  readonly texts: readonly string[];
}

function observe(pool: Pool, ends: End[]): void {
  pool.on("connect", (client) => {
    let texts: string[] = [];
    const send = client.query.bind(client) as (...values: unknown[]) => unknown;
    const observed = (...values: unknown[]) => {
      const [query] = values as [string | { readonly text: string }];
      const text = typeof query === "string" ? query : query.text;
      if (text.startsWith("BEGIN")) texts = [];
      if (text.includes("RELEASE SAVEPOINT"))
        ends.push({ kind: text.includes("reset_session") ? "reset" : "plain", texts: [...texts] });
      texts.push(text);
      return send(...values);
    };
    client.query = observed as typeof client.query;
  });
}

type Handler = (handle: PostgresTransaction, claim: InboxClaim) => Promise<unknown>;

async function createFixture() {
  const ends: End[] = [];
  const pool = database.pool();
  observe(pool, ends);
  const options = { turnMs: 20_000, resetSessions: true };
  const fixture = await createSharedTransactionFixture(database, tasks, options, pool);
  const rest = [...fixture.claims];
  const { begin, write } = fixture;
  const handle = async (claim: InboxClaim, handler: Handler, isAlone = false): Promise<void> => {
    const transaction = begin(claim, isAlone);
    const outcome = await handler(transaction.handle, claim).then(
      () => transaction.commit(),
      (error) => transaction.rollback().then((repeats) => repeats ?? Promise.reject(error)),
    );
    if (outcome.startsWith("repeat")) return handle(claim, handler, true);
    expect(outcome).toBe("settled");
  };
  const take = (count: number) => rest.splice(0, count);
  return {
    ...fixture,
    /** Of turns since it was last read, in whose transaction a text was sent. */
    readEnds: (sent = "") =>
      ends
        .splice(0)
        .filter(({ texts }) => texts.some((text) => text.includes(sent)))
        .map(({ kind }) => kind),
    /** One of the two transactions that may run at a time, so that all other events share one. */
    async hold() {
      const holding = begin(take(1)[0]!);
      await holding.handle.query("SELECT pg_sleep(0)");
      return async () => expect(await holding.commit()).toBe("settled");
    },
    take,
    /** All of them at once. */
    handleAll: (claims: readonly InboxClaim[], handler: Handler) =>
      Promise.all(claims.map((claim) => handle(claim, handler))),
    /** So that it is known what `write` leaves. */
    async learn() {
      await handle(take(1)[0]!, (transaction, claim) => write(transaction, claim.id));
    },
  };
}
type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** Three events whose handlers have written, and have not ended. */
async function writeTogether(at: Fixture) {
  const claims = at.take(3);
  const begun = claims.map((claim) => at.begin(claim));
  await Promise.all(begun.map(({ handle }, index) => at.write(handle, claims[index]!.id)));
  return { claims, begun: begun as [Begun, Begun, Begun] };
}
type Begun = ReturnType<Fixture["begin"]>;

/** Whether the statement of an event waits until the handler of the one before it has ended. */
async function isSecondWaiting(at: Fixture): Promise<boolean> {
  const [a, b] = at.take(2) as [InboxClaim, InboxClaim];
  const [first, second] = [at.begin(a), at.begin(b)];
  let isWaiting = true;
  const written = at.write(first.handle, a.id);
  const writing = at.write(second.handle, b.id).then(() => {
    isWaiting = false;
  });
  await written;
  await at.pool.query("SELECT pg_sleep(0.05)");
  const wasWaiting = isWaiting;
  const outcomes = Promise.all([first.commit(), writing.then(() => second.commit())]);
  expect(await outcomes).toEqual(["settled", "settled"]);
  return wasWaiting;
}

/** What runs by a plain statement on a table `hiding`; `{s}` is the schema of the test. */
const hidden = [
  [
    "a trigger",
    `CREATE FUNCTION {s}.on_insert() RETURNS trigger LANGUAGE plpgsql
       AS $$ BEGIN PERFORM set_config('app.tenant', 'a', true); RETURN NEW; END $$;
     CREATE TRIGGER sets BEFORE INSERT ON {s}.hiding FOR EACH ROW EXECUTE FUNCTION {s}.on_insert()`,
  ],
  ["a rule", "CREATE RULE sets AS ON INSERT TO {s}.hiding DO ALSO SELECT set_tenant('a')"],
  [
    "a policy",
    `ALTER TABLE {s}.hiding ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
     CREATE POLICY sets ON {s}.hiding WITH CHECK (set_tenant('a') = 'a')`,
  ],
  ["a function in a default", "ALTER TABLE {s}.hiding ADD COLUMN tenant text DEFAULT set_tenant('a')"],
  [
    "set_config in a default",
    "ALTER TABLE {s}.hiding ADD COLUMN tenant text DEFAULT set_config('app.tenant', 'a', true)",
  ],
  ["a function in a check", "ALTER TABLE {s}.hiding ADD CHECK (set_tenant('a') = 'a')"],
  [
    "a function in an index",
    `CREATE FUNCTION {s}.indexed(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
       AS $$ BEGIN RETURN set_config('app.tenant', 'a', true); END $$;
     CREATE INDEX ON {s}.hiding ({s}.indexed(name))`,
  ],
  [
    "a domain",
    `CREATE DOMAIN {s}.checked AS text CHECK (set_tenant('a') = 'a');
     ALTER TABLE {s}.hiding ADD COLUMN tenant {s}.checked DEFAULT 'a'`,
  ],
  [
    "a view",
    "ALTER TABLE {s}.hiding RENAME TO hidden; CREATE VIEW {s}.hiding AS SELECT name FROM {s}.hidden",
  ],
  [
    "a cascade to a table with a trigger",
    `CREATE TABLE {s}.parents (name text PRIMARY KEY);
     CREATE FUNCTION {s}.on_delete() RETURNS trigger LANGUAGE plpgsql
       AS $$ BEGIN PERFORM set_config('app.tenant', 'a', true); RETURN OLD; END $$;
     CREATE TABLE {s}.children (name text REFERENCES {s}.parents ON DELETE CASCADE);
     CREATE TRIGGER sets BEFORE DELETE ON {s}.children FOR EACH ROW EXECUTE FUNCTION {s}.on_delete();
     INSERT INTO {s}.parents SELECT 'task-' || to_char(n, 'FM00') FROM generate_series(0, 40) AS n;
     INSERT INTO {s}.children SELECT name FROM {s}.parents`,
    "DELETE FROM {s}.parents WHERE name = left($1, 7)",
  ],
  [
    "a function with the name of a built-in one",
    `CREATE FUNCTION public.lower(varchar) RETURNS text LANGUAGE sql AS $$ SELECT set_tenant('a') $$`,
    "INSERT INTO {s}.hiding SELECT lower($1::varchar)",
  ],
  [
    "a function that reads as a column",
    `CREATE FUNCTION public.tenant({s}.hiding) RETURNS text LANGUAGE sql AS $$ SELECT set_tenant('a') $$;
     INSERT INTO {s}.hiding VALUES ('a')`,
    "SELECT each.tenant FROM {s}.hiding AS each WHERE each.name <> $1",
  ],
  [
    "an operator",
    `CREATE FUNCTION {s}.combine(text, integer) RETURNS boolean LANGUAGE sql AS $$ SELECT set_tenant('a') = 'a' $$;
     CREATE OPERATOR public.<<<< (LEFTARG = text, RIGHTARG = integer, FUNCTION = {s}.combine)`,
    "INSERT INTO {s}.hiding SELECT $1::text WHERE 'a'::text <<<< 1",
  ],
  [
    "the default of a domain",
    `CREATE DOMAIN {s}.defaulting AS text DEFAULT set_tenant('a');
     ALTER TABLE {s}.hiding ADD COLUMN tenant {s}.defaulting`,
  ],
  [
    "a function of a domain that reads as a column",
    `CREATE TYPE {s}.pairs AS (a text, b text); CREATE DOMAIN {s}.named_pair AS {s}.pairs;
     CREATE FUNCTION public.tenant({s}.named_pair) RETURNS text LANGUAGE sql AS $$ SELECT set_tenant('a') $$;
     ALTER TABLE {s}.hiding ADD COLUMN pair {s}.named_pair; INSERT INTO {s}.hiding VALUES ('a', ('a', 'b'))`,
    "SELECT (each.pair).tenant FROM {s}.hiding AS each WHERE each.name <> $1",
  ],
  [
    "a variadic function that reads as a column",
    `CREATE FUNCTION public.tenant(VARIADIC {s}.hiding[]) RETURNS text LANGUAGE sql AS $$ SELECT set_tenant('a') $$;
     INSERT INTO {s}.hiding VALUES ('a')`,
    "SELECT each.tenant FROM {s}.hiding AS each WHERE each.name <> $1",
  ],
  [
    "a function in the key of the partitions that a row is written to directly",
    `DROP TABLE {s}.hiding;
     CREATE FUNCTION {s}.part_of(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
       AS $$ BEGIN RETURN set_config('app.tenant', 'a', true); END $$;
     CREATE TABLE {s}.whole (name text) PARTITION BY LIST ({s}.part_of(name));
     CREATE TABLE {s}.hiding PARTITION OF {s}.whole FOR VALUES IN ('a')`,
  ],
  [
    "a cast",
    `CREATE TYPE {s}.pair AS (a text, b text);
     CREATE FUNCTION {s}.to_pair(text) RETURNS {s}.pair LANGUAGE plpgsql
       AS $$ BEGIN PERFORM set_tenant('a'); RETURN row($1, $1)::{s}.pair; END $$;
     CREATE CAST (text AS {s}.pair) WITH FUNCTION {s}.to_pair(text)`,
    "INSERT INTO {s}.hiding SELECT ($1::text::{s}.pair).a",
  ],
] as const;

describeWithPostgres("plain transactions on PostgreSQL", () => {
  it("have the turns of several events together, once it is known what their statements leave", async () => {
    await using at = await createFixture();
    // The control: before that, the second one waits for the end of the first.
    const letGo = await at.hold();
    expect(await isSecondWaiting(at)).toBe(true);
    await at.learn();
    at.readEnds();
    const { claims, begun } = await writeTogether(at);
    expect(await Promise.all(begun.map((each) => each.commit()))).toEqual(Array(3).fill("settled"));
    expect(at.readEnds()).toEqual(["plain"]);
    expect((await at.effects()).names).toEqual(expect.arrayContaining(claims.map(({ id }) => id)));
    expect(await Promise.all(claims.map(at.stateOf))).toEqual(Array(3).fill("done"));
    expect(await isSecondWaiting(at)).toBe(false);
    await letGo();
  });

  it("give a handler that sends a second statement its own turn later", async () => {
    await using at = await createFixture();
    await at.learn();
    const { begun } = await writeTogether(at);
    await expect(begun[1].handle.query("SELECT 1")).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    await Promise.all([begun[0].commit(), begun[1].rollback(), begun[2].commit()]);
    const letGo = await at.hold();
    expect(await isSecondWaiting(at)).toBe(true);
    await letGo();
  });

  it("have one turn at a time where a statement locks rows", async () => {
    await using at = await createFixture();
    const lock = `SELECT name FROM ${at.schema}.effects WHERE name = $1 FOR UPDATE`;
    let holding = 0;
    const counts: number[] = [];
    const handler: Handler = async (handle) => {
      await handle.query(lock, ["one"]);
      holding += 1;
      counts.push(holding);
      await at.pool.query("SELECT pg_sleep(0.01)");
      holding -= 1;
    };
    await at.pool.query(`INSERT INTO ${at.schema}.effects VALUES ('one')`);
    await at.handleAll(at.take(1), handler);
    at.readEnds();
    await at.handleAll(at.take(6), handler);
    expect(at.readEnds()).toContain("plain");
    expect(counts).toEqual(Array(7).fill(1));
  });

  it("learn what is sometimes sent after a statement that is known, so that such an event does not always run twice", async () => {
    await using at = await createFixture();
    let runs = 0;
    const find: Handler = (handle, claim) =>
      handle.query(`SELECT name FROM ${at.schema}.effects WHERE name = $1`, [claim.id]);
    const findAndWrite: Handler = async (handle, claim) => {
      runs += 1;
      await find(handle, claim);
      return at.write(handle, claim.id);
    };
    await at.handleAll(at.take(1), find);
    for (let event = 0; event < 6; event++) await at.handleAll(at.take(1), findAndWrite);
    expect(runs).toBe(7);
    expect(at.readEnds().at(-1)).toBe("plain");
  });

  it("share a transaction with a reset where a statement is always followed by one that is not known", async () => {
    await using at = await createFixture();
    let runs = 0;
    const handler: Handler = async (handle, claim) => {
      runs += 1;
      await at.write(handle, claim.id);
      await handle.query(`SELECT '${claim.id}'`);
    };
    await at.learn();
    for (let event = 0; event < 16; event++) await at.handleAll(at.take(1), handler);
    expect(runs).toBe(16 + 4);
  });

  it("leave no lock of the session when an event fails whose table has a new trigger", async () => {
    await using at = await createFixture();
    await at.pool.query(`CREATE TABLE ${at.schema}.changing (name text UNIQUE)`);
    const insert = `INSERT INTO ${at.schema}.changing (name) VALUES ($1)`;
    // It has a turn of its own.
    const lock = `SELECT name FROM ${at.schema}.effects FOR UPDATE`;
    await at.handleAll(at.take(1), (handle) => handle.query(lock));
    await at.handleAll(at.take(1), (handle) => handle.query(insert, ["one"]));
    at.readEnds();
    await at.pool.query(`CREATE FUNCTION ${at.schema}.locks() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_advisory_lock(7); RETURN NEW; END $$;
      CREATE TRIGGER locks BEFORE INSERT ON ${at.schema}.changing FOR EACH ROW EXECUTE FUNCTION ${at.schema}.locks()`);
    const [failing, kept] = at.take(2).map((claim) => at.begin(claim)) as [Begun, Begun];
    const inserting = failing.handle.query(insert, ["one"]);
    const locking = kept.handle.query(lock);
    await expect(inserting).rejects.toMatchObject({ code: "23505" });
    await Promise.all([failing.rollback(), locking]);
    expect(await kept.commit()).toBe("settled");
    expect(at.readEnds(insert)).toEqual(["plain"]);
    const { rows } = await at.pool.query(
      "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 7",
    );
    expect(rows).toEqual([]);
  });

  it("keep the place of a sequence from later events", async () => {
    await using at = await createFixture();
    await at.learn();
    await at.handleAll(at.take(2), (handle, claim) => at.write(handle, claim.id));
    const look: Handler = (handle) => handle.query("SELECT lastval()");
    await expect(at.handleAll(at.take(1), look)).rejects.toMatchObject({ code: "55000" });
  });

  it.each(hidden)("are not made of statements that run %s", async (_, ddl, given?: string) => {
    await using at = await createFixture();
    const inSchema = (text: string) => text.replaceAll("{s}", at.schema);
    await at.pool.query(
      inSchema(`CREATE TABLE {s}.hiding (name text);
        CREATE TABLE {s}.seen (name text, tenant text DEFAULT current_setting('app.tenant', true)); ${ddl}`),
    );
    const hiding = inSchema(given ?? "INSERT INTO {s}.hiding (name) VALUES ($1)");
    const look = inSchema("INSERT INTO {s}.seen (name) VALUES ($1)");
    expect([hiding, look].map(isPlainStatement)).toEqual([true, true]);
    const tenantsSeen = async () => {
      const { rows } = await at.pool.query(
        inSchema("SELECT DISTINCT coalesce(tenant, '') AS tenant FROM {s}.seen"),
      );
      return rows.map(({ tenant }) => tenant);
    };
    try {
      // A session locks some of what a statement needs at the first time only.
      await Promise.all(Array.from({ length: at.pool.totalCount }, () => at.pool.query(hiding, ["warm"])));
      for (let batch = 0; batch < 3; batch++) {
        const claims = at.take(6);
        const isHiding = (claim: InboxClaim) => claims.indexOf(claim) % 2 === 0;
        await at.handleAll(claims, (handle, claim) =>
          handle.query(isHiding(claim) ? hiding : look, [claim.id]),
        );
      }
      expect(at.readEnds(hiding)).not.toContain("plain");
      expect(await tenantsSeen()).toEqual([""]);
    } finally {
      await at.pool.query(
        inSchema(
          "DROP OPERATOR IF EXISTS public.<<<< (text, integer); DROP FUNCTION IF EXISTS public.lower(varchar); DROP SCHEMA {s} CASCADE",
        ),
      );
    }
  });

  it("are made of plain statements also where other handlers always write to a table with a trigger", async () => {
    await using at = await createFixture();
    await at.pool.query(`CREATE TABLE ${at.schema}.triggering (name text); CREATE TABLE ${at.schema}.usual (name text);
      CREATE FUNCTION ${at.schema}.sets() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM set_config('app.tenant', 'a', true); RETURN NEW; END $$;
      CREATE TRIGGER sets BEFORE INSERT ON ${at.schema}.triggering FOR EACH ROW EXECUTE FUNCTION ${at.schema}.sets()`);
    const [triggering, usual] = ["triggering", "usual"].map(
      (table) => `INSERT INTO ${at.schema}.${table} VALUES ($1)`,
    ) as [string, string];
    let letGo = await at.hold();
    for (let batch = 0; batch < 4; batch++) {
      at.readEnds();
      const claims = at.take(6);
      const handled = at.handleAll(claims, (handle, claim) =>
        handle.query(claims.indexOf(claim) % 2 === 0 ? triggering : usual, [claim.id]),
      );
      // Both kinds are in the first transaction.
      if (batch === 0) await handled;
      await letGo();
      letGo = async () => {};
      await handled;
    }
    expect(at.readEnds(usual)).toContain("plain");
    expect(at.readEnds(triggering)).not.toContain("plain");
  });

  it("are made of statements whose table has keys, defaults, checks and indexes of PostgreSQL", async () => {
    await using at = await createFixture();
    await at.pool.query(`CREATE TYPE ${at.schema}.state AS ENUM ('new', 'done');
      CREATE TABLE ${at.schema}.owners (id text PRIMARY KEY); INSERT INTO ${at.schema}.owners VALUES ('a');
      CREATE TABLE ${at.schema}.usual (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL CHECK (length(name) > 0),
        key uuid DEFAULT gen_random_uuid(), at timestamptz DEFAULT now(), state ${at.schema}.state DEFAULT 'new',
        owner text DEFAULT 'a' REFERENCES ${at.schema}.owners, words int GENERATED ALWAYS AS (length(name)) STORED);
      CREATE UNIQUE INDEX ON ${at.schema}.usual (lower(name)) WHERE state <> 'done'`);
    const insert = `INSERT INTO ${at.schema}.usual (name) VALUES ($1) ON CONFLICT DO NOTHING`;
    for (let batch = 0; batch < 2; batch++)
      await at.handleAll(at.take(4), (handle, claim) => handle.query(insert, [claim.id]));
    expect(at.readEnds()).toContain("plain");
  });

  it("are not committed when a trigger was added since their statements were known, and nothing of it is seen", async () => {
    await using at = await createFixture();
    await at.pool.query(
      `CREATE TABLE ${at.schema}.changing (name text, tenant text DEFAULT current_setting('app.tenant', true))`,
    );
    const insert = `INSERT INTO ${at.schema}.changing (name) VALUES ($1)`;
    const handler: Handler = (handle, claim) => handle.query(insert, [claim.id]);
    await at.handleAll(at.take(4), handler);
    await at.handleAll(at.take(4), handler);
    expect(at.readEnds()).toContain("plain");
    await at.pool.query(`CREATE FUNCTION ${at.schema}.sets() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM set_config('app.tenant', NEW.name, true); RETURN NEW; END $$;
      CREATE TRIGGER sets AFTER INSERT ON ${at.schema}.changing FOR EACH ROW EXECUTE FUNCTION ${at.schema}.sets()`);
    for (let batch = 0; batch < 2; batch++) await at.handleAll(at.take(6), handler);
    const { rows } = await at.pool.query(`SELECT count(*)::int AS count, count(DISTINCT name)::int AS names,
      array_agg(DISTINCT coalesce(tenant, '')) AS tenants FROM ${at.schema}.changing`);
    expect(rows).toEqual([{ count: 20, names: 20, tenants: [""] }]);
    at.readEnds();
    await at.handleAll(at.take(4), handler);
    expect(at.readEnds()).not.toContain("plain");
  });
});
