import { includes, same } from "./assertions.ts";
import { checkGroup } from "./conformance-check.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import {
  claimIds,
  claimOne,
  claimOptions,
  completedAt,
  positionAt,
  rowAt,
  settle,
  source,
} from "./inbox-rows.ts";

export const claimingChecks = checkGroup<InboxFixture>("claiming", {
  async "gives a row to one of many concurrent workers, and counts the attempt"({ inbox, reopen }) {
    const other = await reopen();
    for (let n = 0; n < 20; n++) await inbox.insert(rowAt(`task-${n}`, 1));
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 ? inbox : other).claim(claimOptions({ worker: `worker-${index}`, rowsMax: 5 })),
      ),
    );
    const claims = results.flatMap((result) => result.claims);
    same(claims.length, 20, "claimed rows");
    same(new Set(claims.map(({ seq }) => seq)).size, 20, "different rows among them");
    same(
      claims.map(({ attempts }) => attempts),
      Array(20).fill(1),
      "their attempts",
    );
  },
  async "lets one row of a key run at a time, oldest event first, in any order of arrival"({ inbox }) {
    for (const second of [3, 1, 2]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    const order: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const claim = await claimOne(inbox, { rowsMax: 10 });
      same(await claimIds(inbox, { worker: "worker-2" }), [], "rows of a key that is claimed");
      order.push(claim.id);
      await settle(inbox, claim);
    }
    same(order, ["at-1", "at-2", "at-3"], "rows in the order of their claims");
  },
  async "lets no second row of a key run while the first one has its lease, also when it is stored later"({
    inbox,
  }) {
    await inbox.insert(rowAt("task-1", 2));
    const claim = await claimOne(inbox);
    await inbox.insert(rowAt("task-1", 1, { id: "earlier" }));
    same(await claimIds(inbox, { worker: "worker-2" }), [], "rows of a key that is claimed");
    const running = await inbox.list({ source, states: ["running"], limit: 10 });
    same(
      running.map(({ id }) => id),
      [claim.id],
      "rows that are shown as running",
    );
    await settle(inbox, claim);
    same(await claimIds(inbox), ["earlier"], "rows of the key after the end");
  },
  async "claims one of two deliveries of the same event at a time, the first one first"({ inbox }) {
    const position = positionAt(1);
    for (const id of ["one", "two"]) await inbox.insert(rowAt("task-1", 1, { id, position }));
    same(await claimIds(inbox), ["one"], "claimed rows");
  },
  async "claims rows of a task, of its stages and of other tasks, and rows without a key, at the same time"({
    inbox,
  }) {
    for (const orderKey of ['["task-1"]', '["task-2"]', '["task-1","stage-1"]', '["task-1","stage-2"]'])
      await inbox.insert(rowAt("task-1", 1, { id: orderKey, orderKey }));
    for (const id of ["a", "b"])
      await inbox.insert(rowAt("task-1", 1, { id, orderKey: null, position: null }));
    same((await claimIds(inbox)).length, 6, "claimed rows");
  },
  async "claims several rows of a key at once, in their order, up to rowsPerKeyMax"({ inbox }) {
    for (const second of [4, 2, 3, 1]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    const { claims } = await inbox.claim(claimOptions({ rowsPerKeyMax: 3 }));
    same(
      claims.map(({ id }) => id),
      ["at-1", "at-2", "at-3"],
      "claimed rows",
    );
    same(new Set(claims.map(({ lease }) => lease)).size, 1, "leases, which rows of a key share");
    for (const claim of claims) same(await settle(inbox, claim), "settled", `the end of ${claim.id}`);
    same(await claimIds(inbox, { worker: "worker-2" }), ["at-4"], "the rest");
  },
  async "claims only the rows of its source"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1, { source: "other" }));
    same(await claimIds(inbox), [], "rows of the source");
    same((await claimIds(inbox, { source: "other" })).length, 1, "rows of the other source");
  },
  async "claims newer events of a key before one that waits for its retry, unless keyOrder is strict"({
    inbox,
  }) {
    await inbox.insert(rowAt("task-1", 1, { id: "first" }));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 60_000, error: "no" });
    await inbox.insert(completedAt("task-1", 2, { id: "second" }));
    same(await claimIds(inbox, { keyOrder: "strict" }), [], "in strict order");
    // As at the start of a receiver, whose order may have been changed.
    await inbox.repairTimes({ source, keyOrder: "latest" });
    same(await claimIds(inbox, { keyOrder: "latest" }), ["second"], "in latest order");
  },
  async "claims bodies of up to bytesMax, a larger one alone, and reports that more rows are due"({ inbox }) {
    const insert = (task: string, second: number, bytes: number) =>
      inbox.insert(rowAt(task, second, { id: `${task}-${second}`, body: Buffer.alloc(bytes) }));
    await insert("a", 1, 600);
    await insert("b", 1, 300);
    await insert("b", 2, 500);
    await insert("c", 1, 2_000);
    const claim = async (worker: string) => {
      const { claims, nextInMs } = await inbox.claim(
        claimOptions({ worker, bytesMax: 1_000, rowsPerKeyMax: 5 }),
      );
      return [...claims.map(({ id }) => id), nextInMs === 0];
    };
    same(await claim("worker-1"), ["a-1", "b-1", true], "first claim");
    same(await claim("worker-2"), ["c-1", false], "second claim");
  },
  async "returns the time until the next row is due, and claims it from then on"({ inbox, clock }) {
    const nextInMs = async () => (await inbox.claim(claimOptions())).nextInMs;
    same(await nextInMs(), null, "of an empty inbox");
    await inbox.insert(rowAt("task-1", 1));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 5_000, error: "no" });
    same(await nextInMs(), 5_000, "of a row that waits for its retry");
    await clock.advance(4_999);
    same(await claimIds(inbox), [], "rows before that");
    await clock.advance(1);
    same((await claimIds(inbox)).length, 1, "rows at that time");
  },
  async "lists a source and its tenants that have pending or running rows, and when each may be claimed"({
    inbox,
    clock,
  }) {
    const others = ["default-2/a", "default.x", "default0", "other", "Default/a"];
    for (const each of ["default/b", "default", "default/a", "default/c", ...others])
      await inbox.insert(rowAt("task-1", 1, { source: each }));
    const due = (names: readonly string[]) => names.map((name) => ({ source: name, dueInMs: 0 }));
    const all = ["default", "default/a", "default/b", "default/c"];
    same(await inbox.waitingSources("default"), due(all), "sources");
    same(await inbox.waitingSources("default-2"), due(["default-2/a"]), "sources of a similar name");
    same(await inbox.waitingSources("nothing"), [], "sources of no rows");
    await inbox.claim(claimOptions({ source: "default/a", leaseMs: 30_000 }));
    const claim = await claimOne(inbox, { source: "default/b", leaseMs: 30_000 });
    await inbox.fail(claim, { kind: "retry", delayMs: 5_000, error: "failed" });
    await clock.advance(1_000);
    const times = (await inbox.waitingSources("default")).map(({ dueInMs }) => dueInMs);
    same(times, [-1_000, 29_000, 4_000, -1_000], "times");
  },
  async "makes a released row due at once, without counting the attempt"({ inbox }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    same(await inbox.fail(await claimOne(inbox), { kind: "release" }), true, "release");
    includes(await inbox.get(row), { state: "pending", attempts: 0 }, "the row");
    same(await claimIds(inbox, { worker: "worker-2" }), [row.id], "claimed rows");
  },
  async "counts failed attempts, and keeps the error of the last one"({ inbox, clock }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 10, error: "first" });
    includes(await inbox.get(row), { state: "pending", attempts: 1, lastError: "first" }, "after a retry");
    await clock.advance(10);
    const again = await claimOne(inbox);
    same(again.attempts, 2, "attempts of the claim");
    await inbox.fail(again, { kind: "dead", error: "second" });
    includes(await inbox.get(row), { state: "dead", attempts: 2, lastError: "second" }, "after the last");
    same(await claimIds(inbox), [], "claimed rows");
  },
});
