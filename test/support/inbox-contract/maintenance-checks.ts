import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { expect } from "vitest";
import type { InboxClaim, InboxClaimOptions, InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { keepShard } from "../../../receiver-kit/maintenance/keep-shard.ts";
import { overrideInbox } from "../wrap-inbox.ts";
import { claimOne, claimOptions, completedAt, rowAt, settle, source } from "./contract-rows.ts";
import type { Checks } from "./inbox-fixture.ts";

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
  async "counts the age of a replayed row from its replay"({ inbox, clock }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 8_000 };
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    await settle(inbox, await claimOne(inbox));
    await clock.advance(900);
    await inbox.replay(row, row);
    await settle(inbox, await claimOne(inbox));
    await clock.advance(999);
    expect(await inbox.purge(retention, 100)).toBe(0);
    await clock.advance(1);
    expect(await inbox.purge(retention, 100)).toBe(1);
  },
  async "removes an old row also behind one that was stored before the clock was set back"({ inbox, clock }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 8_000 };
    const [ahead, old] = [rowAt("task-1", 1), rowAt("task-2", 1)];
    clock.setNow(clock.now() + 365 * 24 * hourMs);
    await inbox.insert(ahead);
    await settle(inbox, await claimOne(inbox));
    clock.setNow(clock.now() - 365 * 24 * hourMs);
    await inbox.insert(old);
    await settle(inbox, await claimOne(inbox));
    await clock.advance(5_000);
    for (let changed = 1; changed > 0; ) changed = await inbox.purge(retention, 100);
    expect((await inbox.list({})).map(({ id }) => id)).toEqual([ahead.id]);
  },
  // The tables are compared after the check: a body without its row would never be removed.
  async "removes no row before its body, also one that ends behind a round of bodies"({ inbox, clock }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 20_000 };
    const failed = rowAt("task-0", 1);
    await inbox.insert(failed);
    await inbox.fail(await claimOne(inbox), dead);
    await clock.advance(5_000);
    for (let n = 1; n < 4; n++) {
      await inbox.insert(rowAt(`task-${n}`, 1));
      await settle(inbox, await claimOne(inbox));
    }
    await clock.advance(1_000);
    expect(await inbox.purge(retention, 1)).toBe(1);
    await inbox.discard(failed);
    expect(await inbox.purge(retention, 1)).toBe(1);
    expect((await inbox.list({})).length).toBeGreaterThanOrEqual(3);
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

const longestMs = 3_600_000;

export const clockChecks: Checks = {
  async "claims a row that was stored before the clock was set back"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    clock.setNow(clock.now() - 2 * hourMs);
    expect(await inbox.stats()).toMatchObject({ storedAheadMs: 2 * hourMs });
    expect(await claimAll(inbox)).toEqual(["msg_task-1_1_RUNNING"]);
  },
  async "claims a row that is due further ahead than the longest delay, and not one that is due within it"({
    inbox,
    clock,
  }) {
    const options = { retry: { firstDelayMs: 1_000, delayMsMax: longestMs } };
    await inbox.insert(rowAt("task-1", 1));
    const failure = { kind: "retry", delayMs: longestMs, error: "no", counts: true } as const;
    await inbox.fail(await claimOne(inbox), failure);
    expect(await claimAll(inbox, options)).toEqual([]);
    clock.setNow(clock.now() - 1_001);
    expect(await claimAll(inbox, { ...options, source: "other" })).toEqual([]);
    expect(await claimAll(inbox, options)).toEqual(["msg_task-1_1_RUNNING"]);
  },
  async "claims a row behind others of its source after the clock was set back"({ inbox, clock }) {
    for (const task of ["task-1", "task-2"]) await inbox.insert(rowAt(task, 1, { id: task }));
    for (const claim of (await inbox.claim(claimOptions())).claims)
      await inbox.fail(claim, { kind: "retry", delayMs: longestMs, error: "no", counts: true });
    await inbox.insert(rowAt("task-3", 1, { id: "task-3" }));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 60_000, error: "no", counts: true });
    clock.setNow(clock.now() - 30_000);
    expect((await claimAll(inbox)).toSorted()).toEqual(["task-1", "task-2"]);
  },
  async "takes over a lease that ends further ahead than the longest delay, and fences its holder"({
    inbox,
    clock,
  }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox, { leaseMs: 5_000 });
    clock.setNow(clock.now() - 2 * hourMs);
    const [taken] = await claimRows(inbox, { worker: "worker-2" });
    expect(taken).toMatchObject({ seq: claim.seq, attempts: 2 });
    expect(await settle(inbox, claim)).toBe("lost");
    expect(await settle(inbox, taken!)).toBe("settled");
  },
  async "leaves a lease to its holder when the clock was set back by less"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox, { leaseMs: 5_000 });
    clock.setNow(clock.now() - 600_000);
    expect(await claimAll(inbox, { worker: "worker-2" })).toEqual([]);
    expect(await settle(inbox, claim)).toBe("settled");
  },
  async "fences the holder of a lease that ended early because the clock was set forward"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    clock.setNow(clock.now() + 3 * hourMs);
    const [taken] = await claimRows(inbox, { worker: "worker-2" });
    expect(taken).toMatchObject({ attempts: 2 });
    expect(await settle(inbox, claim)).toBe("lost");
    expect(await settle(inbox, taken!)).toBe("settled");
  },
};

/** Polls as a worker does: again while more is due. */
async function claimRows(inbox: InboxStore, fields: Partial<InboxClaimOptions> = {}) {
  const claimed: InboxClaim[] = [];
  for (let poll = 0; poll < 3; poll++) {
    const { claims, nextInMs } = await inbox.claim(claimOptions(fields));
    claimed.push(...claims);
    if (nextInMs === null || nextInMs > 0) break;
  }
  return claimed;
}

const claimAll = async (inbox: InboxStore, fields: Partial<InboxClaimOptions> = {}) =>
  (await claimRows(inbox, fields)).map(({ id }) => id);

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
    clock.setNow(clock.now() - hourMs);
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
  async "keeps the first mark of a name for processes that begin at once"({ inbox, reopen }) {
    const other = await reopen();
    await inbox.writeMarks(source, { a: "1" });
    for (let round = 0; round < 20; round++) {
      const name = `mark-${round}`;
      const kept = await Promise.all([
        inbox.keepMark(source, name, "first"),
        other.keepMark(source, name, "second"),
      ]);
      const { marks } = await other.readMarks(source);
      expect([kept[0], kept[1], marks["a"]]).toEqual([marks[name], marks[name], "1"]);
    }
  },
  async "refuses a shard of a process that read the marks before another one kept its own"({
    inbox,
    reopen,
  }) {
    const [read, kept] = [deferred(), deferred()];
    const other = await reopen();
    const late = overrideInbox(other, {
      async readMarks(of) {
        const found = await other.readMarks(of);
        read.resolve();
        await kept.promise;
        return found;
      },
    });
    const refused = expect(keepShard(late, source, { shard: 1, shards: 2 })).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringMatching(/holds shard 0 of 2 and not 1 of 2/),
    });
    await read.promise;
    await keepShard(inbox, source, { shard: 0, shards: 2 });
    kept.resolve();
    await refused;
    await keepShard(other, source, { shard: 0, shards: 2 });
  },
};
