// What the receiver needs of every inbox; `receiver-kit/inbox/inbox.ts` states the promises.

import { describe, expect, it } from "vitest";
import { batchChecks } from "./batch-checks.ts";
import { claimingChecks } from "./claiming-checks.ts";
import { concurrencyChecks } from "./concurrency-checks.ts";
import { crashChecks } from "./crash-checks.ts";
import type { Checks, CrashFixture, InboxFixture } from "./inbox-fixture.ts";
import { leaseChecks } from "./lease-checks.ts";
import { clockChecks, reconcileChecks, retentionChecks } from "./maintenance-checks.ts";
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
      expect((await fixture.contradictions?.()) ?? []).toEqual([]);
    });
  });
}
