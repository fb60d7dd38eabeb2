// What each guard of an inbox prevents: the same scenario with the guard and without it.

import { describe, expect, it } from "vitest";
import type { MemoryTransaction } from "workspace-tasks/receiver-kit";
import type { InboxStore, NewInboxRow } from "../../../../receiver-kit/inbox/inbox.ts";
import { withoutFencing, withoutUniqueness } from "../../../support/broken-inboxes.ts";
import { deferred } from "../../../support/deferred.ts";
import { instant } from "../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";
import { overrideInbox } from "../../../support/wrap-inbox.ts";

type MemoryBox = InboxStore<MemoryTransaction>;
type Guard = (inner: MemoryBox) => MemoryBox;

const intact: Guard = (inner) => inner;

/** The rows of one task have no key in common. */
const withoutKeys: Guard = (inner) =>
  overrideInbox(inner, {
    insert: (newRow: NewInboxRow) => inner.insert({ ...newRow, orderKey: null, position: null }),
  });

/** An event is applied again at the position of the head. */
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

  it("runs a repeated delivery once", async () => expect(await runsOfOneDelivery(intact)).toBe(1));
  it("is what prevents it: without it a repeated delivery runs each time", async () =>
    expect(await runsOfOneDelivery(withoutUniqueness)).toBe(3));
});

describe("fencing of a worker whose lease ended", () => {
  /** A worker is paused for longer than its lease; another claims the row; then the first continues. */
  const effectsOfPaused = async (guard: Guard) => {
    const clock = createFixtureClock();
    const inbox = guard(memoryInbox({ clock }));
    const pause = { active: false };
    await using paused = createReceiverFixture({ clock, inbox: pausable(inbox, pause), leaseMs: 3_000 });
    await using other = createReceiverFixture({ clock, inbox, leaseMs: 3_000 });
    const gate = deferred();
    const effects: string[] = [];
    paused.receiver.on("*", async (_, { transaction }) => {
      transaction.apply(() => effects.push("paused"));
      await gate.promise;
    });
    other.receiver.on("*", (_, { transaction }) => transaction.apply(() => effects.push("other")));
    await paused.receiver.start();
    await paused.deliver(sampleEvent());
    await clock.settle();
    pause.active = true;
    await other.receiver.start();
    await clock.advance(3_000);
    pause.active = false;
    gate.resolve();
    await clock.advance(10_000);
    return effects;
  };

  it("keeps only the effect of the worker that holds the claim", async () =>
    expect(await effectsOfPaused(intact)).toEqual(["other"]));
  it("is what prevents it: without it both workers take effect", async () =>
    expect(await effectsOfPaused(withoutFencing)).toEqual(["other", "paused"]));
});

describe("one row of a key at a time", () => {
  const scenario = async (guard: Guard) => {
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
    expect(await scenario(intact)).toEqual([
      "begin RUNNING",
      "end RUNNING",
      "begin COMPLETED",
      "end COMPLETED",
    ]);
  });
  it("is what prevents it: without keys the handlers of a task overlap", async () => {
    const log = await scenario(withoutKeys);
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
  it("is what prevents it: without keys the state goes back", async () =>
    expect(await statesOf(withoutKeys, late)).toEqual(["COMPLETED", "RUNNING"]));
  it("advances only, so an event with a second id is not applied again", async () =>
    expect(await statesOf(intact, twice)).toEqual(["COMPLETED"]));
  it("is what prevents it: with an equal position accepted it is applied again", async () =>
    expect(await statesOf(withoutStrictness, twice)).toEqual(["COMPLETED", "COMPLETED"]));
});

function createFixture(guard: Guard) {
  const clock = createFixtureClock();
  return createReceiverFixture({ clock, inbox: guard(memoryInbox({ clock })) });
}

/** The inbox as a process sees it that is paused now and then. */
function pausable(inner: MemoryBox, pause: { readonly active: boolean }): MemoryBox {
  return overrideInbox(inner, {
    async claim(options) {
      if (!pause.active) return inner.claim(options);
      const { nowMs } = await inner.readMarks("");
      return { claims: [], died: [], nextInMs: null, nowMs };
    },
    renew: async (leases, leaseMs) => (pause.active ? new Set(leases) : inner.renew(leases, leaseMs)),
  });
}
