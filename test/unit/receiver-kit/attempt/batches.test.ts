import type { BatchItem, MemoryTransaction } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { instant } from "../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createReceiverFixture, type ReceiverFixture } from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";
import { interceptInbox } from "../../../support/wrap-inbox.ts";

interface Context {
  readonly transaction: MemoryTransaction;
}

/** Delivers events of so many tasks, then starts the receiver. */
async function start(fixture: ReceiverFixture, tasks: number): Promise<void> {
  for (let n = 1; n <= tasks; n++) await fixture.deliver(sampleEvent({ taskId: `task-${n}` }), `msg_${n}`);
  await fixture.receiver.start();
  await fixture.clock.settle();
}

/** A batch that is handled again without an end must fail its test, and not hang it. */
const callsMax = 100;

/** A handler that records the ids of its calls, applies them, and throws when `fails`. */
function recorder(fails: (ids: readonly string[]) => boolean = () => false) {
  const calls: (readonly string[])[] = [];
  const applied: string[] = [];
  const handler = (items: readonly BatchItem<object>[], { transaction }: Context) => {
    const ids = items.map(({ id }) => id);
    calls.push(ids);
    transaction.apply(() => applied.push(...ids));
    if (calls.length <= callsMax && fails(ids)) throw new Error("bad event");
  };
  return { calls, applied, handler };
}

const idsUpTo = (count: number) => Array.from({ length: count }, (_, n) => `msg_${n + 1}`);

describe("a handler of batches", () => {
  it("gets up to eventsMax of the due events at once, and does not wait for more", async () => {
    await using fixture = createReceiverFixture({ concurrency: 1 });
    const { calls, applied, handler } = recorder();
    fixture.receiver.onBatch("task.*", handler, { eventsMax: 4 });
    await start(fixture, 10);
    expect(calls.map(({ length }) => length)).toEqual([4, 4, 2]);
    expect(applied).toEqual(idsUpTo(10));
    await fixture.deliver(sampleEvent({ taskId: "later" }), "later");
    await fixture.clock.settle();
    expect(calls.at(-1)).toEqual(["later"]);
    expect((await fixture.receiver.stats()).attempts).toMatchObject({ done: 11, retried: 0 });
  });

  it("gets the events of a task in their order, each with the context that a single handler has", async () => {
    await using fixture = createReceiverFixture({ concurrency: 1 });
    const seen: unknown[] = [];
    fixture.receiver.onBatch("task.*", (items) => {
      for (const { event, body, stale, alreadyApplied, attempt, tenant, idempotencyKey, channel } of items) {
        const text = JSON.parse(new TextDecoder().decode(body)) as { status: string };
        seen.push([event["taskId"], event["status"], text.status, stale, alreadyApplied]);
        expect({ attempt, tenant, channel }).toEqual({ attempt: 1, tenant: undefined, channel: "webhook" });
        expect(idempotencyKey).toBe(`default:${String(event["id"])}`);
      }
    });
    const completed = completedEvent({ taskId: "a", occurredAt: instant(2) });
    await fixture.deliver(completed);
    await fixture.deliver(sampleEvent({ taskId: "a", occurredAt: instant(1) }));
    await fixture.deliver(completed, "copy");
    await fixture.deliver(sampleEvent({ taskId: "b" }));
    await start(fixture, 0);
    expect(seen.filter((row) => (row as string[])[0] === "a")).toEqual([
      ["a", "RUNNING", "RUNNING", false, false],
      ["a", "COMPLETED", "COMPLETED", false, false],
      ["a", "COMPLETED", "COMPLETED", false, true],
    ]);
    expect(seen).toHaveLength(4);
    expect(await fixture.stateOf("copy")).toBe("stale");
  });

  it("of state gets the newest event of a task alone, and the older ones end as stale", async () => {
    await using fixture = createReceiverFixture({ concurrency: 1 });
    const seen: string[] = [];
    fixture.receiver.onStateBatch("task", (items, { transaction }) => {
      for (const { event, stale } of items)
        transaction.apply(() => seen.push(`${event.taskId} ${event.status} ${stale}`));
    });
    await fixture.deliver(sampleEvent({ taskId: "a", occurredAt: instant(1) }), "old");
    const completed = completedEvent({ taskId: "a", occurredAt: instant(2) });
    await fixture.deliver(completed, "new");
    await fixture.deliver(completed, "new too");
    await fixture.deliver(sampleEvent({ taskId: "b" }), "other");
    await start(fixture, 0);
    expect(seen.toSorted()).toEqual(["a COMPLETED false", "b RUNNING false"]);
    expect(await Promise.all(["old", "new", "other"].map(fixture.stateOf))).toEqual([
      "stale",
      "done",
      "done",
    ]);
    await fixture.deliver(sampleEvent({ taskId: "a", occurredAt: instant(1) }), "late");
    await fixture.clock.settle();
    expect([seen.length, await fixture.stateOf("late")]).toEqual([2, "stale"]);
  });

  it("that fails runs at once for each event alone, so that a bad one alone is retried and then dead", async () => {
    await using fixture = createReceiverFixture({
      concurrency: 1,
      retry: { attemptsMax: 3, firstDelayMs: 1_000 },
    });
    const { calls, applied, handler } = recorder((ids) => ids.includes("msg_3"));
    fixture.receiver.onBatch("*", handler);
    await start(fixture, 5);
    expect(calls).toEqual([idsUpTo(5), ...idsUpTo(5).map((id) => [id])]);
    expect(applied).toEqual(["msg_1", "msg_2", "msg_4", "msg_5"]);
    expect(await fixture.rowOf("msg_3")).toMatchObject({ state: "pending", attempts: 1 });
    await fixture.clock.advance(10_000);
    expect(await fixture.rowOf("msg_3")).toMatchObject({ state: "dead", attempts: 3 });
    expect(calls.filter((ids) => ids.includes("msg_3"))).toHaveLength(4);
    expect((await fixture.receiver.stats()).attempts).toMatchObject({ done: 4, retried: 2, dead: 1 });
  });

  it("whose events all fail leaves each with one failed attempt", async () => {
    await using fixture = createReceiverFixture({ concurrency: 2 });
    const { applied, handler } = recorder(() => true);
    fixture.receiver.onBatch("*", handler);
    await start(fixture, 6);
    for (const id of idsUpTo(6))
      expect(await fixture.rowOf(id)).toMatchObject({ state: "pending", attempts: 1 });
    expect(applied).toEqual([]);
  });

  it("keeps the order of a task when one of its events fails alone and keyOrder is strict", async () => {
    await using fixture = createReceiverFixture({ concurrency: 1, keyOrder: "strict" });
    let isBroken = true;
    const { applied, handler } = recorder((ids) => isBroken && ids.includes("first"));
    fixture.receiver.onBatch("*", handler);
    await fixture.deliver(sampleEvent({ taskId: "a", occurredAt: instant(1) }), "first");
    await fixture.deliver(completedEvent({ taskId: "a", occurredAt: instant(2) }), "second");
    await fixture.deliver(sampleEvent({ taskId: "b" }), "other");
    await start(fixture, 0);
    expect(applied).toEqual(["other"]);
    isBroken = false;
    await fixture.clock.advance(10_000);
    expect(applied).toEqual(["other", "first", "second"]);
  });

  it("whose commit fails keeps nothing, and each event is handled alone", async () => {
    let failures = 1;
    const inner = memoryInbox();
    const inbox = interceptInbox(inner, async (method, call) => {
      if (method === "commit" && failures-- > 0) throw new Error("disk is full");
      return call();
    });
    await using fixture = createReceiverFixture({ concurrency: 1, inbox });
    const { calls, applied, handler } = recorder();
    fixture.receiver.onBatch("*", handler);
    await start(fixture, 3);
    expect(calls).toEqual([idsUpTo(3), ["msg_1"], ["msg_2"], ["msg_3"]]);
    expect(applied).toEqual(idsUpTo(3));
  });

  it("that exceeds handlerTimeoutMs is cancelled, and each event is handled alone", async () => {
    await using fixture = createReceiverFixture({ concurrency: 1, handlerTimeoutMs: 5_000 });
    const calls: number[] = [];
    fixture.receiver.onBatch("*", async (items, { signal }) => {
      calls.push(items.length);
      if (items.length > 1) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    await start(fixture, 3);
    await fixture.clock.advance(5_000);
    expect(calls).toEqual([3, 1, 1, 1]);
    expect((await fixture.receiver.stats()).attempts).toMatchObject({ done: 3, retried: 0 });
  });

  it("that is running when the receiver closes is released, and handled by the next one", async () => {
    const inbox = memoryInbox();
    const first = createReceiverFixture({ concurrency: 1, inbox });
    first.receiver.onBatch("*", async () => new Promise<void>(() => {}));
    await start(first, 3);
    await first[Symbol.asyncDispose]();
    await using next = createReceiverFixture({ concurrency: 1, inbox });
    const { applied, handler } = recorder();
    next.receiver.onBatch("*", handler);
    await start(next, 0);
    expect(applied).toEqual(idsUpTo(3));
    expect(await next.rowOf("msg_1")).toMatchObject({ state: "done", attempts: 1 });
  });

  it("rejects a second handler of its events at start and later, a bad pattern, and a bad size", async () => {
    const conflicting = (register: (receiver: ReceiverFixture["receiver"]) => void) => {
      const { receiver } = createReceiverFixture();
      register(receiver.onStateBatch("task", () => {}));
      return receiver.start();
    };
    const conflict = {
      code: "CONFIGURATION_INVALID",
      message: expect.stringContaining('onStateBatch("task") and'),
    };
    await expect(conflicting((receiver) => receiver.on("*", () => {}))).rejects.toMatchObject(conflict);
    await expect(conflicting((receiver) => receiver.on("task.completed", () => {}))).rejects.toMatchObject(
      conflict,
    );
    await expect(conflicting((receiver) => receiver.onBatch("task.*", () => {}))).rejects.toMatchObject(
      conflict,
    );
    await expect(conflicting((receiver) => receiver.onState("task", () => {}))).rejects.toMatchObject(
      conflict,
    );
    await using fixture = createReceiverFixture();
    fixture.receiver.onStateBatch("task", () => {}).onStateBatch("subtask", () => {});
    fixture.receiver.on("job.done", () => {}).onBatch("taskforce.*", () => {});
    await fixture.receiver.start();
    const late = expect.objectContaining(conflict);
    for (let again = 0; again < 2; again++)
      expect(() => fixture.receiver.on("task.completed", () => {})).toThrow(late);
    expect(() => fixture.receiver.onBatch("task.*", () => {})).toThrow(late);
    const invalid = expect.objectContaining({ code: "ARGUMENT_INVALID" });
    expect(() => fixture.receiver.onBatch("a b", () => {})).toThrow(invalid);
    expect(() => fixture.receiver.onStateBatch("tasks" as "task", () => {})).toThrow(invalid);
    expect(() => fixture.receiver.onBatch("*", () => {}, { eventsMax: 0 })).toThrow(invalid);
    expect(() => fixture.receiver.onBatch("*", undefined as never)).toThrow(invalid);
  });
});
