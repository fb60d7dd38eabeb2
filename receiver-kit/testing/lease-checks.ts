import { includes, same } from "./assertions.ts";
import { checkGroup } from "./conformance-check.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import {
  claimIds,
  claimOne,
  claimOptions,
  doneWith,
  rowAt,
  settle,
  source,
  transactionLimits,
} from "./inbox-rows.ts";

export const leaseChecks = checkGroup<InboxFixture>("leases and fencing", {
  async "gives a row to another worker once its lease expired, and not before"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const paused = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(999);
    same(await claimIds(inbox, { worker: "worker-2" }), [], "rows before the end of the lease");
    await clock.advance(1);
    const other = await claimOne(inbox, { worker: "worker-2" });
    includes(other, { seq: paused.seq, attempts: 2 }, "the row");
    same(other.lease.generation > paused.lease.generation, true, "the generation is higher");
  },
  async "fences off a worker whose lease another worker took"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const paused = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(1_000);
    const other = await claimOne(inbox, { worker: "worker-2" });
    same(await inbox.fail(paused, { kind: "dead", error: "late" }), false, "fail");
    same(await settle(inbox, paused), "lost", "settle");
    same((await inbox.renew([paused.lease], 1_000)).size, 0, "renewed leases");
    same(await settle(inbox, other), "settled", "settle of the other worker");
  },
  async "fences off a worker that took its own lease again, with its earlier claim"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const earlier = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(1_000);
    const later = await claimOne(inbox);
    same(await settle(inbox, earlier), "lost", "settle with the earlier claim");
    same(await settle(inbox, later), "settled", "settle with the later claim");
  },
  async "fences off a worker with another name and the same generation"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    const lease = { ...claim.lease, worker: "worker-2" };
    same(await settle(inbox, { ...claim, lease }), "lost", "settle under another name");
    same(await settle(inbox, claim), "settled", "settle");
  },
  async "fences off the writes of a handler whose lease another worker took"({ inbox, clock, effects }) {
    await inbox.insert(rowAt("task-1", 1));
    const paused = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(1_000);
    const other = await claimOne(inbox, { worker: "worker-2" });
    const late = inbox.begin(paused, doneWith(paused), transactionLimits);
    await effects.write(late.handle, "paused").catch((error: { code?: string }) => {
      same(error.code, "LEASE_LOST", "code of the error of the late handler");
    });
    same(await late.commit(), "lost", "commit of the late handler");
    const transaction = inbox.begin(other, doneWith(other), transactionLimits);
    await effects.write(transaction.handle, "other");
    same(await transaction.commit(), "settled", "commit");
    same(await effects.kept(), ["other"], "kept writes");
  },
  async "fences off the worker of a row that was replayed with another key meanwhile"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1, { id: "moved" }));
    await inbox.insert(rowAt("task-1", 2, { id: "other" }));
    const [first, second] = (await inbox.claim(claimOptions({ rowsPerKeyMax: 2 }))).claims;
    if (!first || !second) throw new Error("expected two claimed rows");
    same(await settle(inbox, first), "settled", "settle");
    same(await inbox.replay(first, rowAt("task-2", 1)), true, "replay");
    const replayed = await claimOne(inbox, { worker: "worker-2" });
    includes(replayed, { id: "moved", orderKey: '["task-2"]' }, "the replayed row");
    same(await inbox.fail(first, { kind: "dead", error: "late" }), false, "fail with the first claim");
    same(await settle(inbox, replayed), "settled", "settle of the replayed row");
    same(await settle(inbox, second), "settled", "settle of the other row");
  },
  async "keeps a renewed lease, and returns those that are held"({ inbox, clock }) {
    for (const task of ["task-1", "task-2"]) await inbox.insert(rowAt(task, 1));
    const [kept, ended] = (await inbox.claim(claimOptions({ leaseMs: 1_000 }))).claims;
    if (!kept || !ended) throw new Error("expected two claimed rows");
    await settle(inbox, ended);
    await clock.advance(900);
    same(await inbox.renew([kept.lease, ended.lease], 1_000), new Set([kept.lease]), "renewed leases");
    await clock.advance(900);
    same(await claimIds(inbox, { worker: "worker-2" }), [], "rows of another worker");
    same(await settle(inbox, kept), "settled", "settle");
  },
  async "keeps the lease until the last of its rows has ended"({ inbox }) {
    for (const second of [1, 2, 3]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    const [first, second] = (await inbox.claim(claimOptions({ rowsPerKeyMax: 2 }))).claims;
    if (!first || !second) throw new Error("expected two claimed rows");
    await settle(inbox, first);
    same(await claimIds(inbox, { worker: "worker-2" }), [], "rows after the first end");
    await settle(inbox, second);
    same(await claimIds(inbox, { worker: "worker-2" }), ["at-3"], "rows after the second end");
  },
  async "ends a row once: a second end of the same claim changes nothing"({ inbox }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    const claim = await claimOne(inbox);
    same(await settle(inbox, claim), "settled", "first end");
    same(await settle(inbox, claim), "lost", "second end");
    same(await inbox.fail(claim, { kind: "dead", error: "late" }), false, "third end");
    includes(await inbox.get(row), { state: "done" }, "the row");
  },
  async "makes a row dead whose lease expired at the last attempt, and reports it once"({ inbox, clock }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    for (let attempt = 1; attempt <= 3; attempt++) {
      same((await claimIds(inbox, { leaseMs: 1_000 })).length, 1, `rows of attempt ${attempt}`);
      await clock.advance(1_000);
    }
    const { died } = await inbox.claim(claimOptions());
    includes(died, [{ source, id: row.id }], "rows that died");
    same((await inbox.claim(claimOptions())).died, [], "rows that died later");
    includes(await inbox.get(row), { state: "dead", attempts: 3 }, "the row");
  },
  async "counts a crash for the row that was handled, also when an older one was stored or failed meanwhile"({
    inbox,
    clock,
  }) {
    for (const second of [2, 3, 4]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    const [failed] = (await inbox.claim(claimOptions({ rowsPerKeyMax: 3, leaseMs: 2_000 }))).claims;
    if (!failed) throw new Error("expected a claimed row");
    await inbox.fail(failed, { kind: "retry", delayMs: 1_000, error: "no" });
    await inbox.insert(rowAt("task-1", 1, { id: "at-1" }));
    await clock.advance(2_000);
    await inbox.claim(claimOptions({ worker: "worker-2" }));
    const attempts = async (id: string) => (await inbox.get({ source, id }))?.attempts;
    const ofOthers = [await attempts("at-2"), await attempts("at-3"), await attempts("at-4")];
    same(
      ofOthers,
      [1, 1, 0],
      "attempts of the row that failed, of the one that was handled, and of the one behind it",
    );
  },
  async "makes keys whose leases expired together due one after the other, all within the delay of the retry plan"({
    inbox,
    clock,
  }) {
    const tasks = Array.from({ length: 8 }, (_, n) => `task-${n}`);
    for (const task of tasks) await inbox.insert(rowAt(task, 1));
    const claimAll = () => inbox.claim(claimOptions({ leaseMs: 60_000 }));
    await inbox.claim(claimOptions({ leaseMs: 1_000 }));
    await clock.advance(1_000);
    const { claims, nextInMs } = await claimAll();
    same(claims.length, 1, "rows that are due at once");
    same(nextInMs !== null && nextInMs > 0 && nextInMs < 1_000, true, "the next one is due soon");
    await clock.advance(nextInMs ?? 0);
    same((await claimAll()).claims.length, 1, "rows that are due after it");
    await clock.advance(1_000);
    same((await claimAll()).claims.length, tasks.length - 2, "rows that are due at the end");
  },
  async "counts a crash for the first row of a key only, and then claims its rows one at a time"({
    inbox,
    clock,
  }) {
    for (const second of [1, 2]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    await inbox.claim(claimOptions({ rowsPerKeyMax: 2, leaseMs: 1_000 }));
    await clock.advance(1_000);
    const { claims } = await inbox.claim(claimOptions({ rowsPerKeyMax: 2 }));
    includes(claims, [{ id: "at-1", attempts: 2 }], "the first claim after the crash");
    for (const claim of claims) await settle(inbox, claim);
    includes(await claimOne(inbox), { id: "at-2", attempts: 1 }, "the second claim after the crash");
  },
});
