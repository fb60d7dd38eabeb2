import { holds, includes, same } from "./assertions.ts";
import { checkGroup } from "./conformance-check.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import { claimIds, claimOne, claimOptions, completedAt, rowAt, settle, source } from "./inbox-rows.ts";

const hourMs = 3_600_000;
const dead = { kind: "dead", error: "broken" } as const;

export const retentionChecks = checkGroup<InboxFixture>("retention", {
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
    same(await inbox.purge(retention, 100), 0, "purged at once");

    await clock.advance(1_000);
    same(await inbox.purge(retention, 100), 1, "purged after bodiesMs");
    includes(await inbox.get(settled), { state: "done", bodyBytes: null, body: null }, "the settled row");
    same(await inbox.insert(settled), { outcome: "duplicate", sameBody: null }, "insert of its id");
    same(await inbox.replay(settled, settled), false, "replay without a body");

    await clock.advance(4_000);
    same(await inbox.purge(retention, 100), 1, "purged after rowsMs");
    same(await inbox.get(settled), undefined, "the settled row");
    // Its id is forgotten, but the head still knows: a repetition changes no state.
    await inbox.insert(settled);
    const repeated = (await inbox.claim(claimOptions())).claims.find(({ id }) => id === settled.id);
    if (!repeated) throw new Error("expected the repeated row to be claimed");
    same(repeated.head, settled.position, "head of the repeated row");

    await clock.advance(4_000);
    same(await inbox.purge(retention, 100), 0, "purged while a row of the key waits");
    same(await settle(inbox, repeated), "settled-stale", "settle of the repeated row");
    same(await inbox.purge(retention, 100), 2, "purged after headsMs: a body and the head");
    same(await inbox.head(source, '["task-1"]'), undefined, "the head");
    includes(await inbox.get(failed), { state: "dead", bodyBytes: failed.body.byteLength }, "the dead row");
    includes(await inbox.get(odd), { state: "quarantined" }, "the quarantined row");
    holds((await inbox.get({ source, id: "waiting" }))?.body !== null, "the waiting row keeps its body");
  },
  async "removes the bodies of dead and quarantined rows after their own limit, and keeps the rows"({
    inbox,
    clock,
  }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 8_000 };
    const [failed, odd] = [rowAt("task-1", 1), rowAt("task-2", 1, { quarantine: "odd" })];
    await inbox.insert(failed);
    await inbox.insert(odd);
    await inbox.fail(await claimOne(inbox), dead);
    await clock.advance(7_999);
    same(await inbox.purge(retention, 100), 0, "purged before the limit");
    await clock.advance(1);
    same(await inbox.purge(retention, 100), 2, "purged at the limit");
    includes(await inbox.get(failed), { state: "dead", body: null }, "the dead row");
    includes(await inbox.get(odd), { state: "quarantined", body: null }, "the quarantined row");
  },
  async "keeps the id of a row that was replayed late"({ inbox, clock }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 8_000 };
    const row = rowAt("task-1", 1, { quarantine: "odd" });
    await inbox.insert(row);
    await clock.advance(6_000);
    same(await inbox.replay(row, row), true, "replay");
    await settle(inbox, await claimOne(inbox));
    await clock.advance(4_000);
    await inbox.purge(retention, 100);
    includes(await inbox.insert(row), { outcome: "duplicate" }, "insert before its age");
    await clock.advance(1_000);
    await inbox.purge(retention, 100);
    includes(await inbox.insert(row), { outcome: "new" }, "insert after its age");
  },
  async "counts ages up to the given time when the clock is ahead of it"({ inbox, clock }) {
    const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 8_000 };
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    await settle(inbox, await claimOne(inbox));
    const asOfMs = clock.now() + 500;
    await clock.advance(365 * 24 * hourMs);
    same(await inbox.purge({ ...retention, asOfMs }, 100), 0, "purged as of half a second later");
    same(await inbox.purge({ ...retention, asOfMs: asOfMs + 500 }, 100), 1, "purged as of a second later");
    includes(await inbox.get(row), { state: "done", body: null }, "the row");
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
      holds(changed <= 4 && calls < 20, `a purge changed ${changed} in call ${calls}`);
    }
    same(await inbox.list({}), [], "rows");
  },
});

const repair = { source, keyOrder: "latest" } as const;
const setBack = ({ clock }: InboxFixture, byMs: number) => clock.setNow(clock.now() - byMs);

export const clockChecks = checkGroup<InboxFixture>("a clock that is set", {
  async "makes rows due that were stored before the clock was set back"(fixture) {
    const { inbox } = fixture;
    await inbox.insert(rowAt("task-1", 1));
    setBack(fixture, 2 * hourMs);
    includes(await inbox.stats(), { storedAheadMs: 2 * hourMs }, "statistics");
    same(await inbox.repairTimes({ ...repair, source: "other" }), 0, "repaired keys of another source");
    await inbox.repairTimes(repair);
    same(await inbox.repairTimes(repair), 0, "keys repaired again");
    same((await claimIds(inbox)).length, 1, "claimed rows");
  },
  async "leaves a retry that the plan of another receiver would have made due earlier, until the clock was set back"(
    fixture,
  ) {
    const { inbox } = fixture;
    const retry = { firstDelayMs: 1, delayMsMax: 1 };
    await inbox.insert(rowAt("task-1", 1));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 2 * hourMs, error: "no" });
    same(await claimIds(inbox, { retry }), [], "claimed rows before");
    same(await inbox.repairTimes(repair), 0, "repaired keys before");
    setBack(fixture, 1_000);
    same(await inbox.repairTimes(repair), 0, "repaired keys after an ordinary correction");
    setBack(fixture, 1);
    same(await inbox.repairTimes(repair), 1, "repaired keys after the clock was set back");
    await inbox.fail(await claimOne(inbox, { retry }), { kind: "retry", delayMs: 2 * hourMs, error: "no" });
    same(await inbox.repairTimes(repair), 0, "repaired keys after the second failure");
  },
  async "ends the lease of a crashed worker one lease after the clock was set back"(fixture) {
    const { inbox, clock } = fixture;
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox, { leaseMs: 5_000 });
    setBack(fixture, 2 * hourMs);
    same(await inbox.repairTimes(repair), 1, "repaired leases");
    await clock.advance(4_999);
    same(await claimIds(inbox, { worker: "worker-2" }), [], "rows before the end of the lease");
    await clock.advance(1);
    includes(await claimOne(inbox, { worker: "worker-2" }), { seq: claim.seq, attempts: 2 }, "the row");
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
    includes(later, { claims: [], nowMs: clock.now() }, "a claim that does not trust the clock");
    const trusting = await inbox.claim(claimOptions({ worker: "worker-2" }));
    includes(trusting, { claims: [{ attempts: 2 }], nowMs: clock.now() }, "a claim that trusts it");
  },
});

export const reconcileChecks = checkGroup<InboxFixture>("reconciling and marks", {
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
    same(await candidates(), expected, "candidates");
    same((await candidates({ runningForMs: 10_001 })).length, 2, "candidates of a longer time");
    same(await candidates({ source: "other", runningForMs: 0 }), [], "candidates of another source");
    // Nothing is known about the age of a head that moved in the future.
    setBack(fixture, hourMs);
    same((await candidates()).length, 3, "candidates after the clock was set back");
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
    same(await inbox.reconcileCandidates(options), [], "candidates");
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
    same(await pageAfter(""), ['["a"]', '["b"]'], "the first page");
    same(await pageAfter('["b"]'), ['["c"]'], "the second page");
    same(await pageAfter('["c"]'), [], "the last page");
  },
  async "keeps marks by source for a process that opens the inbox later"({ inbox, clock, reopen }) {
    same(await inbox.readMarks(source), { nowMs: clock.now(), marks: {} }, "no marks");
    await inbox.writeMarks(source, { a: "1", b: "2" });
    await inbox.writeMarks(source, { b: "3" });
    same((await (await reopen()).readMarks(source)).marks, { a: "1", b: "3" }, "marks");
    same((await inbox.readMarks("")).marks, {}, "marks of no source");
  },
});
