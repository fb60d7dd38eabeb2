// An intake acknowledges a delivery when its engine has it, and brings it to a receiver later: perhaps twice, perhaps after
// newer ones, never changed, and not never.

import { holds, rejectsWith, same } from "./assertions.ts";
import { type CheckOn, type ConformanceCheck, checkGroup, withFixtures } from "./conformance-check.ts";
import { type AcceptedDelivery, deliveryAt, type IntakeFixture, IntakeTarget } from "./intake-fixture.ts";
import { seededRandom } from "./seeded-random.ts";

type CheckedFixture = IntakeFixture & { readonly target: IntakeTarget };
type Hook = "loseConfirm" | "killConsumer" | "stopEngine" | "reorder";

/** The response to either is 503, and the sender sends again. */
const unavailable = ["INBOX_UNAVAILABLE", "BROKER_UNAVAILABLE"];
const deliveries = (count: number) => Array.from({ length: count }, (_, n) => deliveryAt(n));
const acceptAll = ({ intake }: CheckedFixture, all: readonly AcceptedDelivery[]) =>
  Promise.all(all.map(({ webhook, context }) => intake.accept(webhook, context)));

/** Sends until it is acknowledged, as the service does; an intake may need a moment to connect again. */
async function acceptAgain(fixture: CheckedFixture, { webhook, context }: AcceptedDelivery): Promise<void> {
  await fixture.target.until(async () => {
    try {
      await fixture.intake.accept(webhook, context);
      return true;
    } catch (error) {
      if (unavailable.includes(String((error as { code?: unknown }).code))) return false;
      throw error;
    }
  }, "a delivery that was sent again was not acknowledged");
}

const plainChecks = checkGroup<CheckedFixture>("intake", {
  async "brings every acknowledged delivery to the receiver, byte for byte, with its id, time, secret, tenant and trace"(
    fixture,
  ) {
    const all = deliveries(40);
    await acceptAll(fixture, all);
    await fixture.target.untilStored(all);
    for (const delivery of all) fixture.target.checkStored(delivery);
  },
  async "acknowledges deliveries while the receiver fails, and brings them to it afterwards"(fixture) {
    const all = deliveries(10);
    fixture.target.isFailing = true;
    await acceptAll(fixture, all);
    await fixture.target.untilAttempted();
    same(fixture.target.storedIds(), [], "stored while the receiver fails");
    fixture.target.isFailing = false;
    await fixture.target.untilStored(all);
  },
  async "loses no delivery whose first attempts at the receiver fail"(fixture) {
    const random = seededRandom(1);
    const all = deliveries(30);
    fixture.target.failsNow = () => random.happens(0.3);
    await acceptAll(fixture, all);
    await fixture.target.untilStored(all);
  },
  async "keeps a repeated delivery: the receiver decides whether it is a duplicate"(fixture) {
    const [delivery] = deliveries(1) as [AcceptedDelivery];
    await acceptAll(fixture, [delivery, delivery, delivery]);
    await fixture.target.untilStored([delivery]);
    fixture.target.checkStored(delivery);
  },
});

/** With the hook that each of them needs. */
const faultChecks: Readonly<Record<Hook, CheckOn<CheckedFixture>>> = {
  loseConfirm: {
    group: "intake",
    name: "acknowledges nothing whose confirm was lost, and the delivery that is sent again arrives",
    async run(fixture) {
      const [delivery] = deliveries(1) as [AcceptedDelivery];
      await fixture.loseConfirm?.();
      const { webhook, context } = delivery;
      await rejectsWith(fixture.intake.accept(webhook, context), unavailable, "accept");
      await acceptAgain(fixture, delivery);
      await fixture.target.untilStored([delivery]);
    },
  },
  killConsumer: {
    group: "intake",
    name: "brings every acknowledged delivery to the receiver when a consumer is killed while it stores",
    async run(fixture) {
      const all = deliveries(40);
      fixture.target.isSlow = true;
      await acceptAll(fixture, all);
      await fixture.target.untilAttempted();
      await fixture.killConsumer?.();
      fixture.target.isSlow = false;
      await fixture.target.untilStored(all);
      for (const delivery of all) fixture.target.checkStored(delivery);
    },
  },
  stopEngine: {
    group: "intake",
    name: "rejects deliveries while the engine cannot confirm them, and keeps those that it has acknowledged",
    async run(fixture) {
      const [before, during] = [deliveries(10), deliveryAt(99)];
      fixture.target.isFailing = true;
      await acceptAll(fixture, before);
      const start = await fixture.stopEngine?.();
      const { webhook, context } = during;
      await rejectsWith(fixture.intake.accept(webhook, context), unavailable, "accept");
      await start?.();
      fixture.target.isFailing = false;
      await fixture.target.untilStored(before);
      await acceptAgain(fixture, during);
      await fixture.target.untilStored([during]);
    },
  },
  reorder: {
    group: "intake",
    name: "loses nothing when the engine reorders and repeats what it has",
    async run(fixture) {
      const all = deliveries(30);
      fixture.target.isFailing = true;
      await acceptAll(fixture, all);
      await fixture.reorder?.();
      fixture.target.isFailing = false;
      await fixture.target.untilStored(all);
      for (const delivery of all) fixture.target.checkStored(delivery);
    },
  },
};

export interface IntakeChecksOptions {
  /** The hooks that the fixture has. Default: none. */
  readonly hooks?: readonly Hook[] | undefined;
  /** How long a delivery may take from its acknowledgement to the receiver, in milliseconds. Default 10,000. */
  readonly deliveredWithinMs?: number | undefined;
}

/**
 * The promises of an intake, as checks. `create` starts one whose consumer brings deliveries to `target`, which stands for
 * a receiver; a fixture of an engine that is slow to start may share it and use other names.
 */
export function intakeChecks(
  create: (target: Pick<IntakeTarget, "accept">) => Promise<IntakeFixture>,
  { hooks = [], deliveredWithinMs = 10_000 }: IntakeChecksOptions = {},
): readonly ConformanceCheck[] {
  const checks = [...plainChecks, ...hooks.map((hook) => faultChecks[hook])];
  return withFixtures(checks, async (): Promise<CheckedFixture> => {
    const target = new IntakeTarget(deliveredWithinMs);
    const fixture = await create(target);
    for (const hook of hooks) holds(typeof fixture[hook] === "function", `expected a fixture with ${hook}()`);
    return Object.assign(fixture, { target });
  });
}
