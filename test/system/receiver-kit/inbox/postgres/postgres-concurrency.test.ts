// Processes that store, claim, end, replay and purge events of the same few keys at the same time, with real connections
// and the server's clock.

import { setTimeout as pause } from "node:timers/promises";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { InboxClaim, InboxStore } from "../../../../../receiver-kit/inbox/inbox.ts";
import { claimOptions, doneWith, runningAt, settle } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import { wrongCounters } from "../../../../support/inbox-tables.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
beforeAll(async () => {
  database = await (await sharedPostgres()).database({
    // By default a deadlock is found after a second, and mostly resolved by then.
    deadlock_timeout: "10ms",
    // On a busy machine a commit may take long.
    lock_timeout: "20s",
  });
  await database.pool().query("CREATE TABLE effects (webhook_id text)");
});
afterAll(() => database[Symbol.asyncDispose]());

const durationMs = 2_000;
const leaseMs = 150;
const retry = { firstDelayMs: 1, delayMsMax: 5 };
const taskIds = Array.from({ length: 12 }, (_, n) => `task-${n}`);
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;
const happens = (probability: number) => Math.random() < probability;

/** What the processes did, in the time of this process. */
class Record {
  readonly faults: string[] = [];
  readonly #settledAtMs = new Map<string, number>();
  readonly #replayed = new Set<string>();
  readonly #heldUntilMs = new Map<string, number>();

  /** The claims of one call that was sent at `sentMs`. */
  claimed(claims: readonly InboxClaim[], sentMs: number): void {
    for (const { id, orderKey } of claims) {
      const settledAtMs = this.#settledAtMs.get(id) ?? sentMs;
      if (settledAtMs < sentMs && !this.#replayed.has(id))
        this.faults.push(`${id} was claimed after its end`);
      const heldUntilMs = this.#heldUntilMs.get(orderKey ?? id) ?? 0;
      if (heldUntilMs > performance.now()) this.faults.push(`${orderKey} was claimed while it was held`);
    }
    for (const { id, orderKey } of claims) this.#heldUntilMs.set(orderKey ?? id, sentMs + leaseMs);
  }

  /** The end of the last row of a lease is sent. */
  freeing({ id, orderKey }: InboxClaim): void {
    this.#heldUntilMs.delete(orderKey ?? id);
  }

  settled({ id }: InboxClaim): void {
    if (this.#settledAtMs.has(id) && !this.#replayed.has(id)) this.faults.push(`${id} was settled twice`);
    this.#settledAtMs.set(id, performance.now());
  }

  replayed(id: string): void {
    this.#replayed.add(id);
  }

  get settledOnce(): readonly string[] {
    return [...this.#settledAtMs.keys()].filter((id) => !this.#replayed.has(id));
  }
}

/** What one process does, again and again. */
function createProcess(record: Record, inboxes: readonly InboxStore[], inbox: InboxStore, name: string) {
  let rows = 0;
  let claims = 0;
  const end = async (claim: InboxClaim) => {
    if (happens(0.1)) return void (await inbox.fail(claim, { kind: "release" }));
    if (happens(0.1)) return void (await inbox.fail(claim, { kind: "retry", delayMs: 2, error: "no" }));
    if (happens(0.05)) return void (await inbox.fail(claim, { kind: "dead", error: "no" }));
    const transaction = inbox.begin(claim, doneWith(claim), { timeoutMs: 1_000 });
    const isWritten = happens(0.3);
    const { query } = transaction.handle as PostgresTransaction;
    try {
      if (isWritten) await query("INSERT INTO effects VALUES ($1)", [claim.id]);
      const outcome = await transaction.commit();
      if (outcome.startsWith("settled")) record.settled(claim);
    } catch (error) {
      await transaction.rollback();
      if (!/LEASE_LOST|SUPERSEDED/.test(String((error as { code?: string }).code))) throw error;
    }
  };
  const endChain = async (chain: readonly InboxClaim[]) => {
    for (const [index, claim] of chain.entries()) {
      if (happens(0.2)) await pause(Math.random() * 10);
      if (index === chain.length - 1) record.freeing(claim);
      await end(claim);
    }
  };
  return {
    async store() {
      const batch = Array.from({ length: 1 + Math.floor(Math.random() * 8) }, () => {
        const second = happens(0.7) ? rows : Math.floor(Math.random() * rows);
        const fields = happens(0.1) ? { orderKey: null, position: null } : {};
        rows += 1;
        return runningAt(pick(taskIds), second, { ...fields, id: `${name}_${rows}` });
      });
      // Copies of a delivery may arrive through both processes at once.
      const copies = happens(0.2) ? batch : [];
      const stored = [...batch, ...copies].map((row) => pick(inboxes).insert(row));
      await Promise.all(stored);
      await pause(Math.random() * 5);
    },
    async handle() {
      const sentMs = performance.now();
      claims += 1;
      const limits = { rowsMax: 6, rowsPerKeyMax: 3, leaseMs, attemptsMax: 1_000, retry };
      const result = await inbox.claim(claimOptions({ worker: `${name}.${claims}`, ...limits }));
      record.claimed(result.claims, sentMs);
      // Now and then it crashes.
      if (result.claims.length === 0 || happens(0.03)) return pause(2);
      const leases = [...new Set(result.claims.map(({ lease }) => lease))];
      const chains = leases.map((held) => result.claims.filter(({ lease }) => lease === held));
      await Promise.all(chains.map(endChain));
    },
    async operate() {
      for (const row of await inbox.list({ states: ["dead"], limit: 5 })) {
        record.replayed(row.id);
        // Through both processes at once.
        await Promise.all(inboxes.map((each) => each.replay(row, row)));
      }
      await inbox.repairTimes({ source: "default", keyOrder: "latest" });
      await inbox.purge({ bodiesMs: 60_000, rowsMs: 60_000, headsMs: 1, unhandledBodiesMs: 60_000 }, 3);
      await pause(Math.random() * 20);
    },
  };
}

/** Resolves when the condition holds for that many sessions. */
async function untilBlocked(count: number, condition: string): Promise<void> {
  const pool = database.pool({ max: 1 });
  const blocked = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`;
  await expect.poll(async () => (await pool.query(blocked)).rows.length).toBe(count);
  await pool.end();
}

describeWithPostgres("two processes on one PostgreSQL inbox", () => {
  it("neither deadlock nor lose, repeat or reorder events, and leave each counter right", async () => {
    const pools = [database.pool(), database.pool()] as const;
    const inboxes = pools.map((pool) => postgresInbox(pool, { queryTimeoutMs: 20_000 }));
    for (const inbox of inboxes) await inbox.open();
    const record = new Record();
    const endsAtMs = performance.now() + durationMs;
    const repeat = async (work: () => Promise<unknown>) => {
      while (performance.now() < endsAtMs) {
        await work().catch((error: unknown) => void record.faults.push(String(error)));
      }
    };
    const processes = inboxes.map((inbox, index) =>
      createProcess(record, inboxes, inbox, `process-${index}`),
    );
    await Promise.all(
      processes.flatMap(({ store, handle, operate }) =>
        [store, store, handle, handle, handle, handle, operate].map(repeat),
      ),
    );
    expect(record.faults.slice(0, 10)).toEqual([]);
    expect(record.settledOnce.length).toBeGreaterThan(10);
    expect(await wrongCounters((statement) => pools[0].query(statement).then(({ rows }) => rows))).toEqual(
      [],
    );
    const { rows } = await pools[0].query("SELECT webhook_id FROM effects GROUP BY 1 HAVING count(*) > 1");
    const once = new Set(record.settledOnce);
    expect(rows.filter(({ webhook_id: id }) => once.has(id))).toEqual([]);
    for (const inbox of inboxes) await inbox.close();
  }, 120_000);

  it("an end that waits for an insert of the same key counts the row that was inserted", async () => {
    const pool = database.pool();
    const inbox = postgresInbox(pool, { schema: "late_insert", clock: createVirtualClock() });
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1, { id: "first" }));
    const [claim] = (await inbox.claim(claimOptions())).claims;
    const blocker = await pool.connect();
    await blocker.query("BEGIN; SELECT 1 FROM late_insert.ordering_keys FOR UPDATE");
    const isWaiting = "wait_event_type = 'Lock' AND query LIKE '%late_insert%'";
    const inserted = inbox.insert(runningAt("task-1", 2, { id: "second" }));
    await untilBlocked(1, isWaiting);
    // No head, and no row but this one in its snapshot.
    const ended = inbox.fail(claim!, { kind: "dead", error: "no" });
    await untilBlocked(2, isWaiting);
    await blocker.query("COMMIT");
    blocker.release();
    expect([await inserted, await ended]).toEqual([{ outcome: "new" }, true]);
    const query = (statement: string) => pool.query(statement).then(({ rows }) => rows);
    expect(await wrongCounters(query, { prefix: "late_insert." })).toEqual([]);
    expect((await inbox.claim(claimOptions())).claims.map(({ id }) => id)).toEqual(["second"]);
    await inbox.close();
  });

  it("a claim takes no advisory lock, which any role could hold", async () => {
    const pool = database.pool({ max: 1 });
    const inbox = postgresInbox(pool, { schema: "advisory", clock: createVirtualClock() });
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1, { id: "first" }));
    await pool.query("BEGIN");
    expect((await inbox.claim(claimOptions())).claims.map(({ id }) => id)).toEqual(["first"]);
    const { rows } = await pool.query(
      "SELECT mode FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    );
    await pool.query("COMMIT");
    expect(rows).toEqual([]);
    await inbox.close();
  });

  it("a claim whose snapshot is older than the last lease of a key claims no row that has ended since", async () => {
    const pool = database.pool();
    const clock = createVirtualClock();
    let isSlow = false;
    // Its snapshot is taken before it waits, its locks after that.
    const wait = "(SELECT pg_advisory_xact_lock(1) IS NOT NULL) AND (source || '') >= $2";
    pool.on("connect", (client) => {
      type Statement = string | { readonly text: string };
      const query = client.query.bind(client) as (statement: Statement, ...rest: unknown[]) => unknown;
      const slowed = async (statement: Statement, ...rest: unknown[]) => {
        const config = typeof statement === "string" ? { text: statement } : statement;
        const { text } = config;
        if (text.startsWith("CREATE OR REPLACE FUNCTION") && text.includes("picked")) {
          await query(text.replace(/claim_\w+/, "$&_slow").replace("(source || '') >= $2", wait));
        }
        const slow = { ...config, text: text.replace(/claim_latest_\w+/, "$&_slow") };
        return query(isSlow ? slow : statement, ...rest);
      };
      Object.assign(client, { query: slowed });
    });
    const inbox = postgresInbox(pool, { schema: "stale_snapshot", clock });
    await inbox.open();
    for (const second of [1, 2, 3]) await inbox.insert(runningAt("task-1", second, { id: `at-${second}` }));
    const gate = await pool.connect();
    await gate.query("SELECT pg_advisory_lock(1)");
    isSlow = true;
    const slow = inbox.claim(claimOptions({ worker: "slow", rowsPerKeyMax: 3 }));
    await untilBlocked(1, "wait_event = 'advisory'");
    isSlow = false;
    const [first] = (await inbox.claim(claimOptions({ worker: "fast" }))).claims;
    expect(await settle(inbox, first!)).toBe("settled");
    await gate.query("SELECT pg_advisory_unlock(1)");
    gate.release();
    const result = await slow;
    expect(result.claims.map(({ id }) => id)).toEqual([]);
    expect(result.nextInMs).toBeLessThan(50);
    await clock.advance(50);
    const { claims } = await inbox.claim(claimOptions({ worker: "later", rowsPerKeyMax: 3 }));
    expect(claims.map(({ id }) => id)).toEqual(["at-2", "at-3"]);
    await inbox.close();
  });
});
