import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { SqliteTransaction } from "@workspace-tasks/receiver-kit/sqlite";
import { describe, expect, it } from "vitest";
import type { InboxClaim, InboxStore } from "../../../../../receiver-kit/inbox/inbox.ts";
import { loadSqliteDriver } from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { sqliteInbox } from "../../../../support/inbox-stores.ts";
import { type AroundStatement, interceptSqlite } from "../../../../support/intercept-sqlite.ts";

/** An inbox with claimed rows of tasks `a`, `b`, `c`; records the statements that begin and end transactions. */
async function createFixture() {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-shared-"));
  const file = path.join(directory, "inbox.db");
  const clock = createVirtualClock();
  const opener = await loadSqliteDriver("libsql");
  const executed: string[] = [];
  let failCommits = 0;
  const around: AroundStatement = (statement, call) => {
    if (/^(BEGIN|COMMIT)/.test(statement)) executed.push(statement);
    if (statement !== "COMMIT" || failCommits === 0) return call();
    failCommits -= 1;
    throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_FULL" });
  };
  const driver = (name: string) => {
    const connection = interceptSqlite(opener(name), around);
    let isClosed = false;
    return {
      ...connection,
      isInTransaction() {
        // libsql ends the process.
        if (isClosed) throw new Error("a closed connection was used");
        return connection.isInTransaction();
      },
      close() {
        isClosed = true;
        connection.close();
      },
    };
  };
  const inbox = sqliteInbox({ path: file, driver, clock });
  await inbox.open();
  await inbox.insert(runningAt("setup", 1));
  const setup = (await inbox.claim(claimOptions())).claims[0]!;
  const created = inbox.begin([{ claim: setup, settlement: doneWith(setup) }], { timeoutMs: 1_000 });
  await created.handle.query("CREATE TABLE effects (name TEXT UNIQUE)");
  await created.commit();
  for (const task of ["a", "b", "c"]) await inbox.insert(runningAt(task, 1));
  const claims = [...(await inbox.claim(claimOptions())).claims];
  executed.length = 0;
  return {
    inbox,
    clock,
    executed,
    claims,
    failNextCommit: () => {
      failCommits = 1;
    },
    kept() {
      const connection = opener(file);
      const rows = connection.query("SELECT name FROM effects ORDER BY name");
      connection.close();
      return rows.map(({ name }) => String(name));
    },
    stateOf: async ({ source, id }: InboxClaim) => (await inbox.get({ source, id }))?.state,
    async [Symbol.asyncDispose]() {
      await inbox.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const write = "INSERT INTO effects VALUES (?)";

/** What a handler does that writes one row. */
async function handle(inbox: InboxStore<SqliteTransaction>, claim: InboxClaim, statement = write) {
  const transaction = inbox.begin([{ claim, settlement: doneWith(claim) }], { timeoutMs: 1_000 });
  try {
    await transaction.handle.query(statement, [claim.orderKey]);
  } catch (error) {
    await transaction.rollback();
    return { error };
  }
  return { outcome: await transaction.commit() };
}

describe("transactions that events share on SQLite", () => {
  it("commit the writes and the ends of their events, and deliveries that arrive meanwhile, at once", async () => {
    await using at = await createFixture();
    const inserted = [] as Promise<unknown>[];
    const outcomes = at.claims.map(async (claim, index) => {
      const { outcome } = await handle(at.inbox, claim);
      return [index, outcome];
    });
    inserted.push(at.inbox.insert(runningAt("d", 1)), at.inbox.insert(runningAt("e", 1)));
    expect(await Promise.all(outcomes)).toEqual([0, 1, 2].map((index) => [index, "settled"]));
    expect(await Promise.all(inserted)).toEqual([{ outcome: "new" }, { outcome: "new" }]);
    expect(at.kept()).toHaveLength(3);
    expect(at.executed.filter((statement) => statement === "COMMIT").length).toBeLessThanOrEqual(2);
  });

  it("lose only the writes of an event whose handler fails", async () => {
    await using at = await createFixture();
    const [a, b, c] = at.claims;
    const failing = "INSERT INTO effects VALUES (?), (NULL), (abs(-9223372036854775808))";
    const [first, failed, last] = await Promise.all([
      handle(at.inbox, a!),
      handle(at.inbox, b!, failing),
      handle(at.inbox, c!),
    ]);
    expect([first, last]).toEqual([{ outcome: "settled" }, { outcome: "settled" }]);
    expect(failed).toMatchObject({ error: { message: expect.stringMatching("overflow") } });
    expect(at.kept()).toEqual([a, c].map((claim) => claim!.orderKey));
    expect(await at.stateOf(b!)).toBe("running");
  });

  it("are not cut off by another receiver that closes the inbox", async () => {
    await using at = await createFixture();
    await at.inbox.open();
    const [a] = at.claims;
    const transaction = at.inbox.begin([{ claim: a!, settlement: doneWith(a!) }], { timeoutMs: 1_000 });
    await transaction.handle.query(write, [a!.orderKey]);
    await at.inbox.close();
    await transaction.handle.query(write, ["more"]);
    expect(await transaction.commit()).toBe("settled");
    expect(at.kept()).toEqual([a!.orderKey, "more"]);
  });

  it("are waited for by the last receiver that closes the inbox, when they begin at that moment", async () => {
    await using at = await createFixture();
    const [a] = at.claims;
    const handled = handle(at.inbox, a!);
    await at.inbox.close();
    expect(await handled).toEqual({ outcome: "settled" });
    expect(at.kept()).toEqual([a!.orderKey]);
    await at.inbox.open();
  });

  it("undo an event whose handler exceeds the time limit, and commit the others", async () => {
    await using at = await createFixture();
    const [a, b] = at.claims;
    const first = handle(at.inbox, a!);
    const slow = at.inbox.begin([{ claim: b!, settlement: doneWith(b!) }], { timeoutMs: 1_000 });
    await slow.handle.query(write, [b!.orderKey]);
    await at.clock.advance(1_001);
    expect(await first).toEqual({ outcome: "settled" });
    await expect(slow.commit()).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    await slow.rollback();
    expect(at.kept()).toEqual([a!.orderKey]);
    // The writer leaves the lock free for a moment.
    await at.clock.advance(100);
  });

  it("are shared by later events of the same name after one exceeded the time limit", async () => {
    await using at = await createFixture();
    const [a] = at.claims;
    const slow = at.inbox.begin([{ claim: a!, settlement: doneWith(a!) }], { timeoutMs: 1_000 });
    await slow.handle.query(write, [a!.orderKey]);
    await at.clock.advance(1_001);
    await slow.rollback();
    await at.clock.advance(100);
    const names = Array.from({ length: 20 }, (_, n) => `later-${n}`);
    for (const name of names) await at.inbox.insert(runningAt(name, 1));
    const { claims } = await at.inbox.claim(claimOptions({ rowsMax: 20 }));
    at.executed.length = 0;
    const outcomes = await Promise.all(claims.map((claim) => handle(at.inbox, claim)));
    expect(outcomes).toEqual(names.map(() => ({ outcome: "settled" })));
    expect(at.executed).toEqual(["BEGIN IMMEDIATE", "COMMIT"]);
  });

  it("are given up when a statement of one event ends them, and the next of each other event is its own", async () => {
    await using at = await createFixture();
    const [a, b, c] = at.claims;
    const delivery = runningAt("d", 1);
    const inserted = at.inbox.insert(delivery);
    const ending = "INSERT OR ROLLBACK INTO effects SELECT ? UNION ALL SELECT 'x' UNION ALL SELECT 'x'";
    const [first, ended] = await Promise.all([
      handle(at.inbox, a!),
      handle(at.inbox, b!, ending),
      handle(at.inbox, c!),
    ]);
    expect(first).toEqual({ outcome: "lost" });
    expect(ended?.error).toMatchObject({ message: expect.stringMatching("UNIQUE") });
    expect(await handle(at.inbox, a!)).toEqual({ outcome: "settled" });
    expect(at.kept()).toContain(a!.orderKey);
    expect(at.kept()).not.toContain("x");
    expect(await inserted).toEqual({ outcome: "new" });
    expect(await at.inbox.get(delivery)).toBeDefined();
  });

  it("are given up when their commit fails, and the deliveries that took part are written", async () => {
    await using at = await createFixture();
    const [a] = at.claims;
    const first = at.inbox.begin([{ claim: a!, settlement: doneWith(a!) }], { timeoutMs: 1_000 });
    await first.handle.query(write, [a!.orderKey]);
    at.failNextCommit();
    const inserted = at.inbox.insert(runningAt("d", 1));
    expect(await first.commit()).toBe("lost");
    expect(await inserted).toEqual({ outcome: "new" });
    expect(at.kept()).toEqual([]);
    expect(await handle(at.inbox, a!)).toEqual({ outcome: "settled" });
    expect(at.kept()).toEqual([a!.orderKey]);
  });

  it("commit nothing of an event whose lease was lost, and everything of the others", async () => {
    await using at = await createFixture();
    const [a, b] = at.claims;
    await at.clock.advance(31_000);
    const renewed = await at.inbox.renew([a!.lease], 30_000);
    expect(renewed.has(a!.lease)).toBe(true);
    await at.inbox.claim(claimOptions({ worker: "worker-2" }));
    const [kept, lost] = await Promise.all([handle(at.inbox, a!), handle(at.inbox, b!)]);
    expect(kept).toEqual({ outcome: "settled" });
    expect(lost).toMatchObject({ error: { code: "LEASE_LOST" } });
    expect(at.kept()).toEqual([a!.orderKey]);
  });
});
