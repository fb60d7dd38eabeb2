// How many blocks the statements of the hot path read, and by which plans, whatever the server knows of the tables.

import type { InboxRowState } from "@workspace-tasks/receiver-kit";
import type pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { atDepth } from "../../../../support/depth.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

const batch = 16;
/** How each statement begins, and no other one. */
const marks = {
  insert: "EXECUTE workspace_tasks_insert_all_",
  claim: "EXECUTE workspace_tasks_claim_",
  end: "EXECUTE workspace_tasks_end_all_",
  renew: "EXECUTE workspace_tasks_renew_",
  recover: "EXECUTE workspace_tasks_recover_",
  list: "SELECT *, length(",
  step: "SELECT min(seq) AS first, count(*)",
};

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
  const plans: Record<string, string> = {};
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
    /** Runs a transaction twice; the first time it is counted and rolled back. */
    const counted = async (statement: Statement, values?: unknown[]) => {
      const text = typeof statement === "string" ? statement : statement.text;
      const [kind, mark = ""] = Object.entries(marks).find(([, each]) => text.includes(each)) ?? [];
      if (kind) {
        await query("BEGIN");
        const before = await fetched();
        const explained = text
          .replace(/COMMIT$/, "SELECT 1")
          .replace(mark, "EXPLAIN (ANALYZE, FORMAT JSON) $&");
        const results = [await query(explained)].flat();
        blocks[kind] = (await fetched()) - before;
        await query("ROLLBACK");
        const plan = results.flatMap(({ rows }) => rows).find((row) => row["QUERY PLAN"]);
        plans[kind] = (plans[kind] ?? "") + JSON.stringify(plan);
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
  await direct.query(`
    INSERT INTO ${schema}.deliveries (source, webhook_id, channel, signed_at, received_at, outcome)
    VALUES ('default', 'unreadable', 'webhook', 5, 6, 'quarantined')`);
  return {
    direct,
    fill,
    /** All that were executed, with what each part of them did. */
    plans,
    /** Blocks per row of an insert, a claim and an end of a batch, and of a list of quarantined rows. */
    async measure(): Promise<Record<string, number>> {
      const rows = Array.from({ length: batch }, (_, n) =>
        runningAt(`new-${n}`, 1, { id: crypto.randomUUID() }),
      );
      await Promise.all(rows.map((row) => inbox.insert(row)));
      const worker = crypto.randomUUID();
      const { claims } = await inbox.claim(claimOptions({ worker, rowsMax: batch, rowsPerKeyMax: 2 }));
      expect(claims).toHaveLength(batch);
      const leases = claims.map(({ lease }) => lease);
      expect(await inbox.renew(leases, 30_000)).toEqual(new Set(leases));
      await Promise.all(
        claims.map((claim) =>
          inbox.begin([{ claim, settlement: doneWith(claim) }], { timeoutMs: 1_000 }).commit(),
        ),
      );
      expect(await inbox.list({ states: ["quarantined"] })).toHaveLength(1);
      return Object.fromEntries(
        Object.entries(blocks).map(([kind, count]) => [kind, Math.round(count / batch)]),
      );
    },
    /** A worker dies with a batch, and another one takes it. */
    async recover(): Promise<void> {
      const lost = claimOptions({ worker: crypto.randomUUID(), rowsMax: batch });
      expect((await inbox.claim(lost)).claims).not.toEqual([]);
      await direct.query(`UPDATE ${schema}.ordering_keys SET wake_at = 5 WHERE worker IS NOT NULL`);
      await inbox.claim(claimOptions({ rowsMax: batch }));
    },
    /** Blocks that a search reads which finds so many rows. */
    async search(states: readonly InboxRowState[], count: number): Promise<number> {
      expect(await inbox.list({ states, limit: 20 })).toHaveLength(count);
      return (blocks["list"] ?? 0) + (blocks["step"] ?? 0);
    },
    async close() {
      await inbox.close();
      await pool.end();
    },
  };
}

/** How many pairs of rows the join of a plan that compares most of them finds different. */
function comparedRows(plan = ""): number {
  const removed = [...plan.matchAll(/"Rows Removed by Join Filter":([\d.]+)/g)];
  return Math.max(0, ...removed.map(([, rows]) => Number(rows)));
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

  it("has the server compile nothing where it forbids scans, also at the end of a handler's transaction", async () => {
    const schema = "compiler";
    const pool = database.pool();
    const inbox = postgresInbox(pool, { schema });
    await inbox.open();
    // Before version 18 the price of a forbidden scan is above that of compiling, so each statement would be compiled.
    await pool.query(`
      CREATE TABLE ${schema}.settings (operation text, scans text, compiler text);
      CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ${schema}.settings VALUES (TG_OP, current_setting('enable_seqscan'), current_setting('jit'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON ${schema}.queue
        FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.note();
      CREATE TRIGGER note AFTER UPDATE ON ${schema}.ordering_keys
        FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.note()`);
    for (const itemsAtOnce of [1, 2]) {
      const rows = Array.from({ length: itemsAtOnce }, (_, n) =>
        runningAt(`compiled-${itemsAtOnce}-${n}`, 1),
      );
      await Promise.all(rows.map((row) => inbox.insert(row)));
      const { claims } = await inbox.claim(claimOptions({ worker: crypto.randomUUID(), rowsMax: 2 }));
      const items = claims.map((claim) => ({ claim, settlement: doneWith(claim) }));
      const transaction = inbox.begin(items, { timeoutMs: 10_000 });
      await transaction.handle.query("SELECT 1");
      expect(await transaction.commit()).toBe("settled");
    }
    const { rows } = await pool.query(
      `SELECT DISTINCT operation, scans, compiler FROM ${schema}.settings ORDER BY 1`,
    );
    expect(rows).toEqual(
      ["DELETE", "INSERT", "UPDATE"].map((operation) => ({ operation, scans: "off", compiler: "off" })),
    );
    await inbox.close();
  });

  it("reads dead rows and no others, also when none is in quarantine", async () => {
    const schema = "no_quarantine";
    const inbox = await createMeasured(schema, { waiting: 20, analyseEmpty: false });
    await inbox.direct.query(`
      DELETE FROM ${schema}.deliveries WHERE outcome = 'quarantined';
      INSERT INTO ${schema}.deliveries (source, webhook_id, channel, signed_at, received_at, outcome)
        SELECT 'default', 'ended_' || n, 'webhook', 5, 6, CASE WHEN n % 100 = 0 THEN 'dead' END
        FROM generate_series(1, 50000) AS n;
      ANALYZE`);
    // 500 are dead; the table has some 800 blocks.
    expect(await inbox.search(["dead", "quarantined"], 20)).toBeLessThan(500);
    await inbox.close();
  }, 300_000);

  it("compares no row with all others to list rows that are done, when the queue was empty", async () => {
    const inbox = await createMeasured("empty_queue", { waiting: 30_000, analyseEmpty: false });
    await inbox.direct.query(`
      DELETE FROM empty_queue.queue;
      UPDATE empty_queue.ordering_keys SET head = '1.', waiting = 0, wake_at = NULL`);
    await inbox.fill("late", 50_000);
    await inbox.direct.query(`
      ANALYZE;
      UPDATE pg_class SET reltuples = 0, relpages = 1
      WHERE oid IN ('empty_queue.queue'::regclass, 'empty_queue.queue_pkey'::regclass)`);
    expect(await inbox.search(["done"], 20)).toBeGreaterThan(0);
    expect(comparedRows(inbox.plans["list"])).toBeLessThan(50_000);
    await inbox.close();
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

  it.each([
    ["nobody has analysed them", (_: string) => "SELECT 1"],
    [
      "they are said to be empty",
      (schema: string) =>
        `UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = '${schema}'::regnamespace`,
    ],
    [
      "they are said to have a thousand times as many rows",
      (schema: string) =>
        `UPDATE pg_class SET reltuples = 1000 * reltuples WHERE relnamespace = '${schema}'::regnamespace`,
    ],
  ])(
    "uses indexes and nested loops alone, compares no row with all others, and compiles nothing, when %s",
    async (name, change) => {
      const schema = `explained_${name.length}`;
      const inbox = await createMeasured(schema, { waiting: 2_000, analyseEmpty: false });
      if (name.includes("thousand")) await inbox.direct.query("ANALYZE");
      await inbox.direct.query(change(schema));
      await inbox.measure();
      await inbox.recover();
      await inbox.close();
      const indexes = { claim: "wake", end: "pkey", renew: "pkey", recover: "pkey" };
      for (const [kind, index] of Object.entries(indexes)) {
        const plan = inbox.plans[kind] ?? "";
        expect(plan, kind).toContain(`"Index Name":"ordering_keys_${index}"`);
        expect(plan, kind).not.toMatch(/"(JIT|Hash Cond|Merge Cond)"/);
        const scanned = [...plan.matchAll(/"Node Type":"Seq Scan"[^{}]*?"Relation Name":"(\w+)"/g)].map(
          ([, table]) => table,
        );
        expect(
          scanned.filter((table) => table !== "inbox_version"),
          kind,
        ).toEqual([]);
        expect(comparedRows(plan), kind).toBeLessThan(batch);
      }
    },
    300_000,
  );
});
