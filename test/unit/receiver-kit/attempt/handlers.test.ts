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
    await fixture.deliver(sampleEvent({ id: "event-1" }), "msg_1");
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
        alreadyApplied: false,
        idempotencyKey: "portal:event-1",
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

  it.each(["", "task.*.failed", "t*", "a b", ".*.*", 7])("on rejects %j", (pattern) => {
    const { receiver } = createReceiverFixture();
    expect(() => receiver.on(pattern as string, () => {})).toThrow(/^on: expected the name of an event/);
  });

  it("onState rejects patterns other than task and subtask", () => {
    const { receiver } = createReceiverFixture();
    expect(() => receiver.onState("job" as "task", () => {})).toThrow("expected one of task, subtask");
    expect(() => receiver.onState("tasks" as "task", () => {})).toThrow('got "tasks"; did you mean task?');
  });

  it("on accepts names that the catalog may add, and warns of one that is probably misspelt", async () => {
    await using fixture = createReceiverFixture();
    const seen: string[] = [];
    for (const pattern of ["report.ready", "report.*", "task.cancelled", "task.complete"]) {
      fixture.receiver.on(pattern, ({ event }) => void seen.push(`${pattern}: ${event}`));
    }
    expect(fixture.log.map(({ fields }) => fields)).toMatchObject([
      { pattern: "task.complete", meant: "task.completed" },
    ]);
    await fixture.receiver.start();
    for (const event of ["report.ready", "report.sent", "reporting", "task.cancelled"]) {
      await fixture.deliver({ event }, `msg_${event}`);
    }
    await fixture.clock.settle();
    expect(seen).toEqual([
      "report.ready: report.ready",
      "report.*: report.ready",
      "report.*: report.sent",
      "task.cancelled: task.cancelled",
    ]);
  });

  it("an unknown task event with the envelope reaches task.* and state handlers, in its order", async () => {
    await using fixture = createReceiverFixture();
    const seen: string[] = [];
    fixture.receiver.on("task.*", ({ status }, { stale }) => void seen.push(`on ${status} ${stale}`));
    fixture.receiver.onState("task", ({ event }) => void seen.push(`state ${event}`));
    fixture.receiver.onState("subtask", ({ subTaskId }) => void seen.push(`state ${subTaskId}`));
    await fixture.receiver.start();
    const deliver = async (fields: object) => {
      await fixture.deliver({ ...sampleEvent({ taskId: "t" }), ...fields });
      await fixture.clock.settle();
    };
    const cancelled = { event: "task.cancelled", status: "CANCELLED", occurredAt: instant(5) };
    await deliver({ id: "a", ...cancelled });
    await deliver({ id: "b", occurredAt: instant(4) });
    await deliver({ id: "c", event: "subtask.skipped", status: "SKIPPED", subTaskId: "s" });
    // Without the envelope it has no order, and reaches * only.
    await deliver({ id: "d", ...cancelled, taskId: 7 });
    expect(seen).toEqual(["on CANCELLED false", "state task.cancelled", "on RUNNING true", "state s"]);
  });

  it("a second delivery of the same event has the same idempotency key and is not called stale", async () => {
    await using fixture = createReceiverFixture();
    const seen: object[] = [];
    fixture.receiver.on("*", (_, { id, stale, alreadyApplied, idempotencyKey }) => {
      seen.push({ id, stale, alreadyApplied, idempotencyKey });
    });
    let states = 0;
    fixture.receiver.onState("task", () => void states++);
    await fixture.receiver.start();
    const event = sampleEvent({ id: "event-1" });
    for (const id of ["endpoint-1", "endpoint-2"]) {
      await fixture.deliver(event, id);
      await fixture.clock.settle();
    }
    const key = { stale: false, idempotencyKey: "default:event-1" };
    expect(seen).toEqual([
      { id: "endpoint-1", alreadyApplied: false, ...key },
      { id: "endpoint-2", alreadyApplied: true, ...key },
    ]);
    expect(states).toBe(1);
  });
});
