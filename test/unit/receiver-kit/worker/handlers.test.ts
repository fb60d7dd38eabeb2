import { describe, expect, it } from "vitest";
import { instant } from "../../../support/inbox-rows.ts";
import { createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../../support/sample-event.ts";

describe("event handlers", () => {
  it("a handler receives the events that match its pattern", async () => {
    await using fixture = createReceiverFixture();
    const seen: string[] = [];
    fixture.receiver
      .on("task.completed", ({ event }) => void seen.push(`completed:${event}`))
      .on("task.*", ({ event }) => void seen.push(`task:${event}`))
      .on("subtask.*", ({ event }) => void seen.push(`subtask:${event}`))
      .on("*", ({ event }) => void seen.push(`any:${event}`));
    await fixture.receiver.start();
    for (const event of [
      completedEvent(),
      stageEvent(),
      { event: "task.paused", taskId: "task-1" },
      { event: "documents.synced", connectionId: "c", providerKey: "p", sourceExternalId: "s", files: [] },
    ]) {
      await fixture.deliver(event, `msg_${event["event"]}`);
      await fixture.clock.settle();
    }
    expect(seen).toEqual([
      "completed:task.completed",
      "task:task.completed",
      "any:task.completed",
      "subtask:subtask.completed",
      "any:subtask.completed",
      "any:task.paused",
      "any:documents.synced",
    ]);
  });

  it("the context of a handler describes the delivery", async () => {
    await using fixture = createReceiverFixture({ source: "portal" });
    const contexts: object[] = [];
    fixture.receiver.on("*", (_, { transaction, signal, body, ...context }) => void contexts.push(context));
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.settle();
    expect(contexts).toEqual([
      {
        id: "msg_1",
        source: "portal",
        tenant: undefined,
        secretIndex: 0,
        traceparent: undefined,
        channel: "webhook",
        receivedAtMs: fixture.clock.now(),
        attempt: 1,
        replayed: false,
        stale: false,
        idempotencyKey: "portal:msg_1",
      },
    ]);
  });

  it("a state handler receives only newer events, an event handler also older ones", async () => {
    await using fixture = createReceiverFixture();
    const states: string[] = [];
    const events: string[] = [];
    fixture.receiver.onState("task", ({ status }) => void states.push(status));
    fixture.receiver.on("task.*", ({ status }, { stale }) => void events.push(`${status} stale=${stale}`));
    await fixture.receiver.start();
    await fixture.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(2) }), "newer");
    await fixture.clock.settle();
    await fixture.deliver(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }), "older");
    await fixture.clock.settle();
    expect(states).toEqual(["COMPLETED"]);
    expect(events).toEqual(["COMPLETED stale=false", "RUNNING stale=true"]);
    expect(await fixture.stateOf("older")).toBe("stale");
  });

  it("a newer event of a task does not make the events of its stages stale", async () => {
    await using fixture = createReceiverFixture();
    const seen: string[] = [];
    fixture.receiver.onState("task", ({ status }) => void seen.push(`task ${status}`));
    fixture.receiver.onState("subtask", ({ subTaskId }) => void seen.push(subTaskId));
    await fixture.receiver.start();
    await fixture.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(9) }));
    await fixture.deliver(stageEvent({ taskId: "task-1", subTaskId: "stage-1", occurredAt: instant(5) }));
    await fixture.clock.settle();
    expect(seen).toEqual(["task COMPLETED", "stage-1"]);
  });

  it("on and onState reject patterns that match no event", () => {
    const { receiver } = createReceiverFixture();
    expect(() => receiver.on("task.complete" as "task.completed", () => {})).toThrow(
      /expected one of task\.running, .* got "task\.complete"/,
    );
    expect(() => receiver.onState("job" as "task", () => {})).toThrow("expected one of task, subtask");
  });

  it("handlers run once per webhook-id, however often it is delivered", async () => {
    await using fixture = createReceiverFixture();
    let runs = 0;
    fixture.receiver.on("*", () => void runs++);
    await fixture.receiver.start();
    const event = sampleEvent();
    const outcomes = [await fixture.deliver(event), await fixture.deliver(event)];
    await fixture.clock.settle();
    outcomes.push(await fixture.deliver(event));
    await fixture.clock.advance(60_000);
    expect(outcomes).toEqual(["accepted", "duplicate", "duplicate"]);
    expect(runs).toBe(1);
  });
});
