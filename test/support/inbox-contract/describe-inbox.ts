// What the receiver needs of every inbox; `receiver-kit/inbox/inbox.ts` states the promises.

import { randomInt } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InboxKeyOrder } from "../../../receiver-kit/inbox/inbox.ts";
import { atDepth } from "../depth.ts";
import { batchChecks } from "./batch-checks.ts";
import { claimingChecks } from "./claiming-checks.ts";
import { concurrencyChecks } from "./concurrency-checks.ts";
import { crashChecks } from "./crash-checks.ts";
import type { Checks, CrashFixture, InboxFixture } from "./inbox-fixture.ts";
import { leaseChecks } from "./lease-checks.ts";
import { clockChecks, reconcileChecks, retentionChecks } from "./maintenance-checks.ts";
import { ModelRun, operations } from "./model-run.ts";
import { inlineChecks, operatorChecks } from "./operator-checks.ts";
import { orderChecks, transactionChecks } from "./order-checks.ts";
import { storingChecks } from "./storing-checks.ts";

const groups: Readonly<Record<string, Checks>> = {
  storing: storingChecks,
  claiming: claimingChecks,
  "leases and fencing": leaseChecks,
  "ordering heads": orderChecks,
  "handlers' transactions": transactionChecks,
  "batches of rows": batchChecks,
  "replay and discard": operatorChecks,
  retention: retentionChecks,
  "a clock that is set": clockChecks,
  "reconciling and marks": reconcileChecks,
  "rows applied by a request": inlineChecks,
  "several workers at once": concurrencyChecks,
};

/** Declares the tests of an inbox, such as `memory inbox`. */
export function describeInbox(subject: string, create: () => Promise<InboxFixture>): void {
  for (const [group, checks] of Object.entries(groups))
    describeChecks(`${subject}: ${group}`, checks, create);
}

/** Of an inbox whose rows survive its process. */
export function describeCrashes(subject: string, create: () => Promise<CrashFixture>): void {
  describeChecks(`${subject}: crashes`, crashChecks, create);
}

function describeChecks<Fixture extends InboxFixture>(
  name: string,
  checks: Checks<Fixture>,
  create: () => Promise<Fixture>,
): void {
  describe(name, () => {
    it.each(Object.entries(checks))("%s", async (_, check) => {
      await using fixture = await create();
      await check(fixture);
      // What contradicts each other in strict order does so in the other one, too.
      expect((await fixture.contradictions?.("strict")) ?? []).toEqual([]);
    });
  });
}

const longTimeoutMs = 600_000;

/** Compares random operations with the naive model; a sequence that differs is shrunk. */
export function describeRandomOperations(subject: string, create: () => Promise<InboxFixture>, runs: number) {
  const isSame = (keyOrder: InboxKeyOrder) => async () => {
    const step = fc.record({ operation: fc.constantFrom(...operations), seed: fc.nat(1_000_000) });
    const steps = fc.array(step, { maxLength: 120, size: "max" });
    const property = fc.asyncProperty(steps, async (all) => {
      await using fixture = await create();
      const run = new ModelRun(fixture, keyOrder);
      for (const each of all) await run.step(each);
      await run.drain();
    });
    const options = atDepth({ numRuns: runs, seed: 1 }, { numRuns: 3 * runs, seed: randomInt(2 ** 31) });
    await fc.assert(property, options);
  };
  describe(`${subject}: random operations`, { timeout: longTimeoutMs }, () => {
    it("return what a naive model returns, in latest order", isSame("latest"));
    it("return what a naive model returns, in strict order", isSame("strict"));
  });
}
