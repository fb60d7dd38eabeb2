import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Inbox, type MemoryTransaction, memoryInbox } from "workspace-tasks/receiver-kit";
import {
  type SqliteConnection,
  type SqliteTransaction,
  sqliteInbox,
} from "workspace-tasks/receiver-kit/sqlite";
import { loadSqliteDriver } from "../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { createFixtureClock } from "../support/receiver-fixture.ts";
import { interceptInbox, overrideInbox } from "../support/wrap-inbox.ts";
import { type Calls, countCalls, sweep } from "./failure-sweep.ts";
import { runReceiverScenario } from "./receiver-scenario.ts";

it("a receiver loses no event and applies none twice when any single call of its inbox fails", async () => {
  const { runs, calls } = await sweep((calls) => runOnMemory(calls));
  const methods = [
    "open",
    "subscribe",
    "readMarks",
    "writeMarks",
    "repairTimes",
    "insert",
    "claim",
    "commit",
    "fail",
    "head",
    "reconcileCandidates",
    "close",
  ];
  expect(methods.filter((method) => !calls.includes(method))).toEqual([]);
  expect(runs).toBe(1 + 2 * calls.length);
}, 120_000);

it("a receiver loses no event and applies none twice when any single SQLite statement fails", async () => {
  const openFile = await loadSqliteDriver();
  const diskError = () => Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
  const directory = mkdtempSync(join(tmpdir(), "workspace-tasks-sweep-"));
  let files = 0;
  try {
    const { runs, calls } = await sweep(
      async (calls) => {
        const clock = createFixtureClock();
        const path = join(directory, `${files++}.db`);
        const setUp = openFile(path);
        setUp.exec("PRAGMA synchronous = OFF; CREATE TABLE effects (name TEXT)");
        const rows = sqliteInbox({
          path,
          driver: () => failingConnection(openFile(path), countCalls()),
          clock,
        });
        await rows.open();
        await runReceiverScenario<SqliteTransaction>({
          clock,
          rows,
          inbox: sqliteInbox({ path, driver: () => failingConnection(openFile(path), calls), clock }),
          write: async ({ query }, name) =>
            void (await query("INSERT INTO effects (name) VALUES (?)", [name])),
          committed: async () => setUp.query("SELECT name FROM effects").map(({ name }) => String(name)),
        });
        setUp.close();
        await rows.close();
      },
      { error: diskError },
    );
    expect(calls.filter((call) => call === "COMMIT").length).toBeGreaterThan(10);
    expect(runs).toBe(1 + 2 * calls.length);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 120_000);

it("the sweep detects an inbox that acknowledges an insert before it succeeded", async () => {
  const broken = sweep((calls) =>
    runOnMemory(calls, (inbox) =>
      overrideInbox(inbox, { insert: (row) => inbox.insert(row).catch(() => ({ outcome: "new" })) }),
    ),
  );
  await expect(broken).rejects.toThrow(/^call \d+ \(insert\) failed before its effect/);
});

async function runOnMemory(
  calls: Calls,
  change = (inbox: Inbox<MemoryTransaction>): Inbox<MemoryTransaction> => inbox,
): Promise<void> {
  const clock = createFixtureClock();
  const rows = memoryInbox({ clock });
  const effects: string[] = [];
  await runReceiverScenario<MemoryTransaction>({
    ...{ clock, rows, inbox: change(failingInbox(rows, calls)) },
    write: async (transaction, name) => transaction.apply(() => effects.push(name)),
    committed: async () => effects,
  });
}

/** A durable inbox whose calls fail as the sweep says. */
const failingInbox = (rows: Inbox<MemoryTransaction>, calls: Calls): Inbox<MemoryTransaction> =>
  overrideInbox(interceptInbox(rows, calls.through), { durable: true });

function failingConnection(inner: SqliteConnection, { throughNow }: Calls): SqliteConnection {
  const kindOf = (statement: string) => statement.trim().split(/\s+/).slice(0, 2).join(" ");
  return {
    native: inner.native,
    isInTransaction: () => inner.isInTransaction(),
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

/** No power failure is tested here, so hundreds of runs do not wait for the disk. */
const withoutSync = (statement: string) => statement.replace("synchronous = FULL", "synchronous = OFF");
