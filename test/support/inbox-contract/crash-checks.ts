// What is left after a crash: everything that was reported as done, and nothing of what was in progress.

import { expect } from "vitest";
import { begin, claimIds, claimOne, positionAt, rowAt, settle, source } from "./contract-rows.ts";
import type { Checks, CrashFixture } from "./inbox-fixture.ts";

const key = '["task-1"]';

export const crashChecks: Checks<CrashFixture> = {
  async "keeps every delivery that was acknowledged before the crash"({ inbox, crash }) {
    const rows = Array.from({ length: 40 }, (_, n) => rowAt(`task-${n}`, 1, { id: `msg_${n}` }));
    const acknowledged: string[] = [];
    const storing = rows.map((row, n) =>
      inbox.insert(row).then(
        () => void acknowledged.push(row.id),
        (error: unknown) => {
          if (n < 20) throw error;
        },
      ),
    );
    await Promise.all(storing.slice(0, 20));
    const confirmed = [...acknowledged];
    const after = await crash();
    await Promise.all(storing);
    const kept = new Set((await after.list({ limit: 100 })).map(({ id }) => id));
    expect(confirmed.filter((id) => !kept.has(id))).toEqual([]);
    expect((await after.insert(rows[0] ?? rowAt("none", 1))).outcome).toBe("duplicate");
  },
  async "keeps nothing of a transaction that had not been committed, and handles its row again"({
    inbox,
    clock,
    crash,
    effects,
  }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    const claim = await claimOne(inbox, { leaseMs: 1_000 });
    const transaction = begin(inbox, claim);
    await effects.write(transaction.handle, "before the crash");
    const after = await crash();
    await transaction.rollback().catch(() => undefined);
    expect(await effects.kept()).toEqual([]);
    expect(await after.head(source, key)).toBeUndefined();
    await clock.advance(1_000);
    const again = await claimOne(after, { worker: "worker-2" });
    expect(again.id).toEqual(row.id);
    const next = begin(after, again);
    await effects.write(next.handle, "after the crash");
    expect(await next.commit()).toBe("settled");
    expect(await effects.kept()).toEqual(["after the crash"]);
  },
  async "keeps a committed transaction: its writes, the end of the row and the head"({
    inbox,
    clock,
    crash,
    effects,
  }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    const claim = await claimOne(inbox, { leaseMs: 1_000 });
    const transaction = begin(inbox, claim);
    await effects.write(transaction.handle, "kept");
    expect(await transaction.commit()).toBe("settled");
    const after = await crash();
    await clock.advance(1_000);
    expect(await effects.kept()).toEqual(["kept"]);
    expect(await after.get(row)).toMatchObject({ state: "done" });
    expect(await after.head(source, key)).toMatchObject({ position: row.position });
    expect(await claimIds(after)).toEqual([]);
  },
  async "keeps ends, retries, replays, discards, marks and heads that were reported as done"({
    inbox,
    crash,
  }) {
    const [settled, failed, waiting] = [rowAt("a", 1), rowAt("b", 1), rowAt("c", 1)];
    const odd = rowAt("d", 1, { quarantine: "odd" });
    await inbox.insert(settled);
    await settle(inbox, await claimOne(inbox));
    await inbox.insert(failed);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    await inbox.replay(failed, failed);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken again" });
    await inbox.insert(waiting);
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 60_000, error: "later", counts: true });
    await inbox.insert(odd);
    await inbox.discard(odd);
    await inbox.writeMarks(source, { mark: "1" });
    await inbox.advanceHead({ source, key, position: positionAt(3) });
    const after = await crash();
    expect(await after.get(settled)).toMatchObject({ state: "done" });
    expect(await after.get(failed)).toMatchObject({ state: "dead", replays: 1, lastError: "broken again" });
    expect(await after.get(waiting)).toMatchObject({ state: "pending", attempts: 1 });
    expect(await after.get(odd)).toMatchObject({ state: "discarded" });
    expect((await after.readMarks(source)).marks).toEqual({ mark: "1" });
    expect(await after.head(source, key)).toMatchObject({ position: positionAt(3) });
    expect(await claimIds(after)).toEqual([]);
  },
  async "fences off a worker that claimed before the crash"({ inbox, clock, crash }) {
    await inbox.insert(rowAt("task-1", 1));
    const before = await claimOne(inbox, { leaseMs: 1_000 });
    const after = await crash();
    await clock.advance(1_000);
    const later = await claimOne(after, { worker: "worker-2" });
    expect(await settle(after, before)).toBe("lost");
    expect(await settle(after, later)).toBe("settled");
  },
};
