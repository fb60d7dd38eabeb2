// Each guard of the inbox, taken away: the bad thing happens. With it, the same story ends well.

import { describe, expect, it } from "vitest";
import { type Inbox, type MemoryTransaction, memoryInbox, type NewRow } from "workspace-tasks/receiver-kit";
import { withoutFencing, withoutUniqueness } from "../../../support/broken-inboxes.ts";
import { deferred } from "../../../support/deferred.ts";
import { instant } from "../../../support/inbox-rows.ts";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";
import { overrideInbox } from "../../../support/wrap-inbox.ts";

type MemoryBox = Inbox<MemoryTransaction>;
type Guard = (inner: MemoryBox) => MemoryBox;

const intact: Guard = (inner) => inner;

/** Rows of one task are strangers to each other. */
const withoutKeys: Guard = (inner) =>
  overrideInbox(inner, {
    insert: (newRow: NewRow) => inner.insert({ ...newRow, orderKey: null, position: null }),
  });

/** The head moves also to where it is already. */
const withoutStrictness: Guard = (inner) =>
  overrideInbox(inner, {
    async claim(options) {
      const result = await inner.claim(options);
      return { ...result, claims: result.claims.map((claim) => ({ ...claim, replays: 1 })) };
    },
  });

describe("uniqueness of (source, webhook-id)", () => {
  const runsOfOneDelivery = async (guard: Guard) => {
    await using fixture = createFixture(guard);
    let runs = 0;
    fixture.receiver.on("*", () => void runs++);
    await fixture.receiver.start();
    const event = sampleEvent();
    for (let copy = 0; copy < 3; copy++) await fixture.deliver(event);
    await fixture.clock.settle();
    return runs;
  };

  it("makes a repeated delivery run once", async () => expect(await runsOfOneDelivery(intact)).toBe(1));
  it("missing, it runs each time", async () => expect(await runsOfOneDelivery(withoutUniqueness)).toBe(3));
});

describe("fencing", () => {
  /** A worker stands still for longer than its lease; another takes the row over; then the first wakes up. */
  const effectsOfZombie = async (guard: Guard) => {
    const clock = createFixtureClock();
    const inbox = guard(memoryInbox({ clock }));
    const asleep = { yes: false };
    await using zombie = createReceiverFixture({ clock, inbox: sleeping(inbox, asleep), leaseMs: 3_000 });
    await using heir = createReceiverFixture({ clock, inbox, leaseMs: 3_000 });
    const gate = deferred();
    const effects: string[] = [];
    zombie.receiver.on("*", async (_, { transaction }) => {
      transaction.apply(() => effects.push("zombie"));
      await gate.promise;
    });
    heir.receiver.on("*", (_, { transaction }) => transaction.apply(() => effects.push("heir")));
    await zombie.receiver.start();
    await zombie.deliver(sampleEvent());
    await clock.settle();
    asleep.yes = true;
    await heir.receiver.start();
    await clock.advance(3_000);
    asleep.yes = false;
    gate.resolve();
    await clock.advance(10_000);
    return effects;
  };

  it("lets only the new holder's effect stand", async () =>
    expect(await effectsOfZombie(intact)).toEqual(["heir"]));
  it("missing, both take effect", async () =>
    expect(await effectsOfZombie(withoutFencing)).toEqual(["heir", "zombie"]));
});

describe("one row of a key at a time", () => {
  const story = async (guard: Guard) => {
    await using fixture = createFixture(guard);
    const log: string[] = [];
    fixture.receiver.on("task.*", async ({ status }) => {
      log.push(`begin ${status}`);
      await new Promise<void>((resolve) => fixture.clock.schedule(100, resolve));
      log.push(`end ${status}`);
    });
    await fixture.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(2) }));
    await fixture.deliver(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await fixture.receiver.start();
    await fixture.clock.advance(1_000);
    return log;
  };

  it("handles the events of a task one after the other, oldest first", async () => {
    expect(await story(intact)).toEqual(["begin RUNNING", "end RUNNING", "begin COMPLETED", "end COMPLETED"]);
  });
  it("missing, they overlap", async () => {
    const log = await story(withoutKeys);
    expect(log.slice(0, 2)).toEqual(["begin COMPLETED", "begin RUNNING"]);
  });
});

describe("the ordering head", () => {
  const statesOf = async (guard: Guard, events: readonly (readonly [string, Record<string, unknown>])[]) => {
    await using fixture = createFixture(guard);
    const states: string[] = [];
    fixture.receiver.onState("task", ({ status }) => void states.push(status));
    await fixture.receiver.start();
    for (const [id, event] of events) {
      await fixture.deliver(event, id);
      await fixture.clock.settle();
    }
    return states;
  };
  const late = [
    ["new", completedEvent({ taskId: "task-1", occurredAt: instant(2) })],
    ["old", sampleEvent({ taskId: "task-1", occurredAt: instant(1) })],
  ] as const;
  const event = completedEvent({ taskId: "task-1" });
  const twice = [
    ["endpoint-1", event],
    ["endpoint-2", event],
  ] as const;

  it("keeps an older event from replacing newer state", async () =>
    expect(await statesOf(intact, late)).toEqual(["COMPLETED"]));
  it("missing, the state goes back", async () =>
    expect(await statesOf(withoutKeys, late)).toEqual(["COMPLETED", "RUNNING"]));
  it("moves only forward, so an event under a second id is not applied again", async () =>
    expect(await statesOf(intact, twice)).toEqual(["COMPLETED"]));
  it("moving also to where it is, it would be", async () =>
    expect(await statesOf(withoutStrictness, twice)).toEqual(["COMPLETED", "COMPLETED"]));
});

function createFixture(guard: Guard) {
  const clock = createFixtureClock();
  return createReceiverFixture({ clock, inbox: guard(memoryInbox({ clock })) });
}

/** The inbox as a process sees it that does nothing while it is asleep. */
function sleeping(inner: MemoryBox, asleep: { readonly yes: boolean }): MemoryBox {
  const nothing = { claims: [], died: [], nextInMs: null };
  return overrideInbox(inner, {
    claim: async (options) => (asleep.yes ? nothing : inner.claim(options)),
    renew: async (claims, leaseMs) =>
      asleep.yes ? new Set(claims.map(({ seq }) => seq)) : inner.renew(claims, leaseMs),
  });
}
