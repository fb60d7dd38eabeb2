import { describe, expect, it } from "vitest";
import { instant } from "../../../support/inbox-rows.ts";
import { createReceiverFixture } from "../../../support/receiver-fixture.ts";
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
