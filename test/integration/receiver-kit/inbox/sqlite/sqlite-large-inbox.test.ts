// SQLite reads on the event loop: what takes long there delays every delivery.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { SqliteConnection } from "@workspace-tasks/receiver-kit/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InboxStore } from "../../../../../receiver-kit/inbox/inbox.ts";
import { stepRows } from "../../../../../receiver-kit/inbox/sql/sql-reads.ts";
import { loadSqliteDriver } from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { sqliteInbox } from "../../../../support/inbox-stores.ts";

const rows = 2 * stepRows + 1;
let directory: string;
let inbox: InboxStore;
let connection: SqliteConnection;
const clock = createVirtualClock(0);
const hourMs = 3_600_000;

/** Statements of the inbox and their values. */
const executed: (readonly [statement: string, values: readonly unknown[]])[] = [];

/** One row in quarantine, then many settled ones, of which half arrived at the same time. */
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-large-inbox-"));
  const file = path.join(directory, "inbox.db");
  const opener = await loadSqliteDriver();
  inbox = sqliteInbox({
    path: file,
    clock,
    driver(name) {
      const opened = opener(name);
      return {
        ...opened,
        query(statement, values = []) {
          executed.push([statement, values]);
          return opened.query(statement, values);
        },
        rowsPrepared(statement, values) {
          executed.push([statement, values]);
          return opened.rowsPrepared(statement, values);
        },
        firstPrepared(statement, values) {
          executed.push([statement, values]);
          return opened.firstPrepared(statement, values);
        },
        insertPrepared(statement, values) {
          executed.push([statement, values]);
          return opened.insertPrepared(statement, values);
        },
        changePrepared(statement, values) {
          executed.push([statement, values]);
          return opened.changePrepared(statement, values);
        },
      };
    },
  });
  await inbox.open();
  connection = opener(file);
  connection.query(
    `WITH RECURSIVE counted (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < ?1)
     INSERT INTO workspace_tasks_deliveries (source, webhook_id, channel, outcome, signed_at, received_at)
     SELECT 'default', 'msg_' || n, 'webhook', CASE WHEN n = 0 THEN 'quarantined' END, 0, n / 2 FROM counted`,
    [rows],
  );
  connection.query(
    `WITH RECURSIVE counted (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < ?1)
     INSERT INTO workspace_tasks_ordering_keys (source, order_key, head, moved_at, waiting)
     SELECT 'default', 'key ' || n, 'p', n, 0 FROM counted`,
    [rows],
  );
});
afterAll(async () => {
  connection.close();
  await inbox.close();
  await rm(directory, { recursive: true });
});

/** How often other work could run while `work` ran. */
async function turnsDuring<Result>(work: () => Promise<Result>) {
  let turns = 0;
  let running = true;
  const turn = () => {
    turns += 1;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work();
  running = false;
  return { result, turns };
}

describe("a SQLite inbox with more rows than one step reads", { shuffle: false }, () => {
  it("removes old heads, and lets other work run between the steps", async () => {
    await clock.advance(rows);
    const ages = {
      bodiesMs: hourMs,
      rowsMs: hourMs,
      unhandledBodiesMs: hourMs,
      headsMs: rows - stepRows - 9,
    };
    const { result, turns } = await turnsDuring(async () => {
      const removed: number[] = [];
      do removed.push(await inbox.purge(ages, 4_000));
      while (removed.at(-1) !== 0);
      return removed;
    });
    expect(result.reduce((sum, count) => sum + count)).toBe(stepRows + 10);
    expect(Math.max(...result)).toBe(4_000);
    expect(turns).toBeGreaterThan(2);
    expect(await inbox.head("default", `key ${stepRows + 9}`)).toBeUndefined();
    expect(await inbox.head("default", `key ${stepRows + 10}`)).toBeDefined();
  });

  it("lists rows by their state, and lets other work run between the steps", async () => {
    const { result, turns } = await turnsDuring(() => inbox.list({ states: ["stale"] }));
    expect(result).toEqual([]);
    expect(turns).toBeGreaterThan(2);
  });

  it("finds waiting, dead and quarantined rows in one step, however many rows are newer", async () => {
    const unhandled = await turnsDuring(() => inbox.list({ states: ["dead", "quarantined"] }));
    expect(unhandled.result.map(({ id }) => id)).toEqual(["msg_0"]);
    const waiting = await turnsDuring(() => inbox.list({ states: ["pending", "running"] }));
    expect(waiting.result).toEqual([]);
    // A turn for each of its reads: of the range of the numbers, of the index, of the rows.
    expect(unhandled.turns).toBeLessThanOrEqual(3);
    expect(waiting.turns).toBeLessThanOrEqual(3);
  });

  it("lists pages across the steps without repetition", async () => {
    const ids: string[] = [];
    let page = await inbox.list({ limit: 4_000 });
    for (let last = page.at(-1); last; last = page.at(-1)) {
      ids.push(...page.map(({ id }) => id));
      page = await inbox.list({ limit: 4_000, beforeSeq: last.seq });
    }
    expect(ids).toEqual(Array.from({ length: rows + 1 }, (_, index) => `msg_${rows - index}`));
  });

  it("ends each round of retention where many old rows are kept, however many of the others it has removed", async () => {
    const kept = 5_000;
    connection.query("UPDATE workspace_tasks_deliveries SET outcome = 'dead' WHERE seq <= ?1", [kept]);
    connection.query(
      "INSERT INTO workspace_tasks_bodies (seq, body) SELECT seq, x'00' FROM workspace_tasks_deliveries WHERE seq <= ?1",
      [kept],
    );
    const ages = { bodiesMs: 0, rowsMs: 0, unhandledBodiesMs: hourMs, headsMs: hourMs };
    for (const expected of [rows + 1 - kept, 0, 0]) {
      let removed = 0;
      for (let changed = 1; changed > 0; removed += changed) changed = await inbox.purge(ages, 1_000);
      expect(removed).toBe(expected);
    }
    await clock.advance(hourMs);
    expect(await inbox.purge(ages, kept)).toBeGreaterThanOrEqual(kept);
    expect(await inbox.list({ limit: 1 })).toMatchObject([{ state: "dead", bodyBytes: null }]);
  });
});

describe("the statements of a SQLite inbox", () => {
  it("read no more of it than they need", async () => {
    await useAll(inbox);
    // They read the first or the newest rows of a table and stop at their limit, or count a step.
    const isStep = (statement: string) => /AS (first|ahead|at|last|count|waiting|wakeAtMs)\b/.test(statement);
    const statements = [...new Set(executed.map(([statement]) => statement))].filter((each) => !isStep(each));
    expect(statements.length).toBeGreaterThan(25);
    for (const statement of statements) {
      const plan = connection.query(`EXPLAIN QUERY PLAN ${statement}`).map(({ detail }) => String(detail));
      // All rows of a table, or of one source.
      const excessive = [
        /^SCAN (?!.*(?:_unhandled|_version))(workspace_tasks_\w+|delivery|body|head|ordering_key|waiting|earlier|stored)\b/,
        /autoindex_workspace_tasks_(deliveries|ordering_keys)_1 \(source=\?\)$/,
      ];
      const found = plan.filter((step) => excessive.some((pattern) => pattern.test(step)));
      expect({ statement, found }).toEqual({ statement, found: [] });
    }
  });
});

/** Calls every method, with rows in every state. */
async function useAll(store: InboxStore): Promise<void> {
  const rowsOf = ["a", "b", "c", "d", "e"].map((name) => runningAt(name, 1, { id: name }));
  for (const row of rowsOf) await store.insert(row);
  await store.insert(rowsOf[0]!);
  const { claims } = await store.claim(claimOptions({ rowsMax: 5 }));
  const [done, dead, retried, late] = claims;
  await store.renew([done!.lease], 1_000);
  await store.begin([{ claim: done!, settlement: doneWith(done!) }], { timeoutMs: 1_000 }).commit();
  await store.fail(dead!, { kind: "dead", error: "no" });
  await store.fail(retried!, { kind: "retry", delayMs: 10, error: "no", counts: true });
  await store.advanceHead({ source: "default", key: late!.orderKey!, position: "9" });
  await clock.advance(hourMs);
  await store.claim(claimOptions({ rowsMax: 5, keyOrder: "strict", attemptsMax: 1 }));
  await store.replay(dead!, dead!);
  await store.list({});
  await store.list({ states: ["dead"] });
  await store.get(done!);
  await store.discard(dead!);
  await store.stats();
  await store.waitingSources("default");
  await store.backlog("default", 10);
  await store.reconcileCandidates({ source: "default", runningForMs: 0, afterKey: "", limit: 5 });
  await store.writeMarks("default", { name: "value" });
  await store.readMarks("default");
  await store.purge({ bodiesMs: 0, rowsMs: 0, headsMs: 0, unhandledBodiesMs: 0 }, 10);
}
