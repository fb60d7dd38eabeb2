import { encodePosition } from "../event/event-order.ts";
import { includes, rejectsWith, same } from "./assertions.ts";
import { checkGroup } from "./conformance-check.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import {
  claimOne,
  claimOptions,
  completedAt,
  doneWith,
  positionAt,
  rowAt,
  settle,
  source,
  transactionLimits,
} from "./inbox-rows.ts";

const key = '["task-1"]';

export const orderChecks = checkGroup<InboxFixture>("ordering heads", {
  async "never moves a head backwards"({ inbox }) {
    const [older, newer] = [rowAt("task-1", 1), completedAt("task-1", 2)];
    await inbox.insert(newer);
    same(await settle(inbox, await claimOne(inbox)), "settled", "the newer row");
    await inbox.insert(older);
    const late = await claimOne(inbox);
    same(late.head, newer.position, "head that the older claim sees");
    same(await settle(inbox, late), "settled-stale", "the older row");
    const head = { position: newer.position, status: "COMPLETED", unchangedMs: 0 };
    same(await inbox.head(source, key), head, "the head");
    includes(await inbox.get(older), { state: "stale" }, "the older row");
  },
  async "does not apply the same event again, unless it is replayed"({ inbox }) {
    const position = positionAt(1);
    for (const id of ["one", "two", "three"]) await inbox.insert(rowAt("task-1", 1, { id, position }));
    same(await settle(inbox, await claimOne(inbox)), "settled", "the first");
    same(await settle(inbox, await claimOne(inbox)), "settled-stale", "the second");
    const third = await claimOne(inbox);
    same(await settle(inbox, third, doneWith(third, { allowSame: true })), "settled", "a replayed one");
  },
  async "leaves the head where it is when a row is settled as stale or has no key"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    same(await settle(inbox, claim, { state: "stale", advance: null }), "settled", "settled as stale");
    await inbox.insert(rowAt("task-1", 2, { orderKey: null, position: null }));
    same(await settle(inbox, await claimOne(inbox)), "settled", "a row without a key");
    same(await inbox.listHeads({ source }), [], "heads");
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
    same(outcomes, expected, "outcomes");
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
    same(verdicts, expected, "verdicts");
  },
  async "lets one of many concurrent callers advance a head to one position"({ inbox, reopen }) {
    const other = await reopen();
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? inbox : other).advanceHead({ source, key, position: positionAt(1) }),
      ),
    );
    same(verdicts.filter((verdict) => verdict === "newer").length, 1, "callers that advanced it");
  },
  async "lists heads by key in pages, and resets one"({ inbox, clock }) {
    for (const task of ["b", "a", "a2", "c"]) {
      await inbox.insert(completedAt(task, 1));
      await settle(inbox, await claimOne(inbox));
    }
    const keysOf = async (filter: object) =>
      (await inbox.listHeads({ source, ...filter })).map((head) => head.key);
    same(await keysOf({ limit: 2 }), ['["a"]', '["a2"]'], "the first page");
    same(await keysOf({ limit: 2, afterKey: '["a2"]' }), ['["b"]', '["c"]'], "the second page");
    same(await keysOf({ keyPrefix: '["a"' }), ['["a"]'], "keys with a prefix");
    same(await keysOf({ source: "other" }), [], "keys of another source");
    const { position } = completedAt("a", 1);
    const columns = { status: "COMPLETED", workspaceId: "workspace-1", movedAtMs: clock.now() };
    const head = { source, key: '["a"]', position, ...columns };
    same(await inbox.listHeads({ source, limit: 1 }), [head], "the first head");
    same(await inbox.resetHead(head), true, "reset");
    same(await inbox.resetHead(head), false, "reset again");
    same(await inbox.head(source, '["a"]'), undefined, "the head after its reset");
    same(await keysOf({}), ['["a2"]', '["b"]', '["c"]'], "the others");
  },
  async "names the workspace of the newest event that has one"({ inbox }) {
    const workspaces = [null, "workspace-2", null];
    for (const [n, workspaceId] of workspaces.entries()) {
      await inbox.insert(rowAt("a", n, { workspaceId }));
      await settle(inbox, await claimOne(inbox));
    }
    includes(await inbox.listHeads({ source }), [{ workspaceId: "workspace-2" }], "heads");
  },
  async "returns how long a head has not moved"({ inbox, clock }) {
    await inbox.insert(rowAt("task-1", 1));
    await settle(inbox, await claimOne(inbox));
    await clock.advance(1_234);
    includes(await inbox.head(source, key), { unchangedMs: 1_234 }, "the head");
  },
});

export const transactionChecks = checkGroup<InboxFixture>("handlers' transactions", {
  async "commits a handler's writes, the settled row and the head together"({ inbox, effects }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    const claim = await claimOne(inbox);
    const transaction = inbox.begin(claim, doneWith(claim), transactionLimits);
    await effects.write(transaction.handle, "first");
    await effects.write(transaction.handle, "second");
    same(await transaction.commit(), "settled", "commit");
    same(await effects.kept(), ["first", "second"], "kept writes");
    includes(await inbox.get(row), { state: "done", attempts: 1 }, "the row");
    includes(await inbox.head(source, key), { position: row.position }, "the head");
  },
  async "discards the writes of a transaction that is rolled back, and leaves row and head as they were"({
    inbox,
    effects,
  }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    const claim = await claimOne(inbox);
    const transaction = inbox.begin(claim, doneWith(claim), transactionLimits);
    await effects.write(transaction.handle, "never");
    await transaction.rollback();
    await rejectsWith(effects.write(transaction.handle, "late"), "TRANSACTION_ENDED", "a write after it");
    same(await effects.kept(), [], "kept writes");
    includes(await inbox.get(row), { state: "running" }, "the row");
    same(await inbox.head(source, key), undefined, "the head");
    same(await settle(inbox, claim), "settled", "settle afterwards");
  },
  async "discards the writes when something newer was applied before, and keeps the row claimed"({
    inbox,
    effects,
  }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    await inbox.advanceHead({ source, key, position: positionAt(9) });
    const transaction = inbox.begin(claim, doneWith(claim), transactionLimits);
    await effects.write(transaction.handle, "old").catch((error: { code?: string }) => {
      same(error.code, "SUPERSEDED", "code of the handler's error");
    });
    same(await transaction.commit(), "superseded", "commit");
    same(await effects.kept(), [], "kept writes");
    includes(await inbox.head(source, key), { position: positionAt(9) }, "the head");
    same(await inbox.fail(claim, { kind: "release" }), true, "release");
  },
  async "stores deliveries while a handler's transaction has not begun"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1));
    const claim = await claimOne(inbox);
    const transaction = inbox.begin(claim, doneWith(claim), transactionLimits);
    same(await inbox.insert(rowAt("task-2", 1)), { outcome: "new" }, "insert");
    same(await transaction.commit(), "settled", "commit");
  },
});
