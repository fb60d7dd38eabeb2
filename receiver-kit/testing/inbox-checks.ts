import type { InboxKeyOrder } from "../inbox/inbox.ts";
import { claimingChecks } from "./claiming-checks.ts";
import { concurrencyChecks } from "./concurrency-checks.ts";
import { type CheckOn, type ConformanceCheck, withFixtures } from "./conformance-check.ts";
import { crashChecks } from "./crash-checks.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import { leaseChecks } from "./lease-checks.ts";
import { clockChecks, reconcileChecks, retentionChecks } from "./maintenance-checks.ts";
import { ModelRun } from "./model-run.ts";
import { inlineChecks, operatorChecks } from "./operator-checks.ts";
import { orderChecks, transactionChecks } from "./order-checks.ts";
import { storingChecks } from "./storing-checks.ts";

export interface InboxChecksOptions {
  /** The fixture has `crash`. Default false. */
  readonly crashes?: boolean | undefined;
  /** Seeds of the comparison with a naive model, one check each. Default 1 to 4. */
  readonly seeds?: readonly number[] | undefined;
  /** Random operations per seed. Default 120. */
  readonly steps?: number | undefined;
}

/** The promises of an inbox, as checks. Each of them creates a fixture of its own and disposes it. */
export function inboxChecks(
  create: () => Promise<InboxFixture>,
  { crashes = false, seeds = [1, 2, 3, 4], steps = 120 }: InboxChecksOptions = {},
): readonly ConformanceCheck[] {
  const checks: readonly CheckOn<InboxFixture>[] = [
    ...storingChecks,
    ...claimingChecks,
    ...leaseChecks,
    ...orderChecks,
    ...transactionChecks,
    ...operatorChecks,
    ...retentionChecks,
    ...clockChecks,
    ...reconcileChecks,
    ...inlineChecks,
    ...concurrencyChecks,
    ...(crashes ? crashChecks : []),
    ...seeds.map((seed) => modelCheck(seed, steps)),
  ];
  return withFixtures(checks, create);
}

/** Odd seeds run in `latest` order, even ones in `strict` order. */
function modelCheck(seed: number, steps: number): CheckOn<InboxFixture> {
  const keyOrder: InboxKeyOrder = seed % 2 ? "latest" : "strict";
  return {
    group: "random operations",
    name: `return what a naive model returns, with seed ${seed} in ${keyOrder} order`,
    async run(fixture) {
      const run = new ModelRun(fixture, seed, keyOrder);
      for (let step = 0; step < steps; step++) {
        const operation = run.next();
        try {
          await run[operation]();
          await run.compare();
        } catch (cause) {
          throw new Error(`seed ${seed}, step ${step} (${operation}): ${String(cause)}`, { cause });
        }
      }
    },
  };
}
