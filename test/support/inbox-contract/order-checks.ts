import { expect } from "vitest";
import { encodePosition } from "../../../receiver-kit/event/event-order.ts";
import {
  begin,
  claimOne,
  claimOptions,
  completedAt,
  positionAt,
  rowAt,
  settle,
  source,
} from "./contract-rows.ts";
import type { Checks } from "./inbox-fixture.ts";

const key = '["task-1"]';

export const orderChecks: Checks = {
  async "never moves a head backwards"({ inbox }) {
    const [older, newer] = [rowAt("task-1", 1), completedAt("task-1", 2)];
    await inbox.insert(newer);
    expect(await settle(inbox, await claimOne(inbox))).toBe("settled");
    await inbox.insert(older);
    const late = await claimOne(inbox);
    expect(late.head).toEqual(newer.position);
    expect(await settle(inbox, late)).toBe("settled-stale");
    const head = { position: newer.position, status: "COMPLETED", unchangedMs: 0 };
    expect(await inbox.head(source, key)).toEqual(head);
    expect(await inbox.get(older)).toMatchObject({ state: "stale" });
  },
  async "leaves the head where it is when a row is settled as stale or has no key"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    expect(await settle(inbox, claim, { state: "stale", advance: null })).toBe("settled");
    await inbox.insert(rowAt("task-1", 2, { orderKey: null, position: null }));
    expect(await settle(inbox, await claimOne(inbox))).toBe("settled");
    expect(await inbox.head(source, '["task-1"]')).toBeUndefined();
  },
  async "settles many concurrent rows, each with its own outcome"({ inbox }) {
    const tasks = Array.from({ length: 12 }, (_, n) => `task-${String(n).padStart(2, "0")}`);
    for (const task of tasks) await inbox.insert(rowAt(task, 5, { id: `new-${task}` }));
    const { claims } = await inbox.claim(claimOptions({ rowsMax: 20 }));
    await Promise.all(claims.map((claim) => settle(inbox, claim)));
    for (const [n, task] of tasks.entries())
      await inbox.insert(rowAt(task, n % 2 ? 9 : 1, { id: `next-${task}` }));
    const next = (await inbox.claim(claimOptions({ rowsMax: 20 }))).claims.toSorted((a, b) => a.seq - b.seq);
    const [first, ...others] = next;
    if (!first) throw new Error("expected claimed rows");
    const lost = { ...first, lease: { ...first.lease, worker: "unknown" } };
    const outcomes = await Promise.all([lost, ...others].map((claim) => settle(inbox, claim)));
    const expected = tasks.map((_, n) => (n === 0 ? "lost" : n % 2 ? "settled" : "settled-stale"));
    expect(outcomes).toEqual(expected);
  },
  async "advances a head in one step, only forwards, and recognises the event that advanced it"({ inbox }) {
    const move = (occurredAt: bigint, rank = 0, id = "a") =>
      inbox.advanceHead({ source, key, position: encodePosition({ occurredAt, rank, id }) });
    const verdicts = [
      await move(5n),
      await move(5n),
      await move(4n),
      await move(-62_135_596_800_000_000_000n),
      await move(5n, 1),
      await move(5n, 1, "b"),
      await move(5n, 1, "B"),
      await move(253_402_300_799_999_999_999n),
      await move(9_000_000_000_000_000_000n),
    ];
    const expected = ["newer", "same", "stale", "stale", "newer", "newer", "stale", "newer", "stale"];
    expect(verdicts).toEqual(expected);
  },
  async "lets one of many concurrent callers advance a head to one position"({ inbox, reopen }) {
    const other = await reopen();
    await inbox.insert(rowAt("task-1", 1));
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? inbox : other).advanceHead({ source, key, position: positionAt(1) }),
      ),
    );
    expect(verdicts.filter((verdict) => verdict === "newer").length).toBe(1);
  },
  async "names the workspace of the newest event that has one"({ inbox }) {
    const workspaces = [null, "workspace-2", null];
    for (const [n, workspaceId] of workspaces.entries()) {
      await inbox.insert(rowAt("a", n, { workspaceId }));
      await settle(inbox, await claimOne(inbox));
    }
    const options = { source, runningForMs: 0, afterKey: "", limit: 10 };
    expect(await inbox.reconcileCandidates(options)).toMatchObject([{ workspaceId: "workspace-2" }]);
  },
  async "returns how long a head has not moved"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    await settle(inbox, await claimOne(inbox));
    await clock.advance(1_234);
    expect(await inbox.head(source, key)).toMatchObject({ unchangedMs: 1_234 });
  },
};

export const transactionChecks: Checks = {
  async "commits a handler's writes, the settled row and the head together"({ inbox, effects }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    const claim = await claimOne(inbox);
    const transaction = begin(inbox, claim);
    await effects.write(transaction.handle, "first");
    await effects.write(transaction.handle, "second");
    expect(await transaction.commit()).toBe("settled");
    expect(await effects.kept()).toEqual(["first", "second"]);
    expect(await inbox.get(row)).toMatchObject({ state: "done", attempts: 1 });
    expect(await inbox.head(source, key)).toMatchObject({ position: row.position });
  },
  async "discards the writes of a transaction that is rolled back, and leaves row and head as they were"({
    inbox,
    effects,
  }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    const claim = await claimOne(inbox);
    const transaction = begin(inbox, claim);
    await effects.write(transaction.handle, "never");
    await transaction.rollback();
    await expect(effects.write(transaction.handle, "late")).rejects.toMatchObject({
      code: "TRANSACTION_ENDED",
    });
    expect(await effects.kept()).toEqual([]);
    expect(await inbox.get(row)).toMatchObject({ state: "running" });
    expect(await inbox.head(source, key)).toBeUndefined();
    expect(await settle(inbox, claim)).toBe("settled");
  },
  async "discards the writes when something newer was applied before, and keeps the row claimed"({
    inbox,
    effects,
  }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    await inbox.advanceHead({ source, key, position: positionAt(9) });
    const transaction = begin(inbox, claim);
    await effects.write(transaction.handle, "old").catch((error: { code?: string }) => {
      expect(error.code).toBe("SUPERSEDED");
    });
    expect(await transaction.commit()).toBe("superseded");
    expect(await effects.kept()).toEqual([]);
    expect(await inbox.head(source, key)).toMatchObject({ position: positionAt(9) });
    expect(await inbox.fail(claim, { kind: "release" })).toBe(true);
  },
  async "stores deliveries while a handler's transaction has not begun"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    const transaction = begin(inbox, claim);
    expect(await inbox.insert(rowAt("task-2", 1))).toEqual({ outcome: "new" });
    expect(await transaction.commit()).toBe("settled");
  },
};
