import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { loadSqliteDriver } from "../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { claimOptions, completedAt, runningAt } from "../../../support/inbox-rows.ts";
import { sqliteInbox } from "../../../support/inbox-stores.ts";
import { interceptSqlite } from "../../../support/intercept-sqlite.ts";
import { createFixtureClock } from "../../../support/receiver-fixture.ts";
import { secretA } from "../../../support/signed-delivery.ts";

const leaseMs = 30_000;

describe("a receiver that closes while a failed attempt waits for SQLite and cannot be recorded", () => {
  it("keeps the lease of the key, so that the attempt is counted when the lease ends", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-stop-"));
    const clock = createFixtureClock();
    const open = await loadSqliteDriver("libsql");
    let isLocked = false;
    let isFull = true;
    const driver = (name: string) =>
      interceptSqlite(open(name), (statement, call) => {
        if (isLocked) throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
        if (!isFull || !statement.startsWith("UPDATE workspace_tasks_queue")) return call();
        throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
      });
    const inbox = sqliteInbox({ path: path.join(directory, "inbox.db"), driver, clock });
    await inbox.open();
    const [first, second] = [runningAt("task", 1), completedAt("task", 2)];
    // After the others have been handled quickly, both rows of the task are claimed together.
    for (const row of [runningAt("a", 1), runningAt("b", 1), runningAt("c", 1), first, second])
      await inbox.insert(row);
    const logger = { info() {}, warn() {}, error() {} };
    const receiver = createReceiver({ secrets: [secretA], inbox, clock, leaseMs, logger, concurrency: 1 });
    const handled = new Promise<void>((resolve) => {
      receiver.on("task.*", ({ taskId }) => {
        if (taskId !== "task") return;
        isLocked = true;
        resolve();
        throw new Error("fails");
      });
    });
    await receiver.start();
    await handled;
    await clock.settle();
    const closed = receiver.close({ graceMs: 5_000 });
    await clock.settle();
    isLocked = false;
    await clock.advance(100);
    await closed;

    isFull = false;
    await inbox.open();
    const claimed = async () =>
      (await inbox.claim(claimOptions({ leaseMs }))).claims.map(({ id, attempts }) => `${id} ${attempts}`);
    expect(await claimed()).toEqual([]);
    await clock.advance(leaseMs);
    expect(await claimed()).toEqual([`${first.id} 2`]);
    await inbox.close();
    await rm(directory, { recursive: true, force: true });
  });
});
