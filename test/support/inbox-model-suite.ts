// Random operations of several workers on an inbox, each compared with a naive model.

import { describe, expect, it } from "vitest";
import type { FailedAttempt, InboxClaim, InboxKeyOrder } from "../../receiver-kit/inbox/inbox.ts";
import { createRandom, type Random } from "../simulation/random.ts";
import { InboxModel } from "./inbox-model.ts";
import { claimOptions, doneWith, runningAt } from "./inbox-rows.ts";
import { type InboxFixture, settle } from "./inbox-suite.ts";

export interface ModelFixture extends InboxFixture {
  /** Contradictions between the tables, where there are tables. */
  faults?(keyOrder: InboxKeyOrder): Promise<readonly unknown[]>;
}

interface Options {
  readonly seeds: number;
  readonly steps: number;
}

const source = "default";
const retry = { firstDelayMs: 2_000, delayMsMax: 2_000 };
const retention = { bodiesMs: 4_000, rowsMs: 8_000, headsMs: 6_000, unhandledBodiesMs: 6_000 };

export function describeInboxModel(
  name: string,
  create: () => Promise<ModelFixture>,
  { seeds, steps }: Options,
): void {
  const cases = Array.from({ length: seeds }, (_, index) => ({
    seed: index + 1,
    keyOrder: (index % 2 === 0 ? "latest" : "strict") as InboxKeyOrder,
  }));
  describe(`${name}: random operations`, () => {
    it.each(cases)(
      "with seed $seed in $keyOrder order return what a naive model returns, and leave no contradiction",
      async ({ seed, keyOrder }) => {
        await using fixture = await create();
        const run = createRun(fixture, createRandom(seed), keyOrder);
        for (let step = 0; step < steps; step++) {
          const operation = run.next();
          try {
            await operation.run();
            expect(await fixture.faults?.(keyOrder)).toEqual(fixture.faults ? [] : undefined);
            await run.compare();
          } catch (cause) {
            throw new Error(`seed ${seed}, step ${step} (${operation.name}): ${String(cause)}`, { cause });
          }
        }
      },
    );
  });
}

function createRun({ inbox, clock }: ModelFixture, random: Random, keyOrder: InboxKeyOrder) {
  const model = new InboxModel();
  let claims: InboxClaim[] = [];
  let inserted = 0;
  let calls = 0;

  const anyId = () => random.sample([...model.rows.keys()]) ?? "none";
  const operations: Record<string, readonly [weight: number, run: () => Promise<unknown>]> = {
    insert: [
      6,
      async () => {
        const isRepeated = random.happens(0.1);
        if (!isRepeated) inserted += 1;
        const id = isRepeated ? anyId() : `msg_${inserted}`;
        const task = `task-${random.integer(1, 4)}`;
        const fields = random.happens(0.15) ? { orderKey: null, position: null } : {};
        const quarantine = random.happens(0.05) ? "odd" : null;
        const row = runningAt(task, random.integer(1, 30), { ...fields, id, quarantine });
        expect((await inbox.insert(row)).outcome).toBe(model.insert(row, clock.now()));
      },
    ],
    claim: [
      5,
      async () => {
        calls += 1;
        // Not every expired lease is found by a claim that finds enough rows before.
        const rowsMax = model.hasExpired(clock.now()) ? 100 : random.integer(1, 6);
        const options = claimOptions({
          ...{ worker: `worker-${calls}`, keyOrder, retry, leaseMs: 1_000, attemptsMax: 3 },
          ...{ rowsMax, rowsPerKeyMax: random.integer(1, 3) },
        });
        const result = await inbox.claim(options);
        model.claimed(options, result, clock.now());
        claims.push(...result.claims);
      },
    ],
    end: [
      8,
      async () => {
        const claim = random.sample(claims);
        if (!claim) return;
        await end(claim);
        // Sometimes it ends twice. What a second end of a row that waits again does is not defined.
        const waitsAgain = model.holds(claim) && model.rows.get(claim.id)?.state === "pending";
        if (waitsAgain || random.happens(0.9)) claims = claims.filter((other) => other !== claim);
      },
    ],
    advance: [5, () => clock.advance(random.integer(1, 700))],
    renew: [
      2,
      async () => {
        const held = claims.filter(() => random.happens(0.5));
        const expected = held.filter((claim) => model.holds(claim));
        const renewed = await inbox.renew([...new Set(held.map(({ lease }) => lease))], 1_000);
        expect(renewed).toEqual(new Set(expected.map(({ lease }) => lease)));
        for (const claim of expected) model.renewed(claim, clock.now() + 1_000);
      },
    ],
    replay: [
      1,
      async () => {
        const row = await inbox.get({ source, id: anyId() });
        if (!row?.body) return;
        claims = claims.filter(({ id }) => id !== row.id);
        expect(await inbox.replay(row, row)).toBe(model.replay(row.id, clock.now()));
      },
    ],
    discard: [
      1,
      async () => {
        const row = model.rows.get(anyId());
        const isUnhandled = row?.state === "dead" || row?.state === "quarantined";
        expect(await inbox.discard({ source, id: row?.id ?? "none" })).toBe(isUnhandled);
        if (row && isUnhandled) row.state = "discarded";
      },
    ],
    resetHead: [
      1,
      async () => {
        const key = random.sample([...model.heads.keys()]) ?? "none";
        expect(await inbox.resetHead({ source, key })).toBe(model.heads.delete(key));
      },
    ],
    advanceHead: [
      1,
      async () => {
        const row = runningAt(`task-${random.integer(1, 4)}`, random.integer(1, 30));
        const [key, position] = [String(row.orderKey), String(row.position)];
        const head = model.heads.get(key)?.position ?? "";
        const expected = position > head ? "newer" : position === head ? "same" : "stale";
        expect(await inbox.advanceHead({ source, key, position })).toBe(expected);
        if (expected === "newer") model.heads.set(key, { position, movedAtMs: clock.now() });
      },
    ],
    repairTimes: [1, async () => expect(await inbox.repairTimes({ source, retry, keyOrder })).toBe(0)],
    purge: [1, purge],
  };

  async function end(claim: InboxClaim): Promise<void> {
    if (random.happens(0.6)) {
      expect(await settle(inbox, claim, doneWith(claim))).toBe(model.settle(claim, clock.now()));
      return;
    }
    const delayMs = random.integer(1, 1_500);
    const failures: readonly [FailedAttempt, FailedAttempt, FailedAttempt] = [
      { kind: "release" },
      { kind: "retry", delayMs, error: "no" },
      { kind: "dead", error: "no" },
    ];
    const failure = random.pick(failures);
    expect(await inbox.fail(claim, failure), failure.kind).toBe(model.fail(claim, failure, clock.now()));
  }

  async function purge(): Promise<void> {
    for (let changed = 1; changed > 0; ) changed = await inbox.purge(retention, random.integer(1, 5));
    const kept = new Set((await inbox.list({ limit: 10_000 })).map(({ id }) => id));
    for (const { id, state, bornAtMs } of model.rows.values()) {
      if (kept.has(id)) continue;
      expect(["done", "stale", "discarded"]).toContain(state);
      expect(clock.now() - bornAtMs).toBeGreaterThanOrEqual(retention.rowsMs);
      model.rows.delete(id);
    }
    for (const [key, { movedAtMs }] of model.heads) {
      if (await inbox.head(source, key)) continue;
      expect(clock.now() - movedAtMs).toBeGreaterThanOrEqual(retention.headsMs);
      expect(model.waiting(key)).toEqual([]);
      model.heads.delete(key);
    }
  }

  return {
    next() {
      const weighted = Object.entries(operations).flatMap(([name, [weight, run]]) =>
        Array.from({ length: weight }, () => ({ name, run })),
      );
      return random.sample(weighted) as (typeof weighted)[number];
    },
    /** The inbox has the rows and heads of the model, and counts them right. */
    async compare() {
      const rows = await inbox.list({ limit: 10_000 });
      const stateOf = (state: string) => (state === "running" ? "pending" : state);
      const actual = rows.map(({ id, state }) => [id, stateOf(state)] as const).toReversed();
      expect(actual).toEqual([...model.rows.values()].map(({ id, state }) => [id, state]));
      const running = [...model.rows.keys()].filter((id) => model.isOpen(id)).length;
      const stats = await inbox.stats();
      expect(stats.rows.running, "running").toBe(running);
      const waiting = actual.filter(([, state]) => state === "pending").length;
      expect(stats.rows.pending, "pending").toBe(waiting - running);
      expect(await inbox.backlog(source, 1_000), "backlog").toBe(waiting);
      const heads = await inbox.listHeads({ source, limit: 100 });
      expect(heads.map(({ key, position }) => [key, position])).toEqual(
        [...model.heads].map(([key, { position }]) => [key, position]).toSorted(),
      );
    },
  };
}
