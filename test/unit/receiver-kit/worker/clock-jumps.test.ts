import { describe, expect, it } from "vitest";
import type { InboxRepairOptions } from "../../../../receiver-kit/inbox/inbox.ts";
import { claimOptions, runningAt } from "../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretA } from "../../../support/signed-delivery.ts";
import { overrideInbox } from "../../../support/wrap-inbox.ts";

const hourMs = 3_600_000;

/** Receivers on one inbox and one clock; counts the attempts of each event by receiver. */
function createReceivers(count: number) {
  const clock = createFixtureClock();
  const inbox = memoryInbox({ clock });
  const attempts: string[] = [];
  const fixtures = Array.from({ length: count }, () => createReceiverFixture({ clock, inbox }));
  const set = (byMs: number) => clock.setNow(clock.now() + byMs);
  const handleFor = (handlerMs: number) => {
    for (const [index, { receiver }] of fixtures.entries()) {
      receiver.on("*", (_, { id }) => {
        attempts.push(`${id} by ${index}`);
        return new Promise((resolve) => clock.schedule(handlerMs, resolve));
      });
    }
  };
  return { clock, inbox, attempts, fixtures, set, handleFor };
}

describe("a receiver whose inbox's clock is set", () => {
  it("handles at its start what was stored before the clock was set back", async () => {
    const { clock, fixtures, set } = createReceivers(1);
    await using fixture = fixtures[0]!;
    await fixture.deliver(sampleEvent(), "msg_1");
    set(-2 * hourMs);
    await fixture.receiver.start();
    await clock.settle();
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });

  it.each(["one tenant", "many tenants"])(
    "handles for %s what was stored before the clock was set back between the repair and the first claim",
    async (tenants) => {
      const { clock, inbox, set } = createReceivers(0);
      const set12HoursBack = async (options: InboxRepairOptions) => {
        const repaired = await inbox.repairTimes(options);
        if (clock.now() === startMs) set(-12 * hourMs);
        return repaired;
      };
      const startMs = clock.now();
      const secrets = tenants === "one tenant" ? [secretA] : { byTenant: () => undefined };
      const changed = overrideInbox(inbox, { repairTimes: set12HoursBack });
      await using fixture = createReceiverFixture({ clock, inbox: changed, secrets });
      const source = tenants === "one tenant" ? "default" : "default/tenant";
      await inbox.insert({ ...runningAt("task-1", 1), source, id: "msg_1" });
      await fixture.receiver.start();
      await clock.advance(32_000);
      expect((await inbox.get({ source, id: "msg_1" }))?.state).toBe("done");
    },
  );

  it("handles what was stored while the clock was ahead, for less time than between two polls", async () => {
    const { clock, inbox, set } = createReceivers(0);
    await using fixture = createReceiverFixture({ clock, inbox, retry: { delayMsMax: 60_000 } });
    await fixture.receiver.start();
    await clock.settle();
    set(24 * hourMs);
    const { claim } = inbox;
    Object.assign(inbox, { claim: () => Promise.reject(new Error("connection lost")) });
    await fixture.deliver(sampleEvent(), "msg_1");
    await clock.settle();
    set(-24 * hourMs);
    Object.assign(inbox, { claim });
    await clock.advance(40_000);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });

  it("retries in time after the clock was set back, and shows the jump in its statistics", async () => {
    const { clock, fixtures, set } = createReceivers(1);
    await using fixture = fixtures[0]!;
    let failures = 1;
    fixture.receiver.on("*", () => {
      if (failures-- > 0) throw new Error("not yet");
    });
    await fixture.startWithEvent();
    set(-2 * hourMs);
    await clock.advance(2_000);
    expect(await fixture.stateOf("msg_1")).toBe("done");
    expect((await fixture.receiver.stats()).clock).toEqual({ jumps: 1, lastJumpMs: -2 * hourMs });
  });

  it("takes over the events of a crashed process one lease after the clock was set back", async () => {
    const { clock, inbox, fixtures, set } = createReceivers(1);
    await using fixture = fixtures[0]!;
    await fixture.deliver(sampleEvent(), "msg_1");
    await inbox.claim(claimOptions({ worker: "crashed" }));
    set(-2 * hourMs);
    await fixture.receiver.start();
    await clock.advance(31_000);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });

  it("does not handle an event twice when the clock is set forward during its handler", async () => {
    const { clock, attempts, fixtures, set, handleFor } = createReceivers(2);
    await using first = fixtures[0]!;
    await using second = fixtures[1]!;
    handleFor(25_000);
    await first.receiver.start();
    await second.receiver.start();
    await first.deliver(sampleEvent(), "msg_1");
    await clock.advance(1_000);
    set(3 * hourMs);
    await clock.advance(40_000);
    expect(attempts).toHaveLength(1);
    expect(await first.stateOf("msg_1")).toBe("done");
    const jumps = await Promise.all(
      fixtures.map(async ({ receiver }) => (await receiver.stats()).clock.jumps),
    );
    expect(Math.max(...jumps)).toBe(1);
  });

  it("does not handle an event of a tenant twice when the clock is set forward before its first claim", async () => {
    const { clock, inbox, attempts, set } = createReceivers(0);
    const secrets = { byTenant: () => undefined };
    await using first = createReceiverFixture({ clock, inbox, secrets });
    // It polls before the first one does, and the insert does not wake it.
    const unnotified = overrideInbox(inbox, { subscribe: async () => async () => {} });
    await using second = createReceiverFixture({ clock, inbox: unnotified, secrets, pollMs: 500 });
    for (const { receiver } of [first, second]) {
      receiver.on("*", (_, { id }) => {
        attempts.push(id);
        return new Promise((resolve) => clock.schedule(25_000, resolve));
      });
      await receiver.start();
    }
    await clock.settle();
    await inbox.insert({ ...runningAt("task-1", 1), source: "default/tenant", id: "msg_1" });
    await clock.advance(100);
    expect(attempts).toEqual(["msg_1"]);
    set(3 * hourMs);
    await clock.advance(40_000);
    expect(attempts).toEqual(["msg_1"]);
  });

  it("keeps the events that it handles when the clock is set forward and another process starts", async () => {
    const { clock, attempts, fixtures, set, handleFor } = createReceivers(2);
    await using first = fixtures[0]!;
    await using second = fixtures[1]!;
    handleFor(5_000);
    await first.receiver.start();
    await first.deliver(sampleEvent({ taskId: "task-1" }), "msg_1");
    await clock.settle();
    set(3 * hourMs);
    // The response to its claim shows that the clock was set.
    await first.deliver(sampleEvent({ taskId: "task-2" }), "msg_2");
    await clock.settle();
    await second.receiver.start();
    await clock.advance(40_000);
    expect(attempts).toEqual(["msg_1 by 0", "msg_2 by 0"]);
  });
});
