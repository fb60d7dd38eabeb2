// What is left after a crash: everything that was reported as done, and nothing of what was in progress.

import { includes, same } from "./assertions.ts";
import { type CheckOn, checkGroup } from "./conformance-check.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import {
  claimIds,
  claimOne,
  doneWith,
  positionAt,
  rowAt,
  settle,
  source,
  transactionLimits,
} from "./inbox-rows.ts";

type CrashFixture = InboxFixture & Required<Pick<InboxFixture, "crash">>;

const key = '["task-1"]';

const onCrashable = checkGroup<CrashFixture>("crashes", {
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
    same(
      confirmed.filter((id) => !kept.has(id)),
      [],
      "acknowledged rows that were lost",
    );
    same((await after.insert(rows[0] ?? rowAt("none", 1))).outcome, "duplicate", "a repeated delivery");
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
    const transaction = inbox.begin(claim, doneWith(claim), transactionLimits);
    await effects.write(transaction.handle, "before the crash");
    const after = await crash();
    await transaction.rollback().catch(() => undefined);
    same(await effects.kept(), [], "kept writes");
    same(await after.head(source, key), undefined, "the head");
    await clock.advance(1_000);
    const again = await claimOne(after, { worker: "worker-2" });
    same(again.id, row.id, "the row that is claimed again");
    const next = after.begin(again, doneWith(again), transactionLimits);
    await effects.write(next.handle, "after the crash");
    same(await next.commit(), "settled", "commit");
    same(await effects.kept(), ["after the crash"], "kept writes");
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
    const transaction = inbox.begin(claim, doneWith(claim), transactionLimits);
    await effects.write(transaction.handle, "kept");
    same(await transaction.commit(), "settled", "commit");
    const after = await crash();
    await clock.advance(1_000);
    same(await effects.kept(), ["kept"], "kept writes");
    includes(await after.get(row), { state: "done" }, "the row");
    includes(await after.head(source, key), { position: row.position }, "the head");
    same(await claimIds(after), [], "claimed rows");
  },
  async "keeps ends, retries, replays, discards, marks and heads that were reported as done"({
    inbox,
    crash,
  }) {
    const [settled, failed, waiting, odd] = ["a", "b", "c", "d"].map((id) =>
      rowAt(id, 1, { id, quarantine: id === "d" ? "odd" : null }),
    ) as [
      ReturnType<typeof rowAt>,
      ReturnType<typeof rowAt>,
      ReturnType<typeof rowAt>,
      ReturnType<typeof rowAt>,
    ];
    await inbox.insert(settled);
    await settle(inbox, await claimOne(inbox));
    await inbox.insert(failed);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    await inbox.replay(failed, failed);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken again" });
    await inbox.insert(waiting);
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 60_000, error: "later" });
    await inbox.insert(odd);
    await inbox.discard(odd);
    await inbox.writeMarks(source, { mark: "1" });
    await inbox.advanceHead({ source, key, position: positionAt(3) });
    const after = await crash();
    includes(await after.get(settled), { state: "done" }, "the settled row");
    includes(
      await after.get(failed),
      { state: "dead", replays: 1, lastError: "broken again" },
      "the dead row",
    );
    includes(await after.get(waiting), { state: "pending", attempts: 1 }, "the row that waits");
    includes(await after.get(odd), { state: "discarded" }, "the discarded row");
    same((await after.readMarks(source)).marks, { mark: "1" }, "marks");
    includes(await after.head(source, key), { position: positionAt(3) }, "the head");
    same(await claimIds(after), [], "claimed rows");
  },
  async "fences off a worker that claimed before the crash"({ inbox, clock, crash }) {
    await inbox.insert(rowAt("task-1", 1));
    const before = await claimOne(inbox, { leaseMs: 1_000 });
    const after = await crash();
    await clock.advance(1_000);
    const later = await claimOne(after, { worker: "worker-2" });
    same(await settle(after, before), "lost", "settle of the worker before the crash");
    same(await settle(after, later), "settled", "settle of the worker after the crash");
  },
});

/** For fixtures with `crash`. */
export const crashChecks: readonly CheckOn<InboxFixture>[] = onCrashable.map(({ run, ...check }) => ({
  ...check,
  run(fixture) {
    const { crash } = fixture;
    if (!crash) throw new Error("expected a fixture with crash()");
    return run({ ...fixture, crash: () => crash.call(fixture), [Symbol.asyncDispose]: async () => {} });
  },
}));
