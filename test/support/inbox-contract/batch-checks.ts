import { expect } from "vitest";
import type { InboxClaim, InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import {
  begin,
  claimOptions,
  completedAt,
  doneWith,
  positionAt,
  rowAt,
  settle,
  source,
} from "./contract-rows.ts";
import type { Checks, InboxFixture } from "./inbox-fixture.ts";

const tasks = ["task-1", "task-2", "task-3"] as const;

/** A batch of one row of each task, and of two of the first one. */
async function claimBatch({ inbox }: InboxFixture): Promise<readonly InboxClaim[]> {
  for (const task of tasks) await inbox.insert(rowAt(task, 1, { id: task }));
  await inbox.insert(completedAt("task-1", 2, { id: "task-1 again" }));
  const { claims } = await inbox.claim(claimOptions({ rowsPerKeyMax: 2 }));
  expect(claims.map(({ id }) => id).toSorted()).toEqual(["task-1", "task-1 again", "task-2", "task-3"]);
  return claims;
}

const statesOf = async (inbox: InboxStore, claims: readonly InboxClaim[]) =>
  Promise.all(claims.map(async (claim) => (await inbox.get(claim))?.state));

async function expectNothingKept({ inbox, effects }: InboxFixture, claims: readonly InboxClaim[]) {
  expect(await effects.kept()).toEqual([]);
  expect(new Set(await statesOf(inbox, claims))).toEqual(new Set(["running"]));
  for (const task of tasks.slice(1)) expect(await inbox.head(source, `["${task}"]`)).toBeUndefined();
}

export const batchChecks: Checks = {
  async "commits the writes, the ends of all rows and their heads together, and frees the leases"(fixture) {
    const { inbox, effects } = fixture;
    const claims = await claimBatch(fixture);
    const transaction = begin(inbox, ...claims);
    await effects.write(transaction.handle, "of all");
    expect(await transaction.commit()).toBe("settled");
    expect(await effects.kept()).toEqual(["of all"]);
    expect(await statesOf(inbox, claims)).toEqual(claims.map(() => "done"));
    const head = await inbox.head(source, '["task-1"]');
    expect(head).toMatchObject({ position: positionAt(2, "COMPLETED", "task-1 again"), status: "COMPLETED" });
    expect(await inbox.renew([...new Set(claims.map(({ lease }) => lease))], 1_000)).toEqual(new Set());
    expect(await inbox.backlog(source, 10)).toBe(0);
  },
  async "settles rows whose handler wrote nothing, older ones of a key as stale"(fixture) {
    const { inbox } = fixture;
    const claims = await claimBatch(fixture);
    const items = claims.map((claim) => {
      const isOlder = claim.id === "task-1";
      const advance = {
        position: claim.position ?? "",
        status: null,
        allowSame: false,
      };
      const settlement = isOlder
        ? ({ state: "stale", advance: null } as const)
        : ({ state: "done", advance } as const);
      return { claim, settlement };
    });
    expect(await inbox.begin(items, { timeoutMs: 60_000 }).commit()).toBe("settled");
    expect(await statesOf(inbox, claims)).toEqual(
      claims.map(({ id }) => (id === "task-1" ? "stale" : "done")),
    );
  },
  async "settles a row at the position of its head where that is allowed"(fixture) {
    const { inbox } = fixture;
    const claims = (await claimBatch(fixture)).filter(({ id }) => id !== "task-1 again");
    for (const { orderKey, position } of claims)
      await inbox.advanceHead({ source, key: orderKey ?? "", position: position ?? "" });
    const items = claims.map((claim) => ({ claim, settlement: doneWith(claim, { allowSame: true }) }));
    expect(await inbox.begin(items, { timeoutMs: 60_000 }).commit()).toBe("settled");
    expect(new Set(await statesOf(inbox, claims))).toEqual(new Set(["done"]));
  },
  async "keeps nothing when it is rolled back, and each row can end alone afterwards"(fixture) {
    const { inbox, effects } = fixture;
    const claims = await claimBatch(fixture);
    const transaction = begin(inbox, ...claims);
    await effects.write(transaction.handle, "never");
    await transaction.rollback();
    await expectNothingKept(fixture, claims);
    const [first, ...others] = claims;
    expect(await inbox.fail(first!, { kind: "dead", error: "bad" })).toBe(true);
    for (const claim of others) expect(await settle(inbox, claim)).toBe("settled");
    expect(await statesOf(inbox, claims)).toEqual(["dead", "done", "done", "done"]);
    expect(await inbox.backlog(source, 10)).toBe(0);
  },
  async "keeps nothing when the lease of one row was lost, and the others can end alone"(fixture) {
    const { inbox, effects, clock } = fixture;
    const claims = await claimBatch(fixture);
    const lost = claims.find(({ id }) => id === "task-2")!;
    const held = claims.filter((claim) => claim !== lost);
    await clock.advance(29_000);
    await inbox.renew([...new Set(held.map(({ lease }) => lease))], 30_000);
    await clock.advance(2_000);
    const taken = await inbox.claim(claimOptions({ worker: "worker-2" }));
    expect(taken.claims.map(({ id }) => id)).toEqual(["task-2"]);
    const transaction = begin(inbox, ...claims);
    await effects.write(transaction.handle, "never").catch(() => {});
    expect(await transaction.commit()).toBe("lost");
    await transaction.rollback();
    await expectNothingKept(fixture, claims);
    for (const claim of held) expect(await settle(inbox, claim)).toBe("settled");
    expect(await settle(inbox, lost)).toBe("lost");
  },
  async "keeps nothing when something newer of one row was applied before, and the others can end alone"(
    fixture,
  ) {
    const { inbox, effects } = fixture;
    const claims = await claimBatch(fixture);
    const key = '["task-1"]';
    await inbox.advanceHead({ source, key, position: positionAt(9) });
    const transaction = begin(inbox, ...claims);
    await effects.write(transaction.handle, "never").catch(() => {});
    expect(await transaction.commit()).toBe("superseded");
    await transaction.rollback();
    await expectNothingKept(fixture, claims);
    for (const claim of claims) {
      const expected = claim.orderKey === key ? "settled-stale" : "settled";
      expect(await settle(inbox, claim)).toBe(expected);
    }
  },
};
