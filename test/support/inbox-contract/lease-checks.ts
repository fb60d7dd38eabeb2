import { expect } from "vitest";
import type { NewInboxRow } from "../../../receiver-kit/inbox/inbox.ts";
import { begin, claimIds, claimOne, claimOptions, rowAt, settle, source } from "./contract-rows.ts";
import type { Checks } from "./inbox-fixture.ts";

export const leaseChecks: Checks = {
  async "says which workers have leases, and that one has ended"({ inbox, clock }) {
    expect(await inbox.leases()).toEqual([]);
    await inbox.insert(rowAt("task-1", 1));
    await inbox.insert(rowAt("task-2", 1));
    const claimed = await claimOne(inbox, { leaseMs: 10_000 });
    const held = { source, worker: claimed.lease.worker, rows: 1 };
    const [lease, ...others] = await inbox.leases();
    expect([lease, others]).toEqual([{ ...held, endsInMs: expect.any(Number) }, []]);
    expect(lease?.endsInMs).toBeGreaterThan(0);
    expect(lease?.endsInMs).toBeLessThanOrEqual(10_000);
    await clock.advance(10_001);
    expect((await inbox.leases())[0]?.endsInMs).toBeLessThan(0);
    expect(await settle(inbox, claimed)).toBe("settled");
    expect(await inbox.leases()).toEqual([]);
  },
  async "says which workers have leases while many rows wait for a later attempt"({ inbox }) {
    for (let n = 0; n < 600; n++) await inbox.insert(rowAt(`task-${n}`, 1));
    for (let claims = 600; claims > 0; ) {
      const found = (await inbox.claim(claimOptions({ rowsMax: Math.min(claims, 100), worker: "failing" })))
        .claims;
      claims -= found.length;
      const failure = { kind: "retry", delayMs: 3_000_000, error: "away", counts: true } as const;
      await Promise.all(found.map((claim) => inbox.fail(claim, failure)));
    }
    await inbox.insert(rowAt("task-now", 1));
    await claimOne(inbox, { worker: "alive", leaseMs: 60_000 });
    expect((await inbox.leases()).map(({ worker }) => worker)).toEqual(["alive"]);
  },
  async "gives a row to another worker once its lease expired, and not before"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const paused = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(999);
    expect(await claimIds(inbox, { worker: "worker-2" })).toEqual([]);
    await clock.advance(1);
    const other = await claimOne(inbox, { worker: "worker-2" });
    expect(other).toMatchObject({ seq: paused.seq, attempts: 2 });
    expect(other.lease.generation > paused.lease.generation).toBe(true);
  },
  async "leaves a lease to its holder when a delivery arrives for its key, and when a row of it is replayed"({
    inbox,
    clock,
  }) {
    const rows = [1, 2, 3].map((second) => rowAt("task-1", second, { id: `at-${second}` }));
    const [ended, held, arriving] = rows as [NewInboxRow, NewInboxRow, NewInboxRow];
    await inbox.insert(ended);
    await settle(inbox, await claimOne(inbox));
    await inbox.insert(held);
    const claim = await claimOne(inbox);
    await clock.advance(1);
    await inbox.insert(arriving);
    expect(await inbox.replay(ended, ended)).toBe(true);
    expect(await claimIds(inbox, { worker: "worker-2" })).toEqual([]);
    expect(await settle(inbox, claim)).toBe("settled");
    expect(await claimIds(inbox, { rowsPerKeyMax: 2 })).toEqual(["at-1", "at-3"]);
  },
  async "fences off a worker whose lease another worker took"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const paused = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(1_000);
    const other = await claimOne(inbox, { worker: "worker-2" });
    expect(await inbox.fail(paused, { kind: "dead", error: "late" })).toBe(false);
    expect(await settle(inbox, paused)).toBe("lost");
    expect((await inbox.renew([paused.lease], 1_000)).size).toBe(0);
    expect(await settle(inbox, other)).toBe("settled");
  },
  async "fences off a worker that took its own lease again, with its earlier claim"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    const earlier = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(1_000);
    const later = await claimOne(inbox);
    expect((await inbox.renew([earlier.lease], 1_000)).size).toBe(0);
    expect(await settle(inbox, earlier)).toBe("lost");
    expect(await settle(inbox, later)).toBe("settled");
  },
  async "fences off the writes of a handler whose lease another worker took"({ inbox, clock, effects }) {
    await inbox.insert(rowAt("task-1", 1));
    const paused = await claimOne(inbox, { leaseMs: 1_000 });
    await clock.advance(1_000);
    const other = await claimOne(inbox, { worker: "worker-2" });
    const late = begin(inbox, paused);
    await effects.write(late.handle, "paused").catch((error: { code?: string }) => {
      expect(error.code).toBe("LEASE_LOST");
    });
    expect(await late.commit()).toBe("lost");
    const transaction = begin(inbox, other);
    await effects.write(transaction.handle, "other");
    expect(await transaction.commit()).toBe("settled");
    expect(await effects.kept()).toEqual(["other"]);
  },
  async "fences off the worker of a row that was replayed with another key meanwhile"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1, { id: "moved" }));
    await inbox.insert(rowAt("task-1", 2, { id: "other" }));
    const [first, second] = (await inbox.claim(claimOptions({ rowsPerKeyMax: 2 }))).claims;
    if (!first || !second) throw new Error("expected two claimed rows");
    expect(await settle(inbox, first)).toBe("settled");
    expect(await inbox.replay(first, rowAt("task-2", 1))).toBe(true);
    const replayed = await claimOne(inbox, { worker: "worker-2" });
    expect(replayed).toMatchObject({ id: "moved", orderKey: '["task-2"]' });
    expect(await inbox.fail(first, { kind: "dead", error: "late" })).toBe(false);
    expect(await settle(inbox, replayed)).toBe("settled");
    expect(await settle(inbox, second)).toBe("settled");
  },
  async "makes a row dead whose lease expired at the last attempt, and reports it once"({ inbox, clock }) {
    // Its key keeps a head, and has no rows afterwards.
    await inbox.insert(rowAt("task-1", 1, { id: "before" }));
    await settle(inbox, await claimOne(inbox));
    const row = rowAt("task-1", 2);
    await inbox.insert(row);
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect((await claimIds(inbox, { leaseMs: 1_000 })).length).toBe(1);
      await clock.advance(1_000);
    }
    const { died } = await inbox.claim(claimOptions());
    expect(died).toMatchObject([{ source, id: row.id }]);
    expect((await inbox.claim(claimOptions())).died).toEqual([]);
    expect(await inbox.get(row)).toMatchObject({ state: "dead", attempts: 3 });
  },
  async "claims the rows behind one that died with its lease together"({ inbox, clock }) {
    for (const second of [1, 2, 3]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    await claimOne(inbox, { leaseMs: 1_000, attemptsMax: 1 });
    await clock.advance(1_000);
    expect(await claimIds(inbox, { attemptsMax: 1, rowsPerKeyMax: 2 })).toEqual(["at-2", "at-3"]);
  },
  async "counts a crash for the row that was handled, also when an older one was stored or failed meanwhile"({
    inbox,
    clock,
  }) {
    for (const second of [2, 3, 4]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    const [failed] = (await inbox.claim(claimOptions({ rowsPerKeyMax: 3, leaseMs: 2_000 }))).claims;
    if (!failed) throw new Error("expected a claimed row");
    await inbox.fail(failed, { kind: "retry", delayMs: 1_000, error: "no", counts: true });
    await inbox.insert(rowAt("task-1", 1, { id: "at-1" }));
    await clock.advance(2_000);
    await inbox.claim(claimOptions({ worker: "worker-2" }));
    const attempts = async (id: string) => (await inbox.get({ source, id }))?.attempts;
    const ofOthers = [await attempts("at-2"), await attempts("at-3"), await attempts("at-4")];
    expect(ofOthers).toEqual([1, 1, 0]);
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
    expect(claims.length).toBe(1);
    expect(nextInMs !== null && nextInMs > 0 && nextInMs < 1_000).toBe(true);
    await clock.advance(nextInMs ?? 0);
    expect((await claimAll()).claims.length).toBe(1);
    await clock.advance(1_000);
    expect((await claimAll()).claims.length).toEqual(tasks.length - 2);
  },
  async "claims a newer row of a key whose first one waits after a crash"({ inbox, clock }) {
    for (const id of ["a-1", "b-1", "b-2"]) await inbox.insert(rowAt(`task-${id[0]}`, Number(id[2]), { id }));
    await inbox.claim(claimOptions({ leaseMs: 1_000 }));
    await clock.advance(1_000);
    expect((await claimIds(inbox, { worker: "worker-2" })).toSorted()).toEqual(["a-1", "b-2"]);
  },
  async "claims rows of a key one at a time after a crash, until the one that was handled has ended"({
    inbox,
    clock,
  }) {
    for (const task of ["done", "dead", "later"]) {
      for (const second of [1, 2, 3]) await inbox.insert(rowAt(task, second, { id: `${task}-${second}` }));
      await claimOne(inbox, { leaseMs: 1_000 });
      await clock.advance(1_000);
      const [claim, ...others] = (await inbox.claim(claimOptions({ rowsPerKeyMax: 2 }))).claims;
      expect([claim?.id, others]).toEqual([`${task}-1`, []]);
      const failure = { delayMs: 60_000, error: "no", counts: true } as const;
      if (task === "done") await settle(inbox, claim!);
      else
        await inbox.fail(
          claim!,
          task === "dead" ? { kind: "dead", error: "no" } : { kind: "retry", ...failure },
        );
      const next = task === "later" ? [`${task}-2`] : [`${task}-2`, `${task}-3`];
      expect(await claimIds(inbox, { rowsPerKeyMax: 2 })).toEqual(next);
    }
  },
  async "counts a crash for the first row of a key only, and then claims its rows one at a time"({
    inbox,
    clock,
  }) {
    for (const second of [1, 2]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    await inbox.claim(claimOptions({ rowsPerKeyMax: 2, leaseMs: 1_000 }));
    await clock.advance(1_000);
    const { claims } = await inbox.claim(claimOptions({ rowsPerKeyMax: 2 }));
    expect(claims).toMatchObject([{ id: "at-1", attempts: 2 }]);
    for (const claim of claims) await settle(inbox, claim);
    expect(await claimOne(inbox)).toMatchObject({ id: "at-2", attempts: 1 });
  },
};
