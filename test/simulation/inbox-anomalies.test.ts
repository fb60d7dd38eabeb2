import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Inbox, type MemoryTransaction, memoryInbox } from "workspace-tasks/receiver-kit";
import {
  type SqliteConnection,
  type SqliteTransaction,
  sqliteInbox,
} from "workspace-tasks/receiver-kit/sqlite";
import { loadSqliteDriver } from "../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { storyClock, tellReceiverStory } from "./receiver-story.ts";
import { type Calls, countCalls, sweep } from "./sweep.ts";

test("a receiver is right in the end whichever call of its inbox fails, and whenever", async () => {
  const { plays, calls } = await sweep(async (calls) => {
    const clock = storyClock();
    const rows = memoryInbox({ clock });
    const effects: string[] = [];
    await tellReceiverStory<MemoryTransaction>({
      clock,
      rows,
      inbox: failingInbox(rows, calls),
      write: async (transaction, name) => transaction.apply(() => effects.push(name)),
      kept: async () => effects,
    });
  });
  const kinds = [
    "open",
    "subscribe",
    "heartbeat",
    "insert",
    "claim",
    "commit",
    "fail",
    "head",
    "reconcileCandidates",
    "close",
  ];
  expect(kinds.filter((kind) => !calls.includes(kind))).toEqual([]);
  expect(plays).toBe(1 + 2 * calls.length);
}, 60_000);

test("a receiver is right in the end whichever statement of SQLite fails, and whenever", async () => {
  const openFile = await loadSqliteDriver();
  const diskError = () => Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
  const directory = mkdtempSync(join(tmpdir(), "workspace-tasks-sweep-"));
  let files = 0;
  try {
    const { plays, calls } = await sweep(
      async (calls) => {
        const clock = storyClock();
        const path = join(directory, `${files++}.db`);
        const setUp = openFile(path);
        setUp.exec("PRAGMA synchronous = OFF; CREATE TABLE effects (name TEXT)");
        const rows = sqliteInbox({
          path,
          driver: () => failingConnection(openFile(path), countCalls()),
          clock,
        });
        await rows.open();
        await tellReceiverStory<SqliteTransaction>({
          clock,
          rows,
          inbox: sqliteInbox({ path, driver: () => failingConnection(openFile(path), calls), clock }),
          write: async ({ query }, name) =>
            void (await query("INSERT INTO effects (name) VALUES (?)", [name])),
          kept: async () => setUp.query("SELECT name FROM effects").map(({ name }) => String(name)),
        });
        setUp.close();
        await rows.close();
      },
      { error: diskError },
    );
    expect(calls.filter((call) => call === "COMMIT").length).toBeGreaterThan(10);
    expect(plays).toBe(1 + 2 * calls.length);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 60_000);

test("the sweep bites: an inbox that forgets a row when its answer is lost is found", async () => {
  const forgetful = sweep(async (calls) => {
    const clock = storyClock();
    const rows = memoryInbox({ clock });
    const effects: string[] = [];
    const inbox = failingInbox(rows, calls);
    await tellReceiverStory<MemoryTransaction>({
      clock,
      rows,
      // Acknowledges whatever becomes of the insert.
      inbox: { ...inbox, insert: (arrival) => inbox.insert(arrival).catch(() => ({ outcome: "new" })) },
      write: async (transaction, name) => transaction.apply(() => effects.push(name)),
      kept: async () => effects,
    });
  });
  await expect(forgetful).rejects.toThrow(/^call \d+ \(insert\) failed before its effect/);
});

function failingInbox(inner: Inbox<MemoryTransaction>, calls: Calls): Inbox<MemoryTransaction> {
  const { through } = calls;
  return {
    durable: true,
    open: () => through("open", () => inner.open()),
    close: () => through("close", () => inner.close()),
    insert: (arrival) => through("insert", () => inner.insert(arrival)),
    claim: (options) => through("claim", () => inner.claim(options)),
    renew: (claims, leaseMs) => through("renew", () => inner.renew(claims, leaseMs)),
    begin(claim, settlement, options) {
      const begun = inner.begin(claim, settlement, options);
      return {
        handle: begun.handle,
        commit: () => through("commit", () => begun.commit()),
        rollback: () => through("rollback", () => begun.rollback()),
      };
    },
    fail: (claim, failure) => through("fail", () => inner.fail(claim, failure)),
    subscribe: (wake) =>
      through("subscribe", async () => {
        const unsubscribe = await inner.subscribe?.(wake);
        return () => through("unsubscribe", async () => unsubscribe?.());
      }),
    list: (filter) => through("list", () => inner.list(filter)),
    get: (row) => through("get", () => inner.get(row)),
    replay: (row, facts) => through("replay", () => inner.replay(row, facts)),
    discard: (row) => through("discard", () => inner.discard(row)),
    head: (source, key) => through("head", () => inner.head(source, key)),
    reconcileCandidates: (options) =>
      through("reconcileCandidates", () => inner.reconcileCandidates(options)),
    heartbeat: (source) => through("heartbeat", () => inner.heartbeat(source)),
    purge: (retention, rowsMax) => through("purge", () => inner.purge(retention, rowsMax)),
    backlog: (source, limit) => through("backlog", () => inner.backlog(source, limit)),
    stats: () => through("stats", () => inner.stats()),
    beginInline: (webhook, options) => through("beginInline", () => inner.beginInline(webhook, options)),
    finishInline: (id, options) => through("finishInline", () => inner.finishInline(id, options)),
    advanceHead: (options) => through("advanceHead", () => inner.advanceHead(options)),
  };
}

function failingConnection(inner: SqliteConnection, { throughNow }: Calls): SqliteConnection {
  const kindOf = (statement: string) => statement.trim().split(/\s+/).slice(0, 2).join(" ");
  return {
    native: inner.native,
    close: () => inner.close(),
    exec: (statement) => throughNow(kindOf(statement), () => inner.exec(statement)),
    query: (statement, values) =>
      throughNow(kindOf(statement), () => inner.query(withoutSync(statement), values)),
    queryPrepared: (statement, values) =>
      throughNow(kindOf(statement), () => inner.queryPrepared(statement, values)),
    changePrepared: (statement, values) =>
      throughNow(kindOf(statement), () => inner.changePrepared(statement, values)),
  };
}

/** Nothing here cuts the power, and hundreds of plays need not wait for a disk. */
const withoutSync = (statement: string) => statement.replace("synchronous = FULL", "synchronous = OFF");
