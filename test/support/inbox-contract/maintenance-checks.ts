import { expect } from "vitest";
import { claimIds, claimOne, claimOptions, completedAt, rowAt, settle, source } from "./contract-rows.ts";
import type { Checks, InboxFixture } from "./inbox-fixture.ts";

const hourMs = 3_600_000;
const dead = { kind: "dead", error: "broken" } as const;

export const retentionChecks: Checks = {
  async "removes bodies first, settled rows later, heads last, and no dead or quarantined rows"({
    inbox,
    clock,
  }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 9_000, unhandledBodiesMs: 20_000 };
    const [settled, failed] = [rowAt("task-1", 1), rowAt("task-2", 1)];
    const odd = rowAt("task-4", 1, { quarantine: "odd" });
    await inbox.insert(settled);
    await settle(inbox, await claimOne(inbox));
    await inbox.insert(failed);
    await inbox.fail(await claimOne(inbox), dead);
    await inbox.insert(rowAt("task-3", 1, { id: "waiting" }));
    await inbox.insert(odd);
    expect(await inbox.purge(retention, 100)).toBe(0);

    await clock.advance(1_000);
    expect(await inbox.purge(retention, 100)).toBe(1);
    expect(await inbox.get(settled)).toMatchObject({ state: "done", bodyBytes: null, body: null });
    expect(await inbox.insert(settled)).toEqual({ outcome: "duplicate", sameBody: null });
    expect(await inbox.replay(settled, settled)).toBe(false);

    await clock.advance(4_000);
    expect(await inbox.purge(retention, 100)).toBe(1);
    expect(await inbox.get(settled)).toBeUndefined();
    // Its id is forgotten, but the head still knows: a repetition changes no state.
    await inbox.insert(settled);
    const repeated = (await inbox.claim(claimOptions())).claims.find(({ id }) => id === settled.id);
    if (!repeated) throw new Error("expected the repeated row to be claimed");
    expect(repeated.head).toEqual(settled.position);

    await clock.advance(4_000);
    expect(await inbox.purge(retention, 100)).toBe(0);
    expect(await settle(inbox, repeated)).toBe("settled-stale");
    expect(await inbox.purge(retention, 100)).toBe(2);
    expect(await inbox.head(source, '["task-1"]')).toBeUndefined();
    expect(await inbox.get(failed)).toMatchObject({ state: "dead", bodyBytes: failed.body.byteLength });
    expect(await inbox.get(odd)).toMatchObject({ state: "quarantined" });
    expect(
      (await inbox.get({ source, id: "waiting" }))?.body !== null,
      "the waiting row keeps its body",
    ).toBe(true);
  },
  async "counts ages up to the given time when the clock is ahead of it"({ inbox, clock }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 8_000 };
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    await settle(inbox, await claimOne(inbox));
    const asOfMs = clock.now() + 500;
    await clock.advance(365 * 24 * hourMs);
    expect(await inbox.purge({ ...retention, asOfMs }, 100)).toBe(0);
    expect(await inbox.purge({ ...retention, asOfMs: asOfMs + 500 }, 100)).toBe(1);
    expect(await inbox.get(row)).toMatchObject({ state: "done", body: null });
  },
  async "removes at most the given number of each kind, and everything in the end"({ inbox, clock }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 1_000 };
    for (let n = 0; n < 5; n++) {
      await inbox.insert(rowAt(`task-${n}`, 1));
      await settle(inbox, await claimOne(inbox));
    }
    await clock.advance(10_000);
    for (let changed = 1, calls = 0; changed > 0; calls++) {
      changed = await inbox.purge(retention, 2);
      expect(changed <= 4 && calls < 20, `a purge changed ${changed} in call ${calls}`).toBe(true);
    }
    expect(await inbox.list({})).toEqual([]);
  },
};

const repair = { source, keyOrder: "latest" } as const;
const setBack = ({ clock }: InboxFixture, byMs: number) => clock.setNow(clock.now() - byMs);

export const clockChecks: Checks = {
  async "makes rows due that were stored before the clock was set back"(fixture) {
    const { inbox } = fixture;
    await inbox.insert(rowAt("task-1", 1));
    setBack(fixture, 2 * hourMs);
    expect(await inbox.stats()).toMatchObject({ storedAheadMs: 2 * hourMs });
    expect(await inbox.repairTimes({ ...repair, source: "other" })).toBe(0);
    await inbox.repairTimes(repair);
    expect(await inbox.repairTimes(repair)).toBe(0);
    expect((await claimIds(inbox)).length).toBe(1);
  },
  async "leaves a retry that the plan of another receiver would have made due earlier, until the clock was set back"(
    fixture,
  ) {
    const { inbox } = fixture;
    const retry = { firstDelayMs: 1, delayMsMax: 1 };
    await inbox.insert(rowAt("task-1", 1));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 2 * hourMs, error: "no" });
    expect(await claimIds(inbox, { retry })).toEqual([]);
    expect(await inbox.repairTimes(repair)).toBe(0);
    setBack(fixture, 1_000);
    expect(await inbox.repairTimes(repair)).toBe(0);
    setBack(fixture, 1);
    expect(await inbox.repairTimes(repair)).toBe(1);
    await inbox.fail(await claimOne(inbox, { retry }), { kind: "retry", delayMs: 2 * hourMs, error: "no" });
    expect(await inbox.repairTimes(repair)).toBe(0);
  },
  async "wakes a key with its row when the clock was set back, not when the row was released"(fixture) {
    const { inbox, clock } = fixture;
    await inbox.insert(rowAt("task-1", 1));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 300, error: "no" });
    await clock.advance(700);
    await inbox.fail(await claimOne(inbox), { kind: "release" });
    setBack(fixture, 600);
    expect(await inbox.repairTimes(repair)).toBe(1);
    expect(await inbox.repairTimes(repair)).toBe(0);
    await clock.advance(199);
    expect(await claimIds(inbox)).toEqual([]);
    await clock.advance(1);
    expect((await claimIds(inbox)).length).toBe(1);
  },
  async "ends the lease of a crashed worker one lease after the clock was set back"(fixture) {
    const { inbox, clock } = fixture;
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox, { leaseMs: 5_000 });
    setBack(fixture, 2 * hourMs);
    expect(await inbox.repairTimes(repair)).toBe(1);
    await clock.advance(4_999);
    expect(await claimIds(inbox, { worker: "worker-2" })).toEqual([]);
    await clock.advance(1);
    expect(await claimOne(inbox, { worker: "worker-2" })).toMatchObject({ seq: claim.seq, attempts: 2 });
  },
  async "reclaims no lease that ended after the time up to which the worker trusts the clock"({
    inbox,
    clock,
  }) {
    await inbox.insert(rowAt("task-1", 1));
    await claimOne(inbox);
    const reclaimUntilMs = clock.now() + 1;
    clock.setNow(clock.now() + 3 * hourMs);
    const later = await inbox.claim(claimOptions({ worker: "worker-2", reclaimUntilMs }));
    expect(later).toMatchObject({ claims: [], nowMs: clock.now() });
    const trusting = await inbox.claim(claimOptions({ worker: "worker-2" }));
    expect(trusting).toMatchObject({ claims: [{ attempts: 2 }], nowMs: clock.now() });
  },
};

export const reconcileChecks: Checks = {
  async "returns the keys whose state may be behind, with their workspaces"(fixture) {
    const { inbox, clock } = fixture;
    await inbox.insert(rowAt("quiet", 1));
    await settle(inbox, await claimOne(inbox));
    await inbox.insert(completedAt("finished", 1));
    await settle(inbox, await claimOne(inbox));
    await inbox.insert(rowAt("failing", 1));
    await inbox.fail(await claimOne(inbox), dead);
    await inbox.insert(rowAt("odd", 1, { quarantine: "odd", position: null, workspaceId: null }));
    await clock.advance(10_000);
    const candidates = (options: object = {}) =>
      inbox.reconcileCandidates({ source, runningForMs: 10_000, afterKey: "", limit: 10, ...options });
    const expected = [
      { key: '["failing"]', reason: "dead", workspaceId: "workspace-1" },
      { key: '["odd"]', reason: "quarantined", workspaceId: null },
      { key: '["quiet"]', reason: "running-too-long", workspaceId: "workspace-1" },
    ];
    expect(await candidates()).toEqual(expected);
    expect((await candidates({ runningForMs: 10_001 })).length).toBe(2);
    expect(await candidates({ source: "other", runningForMs: 0 })).toEqual([]);
    // Nothing is known about the age of a head that moved in the future.
    setBack(fixture, hourMs);
    expect((await candidates()).length).toBe(3);
  },
  async "returns no key whose head covers what failed"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    await inbox.fail(await claimOne(inbox), dead);
    await inbox.insert(rowAt("task-2", 1, { quarantine: "odd", position: null }));
    await clock.advance(1);
    for (const task of ["task-1", "task-2"]) {
      await inbox.insert(completedAt(task, 2));
      await settle(inbox, await claimOne(inbox));
    }
    const options = { source, runningForMs: 0, afterKey: "", limit: 10 };
    expect(await inbox.reconcileCandidates(options)).toEqual([]);
  },
  async "returns each key once, in pages that reach every key"({ inbox }) {
    for (const task of ["c", "a", "b"]) {
      for (const second of [1, 2]) {
        await inbox.insert(rowAt(task, second));
        await inbox.fail(await claimOne(inbox), dead);
      }
    }
    const pageAfter = async (afterKey: string) => {
      const page = { source, runningForMs: 10_000, afterKey, limit: 2 };
      return (await inbox.reconcileCandidates(page)).map(({ key }) => key);
    };
    expect(await pageAfter("")).toEqual(['["a"]', '["b"]']);
    expect(await pageAfter('["b"]')).toEqual(['["c"]']);
    expect(await pageAfter('["c"]')).toEqual([]);
  },
  async "keeps marks by source for a process that opens the inbox later"({ inbox, clock, reopen }) {
    expect(await inbox.readMarks(source)).toEqual({ nowMs: clock.now(), marks: {} });
    await inbox.writeMarks(source, { a: "1", b: "2" });
    await inbox.writeMarks(source, { b: "3" });
    expect((await (await reopen()).readMarks(source)).marks).toEqual({ a: "1", b: "3" });
    expect((await inbox.readMarks("")).marks).toEqual({});
  },
};
