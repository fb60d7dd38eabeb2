import type { InboxRowReference } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { completedAt, instant } from "../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { countStates, createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";

describe("receiver.replay", () => {
  it("applies an event again while it is the newest, and never over a newer one", async () => {
    await using fixture = createReceiverFixture();
    const states: string[] = [];
    const events: string[] = [];
    fixture.receiver.onState("task", ({ status }, { replayed }) => void states.push(`${status} ${replayed}`));
    fixture.receiver.on("*", (_, { id, stale }) => void events.push(`${id} ${stale}`));
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }), "first");
    await fixture.clock.settle();
    expect(await fixture.receiver.replay("first")).toBe("replayed");
    await fixture.clock.settle();
    await fixture.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(2) }), "second");
    await fixture.clock.settle();
    expect(await fixture.receiver.replay("first")).toBe("replayed");
    await fixture.clock.settle();
    expect(states).toEqual(["RUNNING false", "RUNNING true", "COMPLETED false"]);
    expect(events).toEqual(["first false", "first false", "second false", "first true"]);
  });
});

describe("quarantined events", () => {
  it("are reported to onQuarantined with the reason", async () => {
    const reported: string[] = [];
    const onQuarantined = ({ source, id }: InboxRowReference, reason: string) => {
      reported.push(`${source} ${id}: ${reason}`);
      throw new Error("listener");
    };
    await using fixture = createReceiverFixture({ onQuarantined });
    expect(await fixture.deliver({ unrelated: 1 }, "odd")).toBe("quarantined");
    expect(reported).toEqual([expect.stringMatching(/^default odd: event: /)]);
  });

  it("are handled after an upgrade that can read them, and the others stay", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    const unread = { quarantine: "customerError.action: expected object", position: null };
    await inbox.insert(completedAt("task-1", 1, { id: "readable", ...unread }));
    await inbox.insert(completedAt("task-2", 1, { id: "of another source", ...unread, source: "other" }));
    await inbox.insert(completedAt("task-3", 1, { id: "odd", ...unread, body: Buffer.from("{") }));
    await using fixture = createReceiverFixture({ clock, inbox });
    const states: string[] = [];
    fixture.receiver.onState("task", ({ taskId, status }) => void states.push(`${taskId} ${status}`));
    await fixture.receiver.start();
    await clock.advance(1_000);
    expect(states).toEqual(["task-1 COMPLETED"]);
    expect(await countStates(inbox)).toEqual({ done: 1, quarantined: 2 });
  });

  it("that came too early are handled within an hour of their time", async () => {
    await using fixture = createReceiverFixture({ pollMs: 3_600_000 });
    await fixture.receiver.start();
    const occurredAt = new Date(fixture.clock.now() + 6 * 3_600_000).toISOString();
    expect(await fixture.deliver(sampleEvent({ occurredAt }), "early")).toBe("quarantined");
    await fixture.clock.advance(5 * 3_600_000);
    expect(await fixture.stateOf("early")).toBe("quarantined");
    await fixture.clock.advance(2 * 3_600_000);
    expect(await fixture.stateOf("early")).toBe("done");
  });
});
