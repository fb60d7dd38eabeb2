// The promises of every inbox about time, retention, ordering heads and reconciliation, as tests.

import { describe, expect, it } from "vitest";
import { claimOptions, completedAt, runningAt } from "./inbox-rows.ts";
import { claimOne, type InboxFixture, settle } from "./inbox-suite.ts";

const hourMs = 3_600_000;
const retry = { firstDelayMs: 1_000, delayMsMax: hourMs };
const source = "default";
const keyOrder = "latest";

export function describeInboxMaintenance(name: string, create: () => Promise<InboxFixture>): void {
  describe(`${name}: a clock that is set`, () => {
    const setBack = ({ clock }: InboxFixture, byMs: number) => clock.setNow(clock.now() - byMs);

    it("makes rows due that were stored before the clock was set back", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      setBack(fixture, 2 * hourMs);
      expect((await fixture.inbox.claim(claimOptions())).claims).toEqual([]);
      expect((await fixture.inbox.stats()).storedAheadMs).toBe(2 * hourMs);
      expect(await fixture.inbox.repairTimes({ source: "other", retry, keyOrder })).toBe(0);
      expect(await fixture.inbox.repairTimes({ source, retry, keyOrder })).toBe(1);
      expect(await fixture.inbox.repairTimes({ source, retry, keyOrder })).toBe(0);
      expect((await fixture.inbox.claim(claimOptions())).claims).toHaveLength(1);
    });

    it("leaves a retry that is due within its plan, and repairs one that is not", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      await fixture.inbox.fail(await claimOne(fixture.inbox), {
        kind: "retry",
        delayMs: 1_200,
        error: "no",
      });
      expect(await fixture.inbox.repairTimes({ source, retry, keyOrder })).toBe(0);
      setBack(fixture, 10_000);
      expect(await fixture.inbox.repairTimes({ source, retry, keyOrder })).toBe(1);
      await fixture.inbox.fail(await claimOne(fixture.inbox), {
        kind: "retry",
        delayMs: 2_400,
        error: "no",
      });
      expect(await fixture.inbox.repairTimes({ source, retry, keyOrder })).toBe(0);
    });

    it("ends the lease of a crashed worker one lease after the clock was set back", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      const [claim] = (await fixture.inbox.claim(claimOptions({ leaseMs: 5_000 }))).claims;
      setBack(fixture, 2 * hourMs);
      expect(await fixture.inbox.repairTimes({ source, retry, keyOrder })).toBe(1);
      await fixture.clock.advance(4_999);
      expect((await fixture.inbox.claim(claimOptions({ worker: "w-2" }))).claims).toEqual([]);
      await fixture.clock.advance(1);
      const [again] = (await fixture.inbox.claim(claimOptions({ worker: "w-2" }))).claims;
      expect(again).toMatchObject({ seq: claim!.seq, attempts: 2 });
    });

    it("reclaims no lease that ended after the time up to which the worker trusts the clock", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      await claimOne(fixture.inbox);
      const reclaimUntilMs = fixture.clock.now() + 1;
      fixture.clock.setNow(fixture.clock.now() + 3 * hourMs);
      const later = await fixture.inbox.claim(claimOptions({ worker: "w-2", reclaimUntilMs }));
      expect(later).toMatchObject({ claims: [], nowMs: fixture.clock.now() });
      const trusting = await fixture.inbox.claim(claimOptions({ worker: "w-2" }));
      expect(trusting).toMatchObject({ claims: [{ attempts: 2 }], nowMs: fixture.clock.now() });
    });

    it("starts the lease of an inline row again at the first contact after the clock was set back", async () => {
      await using fixture = await create();
      const webhook = { id: "msg_inline", timestamp: 1_772_357_400, body: Buffer.from("{}"), secretIndex: 0 };
      const begin = () => fixture.inbox.beginInline(webhook, { source, leaseMs: 1_000 });
      expect(await begin()).toMatchObject({ state: "begun" });
      setBack(fixture, 2 * hourMs);
      expect(await begin()).toEqual({ state: "busy", retryAfterMs: 1_000 });
      await fixture.clock.advance(1_000);
      expect(await begin()).toEqual({ state: "begun", generation: 2 });
    });
  });

  describe(`${name}: retention`, () => {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 8_000 };

    it("removes the bodies of dead and quarantined rows after their own limit, and keeps the rows", async () => {
      await using fixture = await create();
      const [dead, odd] = [runningAt("task-1", 1), runningAt("task-2", 1, { quarantine: "odd" })];
      await fixture.inbox.insert(dead);
      await fixture.inbox.insert(odd);
      await fixture.inbox.fail(await claimOne(fixture.inbox), { kind: "dead", error: "broken" });
      await fixture.clock.advance(7_999);
      expect(await fixture.inbox.purge(retention, 100)).toBe(0);
      await fixture.clock.advance(1);
      expect(await fixture.inbox.purge(retention, 100)).toBe(2);
      expect(await fixture.inbox.get(dead)).toMatchObject({ state: "dead", body: null });
      expect(await fixture.inbox.get(odd)).toMatchObject({ state: "quarantined", body: null });
    });

    it("keeps the id of a row that was replayed late", async () => {
      await using fixture = await create();
      const row = runningAt("task-1", 1, { quarantine: "odd" });
      await fixture.inbox.insert(row);
      await fixture.clock.advance(6_000);
      expect(await fixture.inbox.replay(row, row)).toBe(true);
      await settle(fixture.inbox, await claimOne(fixture.inbox));
      await fixture.clock.advance(4_000);
      await fixture.inbox.purge(retention, 100);
      expect(await fixture.inbox.insert(row)).toMatchObject({ outcome: "duplicate" });
      await fixture.clock.advance(1_000);
      await fixture.inbox.purge(retention, 100);
      expect(await fixture.inbox.insert(row)).toMatchObject({ outcome: "new" });
    });

    it("counts ages up to the given time when the clock is ahead of it", async () => {
      await using fixture = await create();
      const row = runningAt("task-1", 1);
      await fixture.inbox.insert(row);
      await settle(fixture.inbox, await claimOne(fixture.inbox));
      const asOfMs = fixture.clock.now() + 500;
      await fixture.clock.advance(365 * 24 * hourMs);
      expect(await fixture.inbox.purge({ ...retention, asOfMs }, 100)).toBe(0);
      expect(await fixture.inbox.purge({ ...retention, asOfMs: asOfMs + 500 }, 100)).toBe(1);
      expect(await fixture.inbox.get(row)).toMatchObject({ state: "done", body: null });
    });
  });

  describe(`${name}: ordering heads`, () => {
    it("lists heads by key in pages, and resets one", async () => {
      await using fixture = await create();
      for (const task of ["b", "a", "a2", "c"]) {
        await fixture.inbox.insert(completedAt(task, 1));
        await settle(fixture.inbox, await claimOne(fixture.inbox));
      }
      const keysOf = async (filter: object) =>
        (await fixture.inbox.listHeads({ source, ...filter })).map(({ key }) => key);
      expect(await keysOf({ limit: 2 })).toEqual(['["a"]', '["a2"]']);
      expect(await keysOf({ limit: 2, afterKey: '["a2"]' })).toEqual(['["b"]', '["c"]']);
      expect(await keysOf({ keyPrefix: '["a"' })).toEqual(['["a"]']);
      expect(await keysOf({ source: "other" })).toEqual([]);
      const [head] = await fixture.inbox.listHeads({ source, limit: 1 });
      expect(head).toEqual({
        ...{ source, key: '["a"]', position: completedAt("a", 1, {}).position?.replace(/[^.]*$/, "") },
        ...{ status: "COMPLETED", workspaceId: "workspace-1", movedAtMs: fixture.clock.now() },
        position: head?.position,
      });
      expect(await fixture.inbox.resetHead({ source, key: '["a"]' })).toBe(true);
      expect(await fixture.inbox.resetHead({ source, key: '["a"]' })).toBe(false);
      expect(await fixture.inbox.head(source, '["a"]')).toBeUndefined();
      expect(await keysOf({})).toEqual(['["a2"]', '["b"]', '["c"]']);
    });

    it("names the workspace of the newest event that has one", async () => {
      await using fixture = await create();
      for (const newRow of [
        runningAt("a", 1, { workspaceId: null }),
        completedAt("a", 2, { workspaceId: "workspace-2" }),
        completedAt("a", 3, { workspaceId: null }),
      ]) {
        await fixture.inbox.insert(newRow);
        await settle(fixture.inbox, await claimOne(fixture.inbox));
      }
      expect(await fixture.inbox.listHeads({ source, limit: 1 })).toMatchObject([
        { workspaceId: "workspace-2" },
      ]);
    });

    it("returns how long a head has not moved", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      await settle(fixture.inbox, await claimOne(fixture.inbox));
      await fixture.clock.advance(1_234);
      expect(await fixture.inbox.head(source, '["task-1"]')).toMatchObject({ unchangedMs: 1_234 });
    });
  });

  describe(`${name}: reconciliation`, () => {
    const candidates = (fixture: InboxFixture, options: object = {}) =>
      fixture.inbox.reconcileCandidates({
        source,
        runningForMs: 10_000,
        afterKey: "",
        limit: 10,
        ...options,
      });

    it("returns the keys whose state may be behind, with their workspaces", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("quiet", 1));
      await settle(fixture.inbox, await claimOne(fixture.inbox));
      await fixture.inbox.insert(completedAt("finished", 1));
      await settle(fixture.inbox, await claimOne(fixture.inbox));
      await fixture.inbox.insert(runningAt("failing", 1));
      await fixture.inbox.fail(await claimOne(fixture.inbox), { kind: "dead", error: "broken" });
      const odd = { quarantine: "occurredAt is odd", position: null, workspaceId: null };
      await fixture.inbox.insert(runningAt("odd", 1, odd));
      await fixture.clock.advance(10_000);
      expect(await candidates(fixture)).toEqual([
        { key: '["failing"]', reason: "dead", workspaceId: "workspace-1" },
        { key: '["odd"]', reason: "quarantined", workspaceId: null },
        { key: '["quiet"]', reason: "running-too-long", workspaceId: "workspace-1" },
      ]);
      expect(await candidates(fixture, { runningForMs: 10_001 })).toHaveLength(2);
      expect(await candidates(fixture, { source: "other", runningForMs: 0 })).toEqual([]);
      // Nothing is known about the age of a head that moved in the future.
      fixture.clock.setNow(fixture.clock.now() - hourMs);
      expect(await candidates(fixture)).toHaveLength(3);
    });

    it("returns each key once, in pages that reach every key", async () => {
      await using fixture = await create();
      for (const task of ["c", "a", "b"]) {
        for (const second of [1, 2]) {
          await fixture.inbox.insert(runningAt(task, second));
          await fixture.inbox.fail(await claimOne(fixture.inbox), { kind: "dead", error: "broken" });
        }
      }
      const pageAfter = async (afterKey: string) =>
        (await candidates(fixture, { afterKey, limit: 2 })).map(({ key }) => key);
      expect(await pageAfter("")).toEqual(['["a"]', '["b"]']);
      expect(await pageAfter('["b"]')).toEqual(['["c"]']);
      expect(await pageAfter('["c"]')).toEqual([]);
    });

    it("keeps marks by source for a process that opens the inbox later", async () => {
      await using fixture = await create();
      expect(await fixture.inbox.readMarks(source)).toEqual({ nowMs: fixture.clock.now(), marks: {} });
      await fixture.inbox.writeMarks(source, { a: "1", b: "2" });
      await fixture.inbox.writeMarks(source, { b: "3" });
      expect((await (await fixture.reopen()).readMarks(source)).marks).toEqual({ a: "1", b: "3" });
      expect((await fixture.inbox.readMarks("")).marks).toEqual({});
    });
  });
}
