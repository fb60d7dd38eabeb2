// How many blocks the statements of the hot path read, whatever the server knows of the tables.

import type pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { atDepth } from "../../../../support/depth.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

const batch = 16;
/** A part of each statement that no other one has. */
const marks = { insert: ".insert_rows_", claim: ".claim_latest_", end: ".end_rows_", list: " AS unhandled" };

let database: PostgresDatabase;
beforeAll(async () => {
  // No autovacuum changes what it knows of the tables.
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

interface Backlog {
  readonly waiting: number;
  readonly rowsPerKey?: number;
  readonly analyseEmpty: boolean;
}

/** An inbox with waiting rows, and how many blocks its statements read. */
async function createMeasured(schema: string, { waiting, rowsPerKey = 4, analyseEmpty }: Backlog) {
  const pool = database.pool({ max: 1 });
  const direct = database.pool();
  const blocks: Record<string, number> = {};
  pool.on("connect", (client) => {
    type Statement = string | { readonly text: string };
    const query = client.query.bind(client) as (
      statement: Statement,
      values?: unknown[],
    ) => Promise<pg.QueryResult>;
    const fetched = async () => {
      const { rows } = await query(`
        SELECT sum(pg_stat_get_xact_blocks_fetched(class.oid))::integer AS blocks FROM pg_class AS class
        JOIN pg_namespace AS space ON space.oid = class.relnamespace WHERE space.nspname = '${schema}'`);
      return Number(rows[0]?.["blocks"]);
    };
    /** Runs a statement twice; the first time it is counted and rolled back. */
    const counted = async (statement: Statement, values?: unknown[]) => {
      const text = typeof statement === "string" ? statement : statement.text;
      const isCall = /^\s*SELECT/.test(text);
      const kind = Object.entries(marks).find(([, mark]) => isCall && text.includes(mark))?.[0];
      if (kind) {
        await query("BEGIN");
        const before = await fetched();
        await query(statement, values);
        blocks[kind] = (await fetched()) - before;
        await query("ROLLBACK");
      }
      return query(statement, values);
    };
    Object.assign(client, { query: counted });
  });
  const inbox = postgresInbox(pool, { schema, queryTimeoutMs: 60_000 });
  await inbox.open();
  if (analyseEmpty) await direct.query("ANALYZE");
  const fill = (name: string, rows: number) =>
    direct.query(`
    INSERT INTO ${schema}.deliveries (source, webhook_id, channel, event, order_key, position, signed_at, received_at)
      SELECT 'default', '${name}_' || n, 'webhook', 'task.running', '["${name}-' || n / ${rowsPerKey} || '"]', '1.' || n, 5, 6
      FROM generate_series(1, ${rows}) AS n;
    INSERT INTO ${schema}.bodies SELECT seq, '\\x00' FROM ${schema}.deliveries WHERE webhook_id LIKE '${name}_%';
    INSERT INTO ${schema}.ordering_keys (source, order_key, waiting, wake_at)
      SELECT source, order_key, count(*), 6 FROM ${schema}.deliveries WHERE webhook_id LIKE '${name}_%' GROUP BY 1, 2;
    INSERT INTO ${schema}.queue (key_id, position, seq, due_at, body_bytes)
      SELECT id, delivery.position, seq, 0, 1
      FROM ${schema}.deliveries AS delivery JOIN ${schema}.ordering_keys USING (source, order_key)
      WHERE webhook_id LIKE '${name}_%'`);
  await fill("waiting", waiting);
  return {
    ...{ direct, fill },
    /** Blocks per row of an insert, a claim and an end of a batch, and of a list of quarantined rows. */
    async measure(): Promise<Record<string, number>> {
      const rows = Array.from({ length: batch }, (_, n) =>
        runningAt(`new-${n}`, 1, { id: crypto.randomUUID() }),
      );
      await Promise.all(rows.map((row) => inbox.insert(row)));
      const worker = crypto.randomUUID();
      const { claims } = await inbox.claim(claimOptions({ worker, rowsMax: batch, rowsPerKeyMax: 2 }));
      expect(claims).toHaveLength(batch);
      await Promise.all(
        claims.map((claim) =>
          inbox.begin([{ claim, settlement: doneWith(claim) }], { timeoutMs: 1_000 }).commit(),
        ),
      );
      await inbox.list({ states: ["quarantined"] });
      return Object.fromEntries(
        Object.entries(blocks).map(([kind, count]) => [kind, Math.round(count / batch)]),
      );
    },
    async close() {
      await inbox.close();
      await pool.end();
    },
  };
}

describeWithPostgres("the PostgreSQL inbox", () => {
  const many = atDepth(30_000, 100_000);
  it(`reads as few blocks per event with ${many} waiting rows as with 1,000, with absent, stale and fresh statistics`, async () => {
    const measured: Record<string, Record<string, number>> = {};
    for (const waiting of [1_000, many]) {
      const stale = await createMeasured(`stale_${waiting}`, { waiting, analyseEmpty: true });
      measured[`stale ${waiting}`] = await stale.measure();
      await stale.close();
      const absent = await createMeasured(`absent_${waiting}`, { waiting, analyseEmpty: false });
      measured[`absent ${waiting}`] = await absent.measure();
      await absent.direct.query("ANALYZE");
      measured[`fresh ${waiting}`] = await absent.measure();
      await absent.close();
    }
    const least = (kind: string) => Math.min(...Object.values(measured).map((each) => each[kind] ?? 0));
    for (const [name, each] of Object.entries(measured)) {
      // A small table is read as a whole.
      expect(each["list"], `list, ${name}`).toBeLessThanOrEqual(3);
      for (const kind of ["insert", "claim", "end"]) {
        // One block more per index that is a level deeper.
        expect(each[kind], `${kind}, ${name}`).toBeLessThanOrEqual(1.5 * least(kind));
        expect(each[kind], `${kind}, ${name}`).toBeLessThanOrEqual(40);
      }
    }
  }, 300_000);

  it("reads as few blocks of a key with 20,000 waiting rows as of others", async () => {
    const counts: number[] = [];
    for (const rowsPerKey of [4, 20_000]) {
      const backlog = { waiting: 20_000, rowsPerKey, analyseEmpty: false };
      const inbox = await createMeasured(`long_keys_${rowsPerKey}`, backlog);
      await inbox.direct.query("ANALYZE");
      counts.push((await inbox.measure())["claim"] ?? Number.NaN);
      await inbox.close();
    }
    expect(counts[1]).toBeLessThanOrEqual(1.5 * (counts[0] ?? 0));
  }, 300_000);

  it("reads as few blocks in a session that made its plans while the tables were small", async () => {
    const inbox = await createMeasured("small_tables", { waiting: 20, rowsPerKey: 1, analyseEmpty: false });
    await inbox.direct.query("ANALYZE");
    await inbox.measure();
    await inbox.fill("late", 20_000);
    for (const [kind, blocks] of Object.entries(await inbox.measure())) {
      expect(blocks, kind).toBeLessThanOrEqual(40);
    }
    await inbox.close();
  }, 300_000);

  it("compiles no claim just in time, although one among a million keys is estimated to be worth it", async () => {
    const schema = "large_estimates";
    const inbox = await createMeasured(schema, { waiting: 1_000, rowsPerKey: 1, analyseEmpty: false });
    await inbox.direct.query("ANALYZE");
    await inbox.direct.query(
      `UPDATE pg_class SET reltuples = 1000 * reltuples WHERE relnamespace = '${schema}'::regnamespace`,
    );
    const { rows } = await inbox.direct.query(
      `SELECT prosrc AS body, proconfig AS settings FROM pg_proc
       WHERE pronamespace = '${schema}'::regnamespace AND proname LIKE 'claim_latest_%'`,
    );
    const [, statement] = /RETURN QUERY (.*);\s+END/s.exec(rows[0].body) ?? [];
    const client = await inbox.direct.connect();
    const types = "bigint, text, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint";
    await client.query(`SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan;
      PREPARE claim (${types}) AS ${statement}`);
    const plan = await client.query(
      "EXPLAIN (FORMAT JSON) EXECUTE claim (NULL, 'default', 'worker', 16, 2, 1000000, 30000, NULL, 1000, 3600000, 18)",
    );
    const limit = await client.query("SELECT current_setting('jit_above_cost')::float AS cost");
    client.release(true);
    await inbox.close();
    expect(plan.rows[0]["QUERY PLAN"][0].Plan["Total Cost"]).toBeGreaterThan(limit.rows[0].cost);
    expect(rows[0].settings).toContain("jit=off");
  }, 300_000);
});
