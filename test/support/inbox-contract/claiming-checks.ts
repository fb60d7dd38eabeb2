import { expect } from "vitest";
import { claimIds, claimOne, claimOptions, completedAt, rowAt, settle } from "./contract-rows.ts";
import type { Checks } from "./inbox-fixture.ts";

export const claimingChecks: Checks = {
  async "gives a row to one of many concurrent workers, and counts the attempt"({ inbox, reopen }) {
    const other = await reopen();
    for (let n = 0; n < 20; n++) await inbox.insert(rowAt(`task-${n}`, 1));
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 ? inbox : other).claim(claimOptions({ worker: `worker-${index}`, rowsMax: 5 })),
      ),
    );
    const claims = results.flatMap((result) => result.claims);
    expect(claims.length).toBe(20);
    expect(new Set(claims.map(({ seq }) => seq)).size).toBe(20);
    expect(claims.map(({ attempts }) => attempts)).toEqual(Array(20).fill(1));
  },
  async "lets one row of a key run at a time, oldest event first, in any order of arrival"({ inbox }) {
    for (const second of [3, 1, 2]) await inbox.insert(rowAt("task-1", second, { id: `at-${second}` }));
    const order: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const claim = await claimOne(inbox, { rowsMax: 10 });
      expect(await claimIds(inbox, { worker: "worker-2" })).toEqual([]);
      order.push(claim.id);
      await settle(inbox, claim);
    }
    expect(order).toEqual(["at-1", "at-2", "at-3"]);
  },
  async "claims rows of a task, of its stages and of other tasks, and rows without a key, at the same time"({
    inbox,
  }) {
    for (const orderKey of ['["task-1"]', '["task-2"]', '["task-1","stage-1"]', '["task-1","stage-2"]'])
      await inbox.insert(rowAt("task-1", 1, { id: orderKey, orderKey }));
    for (const id of ["a", "b"])
      await inbox.insert(rowAt("task-1", 1, { id, orderKey: null, position: null }));
    expect((await claimIds(inbox)).length).toBe(6);
  },
  async "claims only the rows of its source"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1, { source: "other" }));
    expect(await claimIds(inbox)).toEqual([]);
    expect((await claimIds(inbox, { source: "other" })).length).toBe(1);
  },
  async "claims newer events of a key before one that waits for its retry"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1, { id: "first" }));
    await inbox.insert(completedAt("task-1", 2, { id: "second" }));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 60_000, error: "no", counts: true });
    const second = await claimOne(inbox, { keyOrder: "latest" });
    expect([second.id, await settle(inbox, second)]).toEqual(["second", "settled"]);
    expect(await claimIds(inbox)).toEqual([]);
    await inbox.insert(completedAt("task-1", 3, { id: "third" }));
    expect(await claimIds(inbox, { keyOrder: "latest" })).toEqual(["third"]);
  },
  async "claims no newer event of a key before one that waits for its retry when keyOrder is strict"({
    inbox,
  }) {
    await inbox.insert(rowAt("task-1", 1, { id: "first" }));
    await inbox.fail(await claimOne(inbox), { kind: "retry", delayMs: 60_000, error: "no", counts: true });
    await inbox.insert(completedAt("task-1", 2, { id: "second" }));
    const claim = () => inbox.claim(claimOptions({ keyOrder: "strict" }));
    for (let poll = 0; poll < 2; poll++)
      expect(await claim()).toEqual({ claims: [], died: [], nextInMs: 60_000 });
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
    expect(await claim("worker-1")).toEqual(["a-1", "b-1", true]);
    expect(await claim("worker-2")).toEqual(["c-1", false]);
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
    expect(await inbox.waitingSources("default")).toEqual(due(all));
    expect(await inbox.waitingSources("default-2")).toEqual(due(["default-2/a"]));
    expect(await inbox.waitingSources("nothing")).toEqual([]);
    await inbox.claim(claimOptions({ source: "default/a", leaseMs: 30_000 }));
    const claim = await claimOne(inbox, { source: "default/b", leaseMs: 30_000 });
    await inbox.fail(claim, { kind: "retry", delayMs: 5_000, error: "failed", counts: true });
    await clock.advance(1_000);
    const times = (await inbox.waitingSources("default")).map(({ dueInMs }) => dueInMs);
    expect(times).toEqual([-1_000, 29_000, 4_000, -1_000]);
  },
};
