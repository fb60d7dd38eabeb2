import { type MemoryTransaction, NonRetryableError, ReceiverError } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import type { InboxLease, InboxStore } from "../../../../receiver-kit/inbox/inbox.ts";
import { instant } from "../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";
import { interceptInbox, overrideInbox } from "../../../support/wrap-inbox.ts";

describe("an attempt", () => {
  it("that fails is retried after growing delays until the event is dead", async () => {
    const dead: unknown[] = [];
    await using fixture = createReceiverFixture({
      retry: { attemptsMax: 4, firstDelayMs: 1_000 },
      onDead: (row, error) => dead.push([row.id, String(error)]),
    });
    const startMs = fixture.clock.now();
    const attempts: number[] = [];
    fixture.receiver.on("*", (_, { attempt }) => {
      attempts.push(fixture.clock.now() - startMs);
      throw new Error(`failure ${attempt}`);
    });
    await fixture.startWithEvent();
    await fixture.clock.advance(3_600_000);
    expect(attempts).toEqual([0, 1_000, 3_000, 7_000]);
    expect(dead).toEqual([["msg_1", "Error: failure 4"]]);
    expect(await fixture.rowOf("msg_1")).toMatchObject({
      state: "dead",
      attempts: 4,
      lastError: "Error: failure 4",
    });
    expect(fixture.log.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("that throws NonRetryableError makes the event dead at once", async () => {
    await using fixture = createReceiverFixture();
    fixture.receiver.on("*", () => {
      throw new NonRetryableError("unknown client");
    });
    await fixture.startWithEvent();
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "dead", attempts: 1 });
  });

  const unreadable = "Error: the handler threw a value that cannot be read";
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  it.each([
    ["a revoked proxy", revoked.proxy, unreadable],
    ["an object without a prototype", Object.create(null), unreadable],
    ["undefined", undefined, "undefined"],
    [
      "an error of another package because of one of the inbox",
      new Error("Failed query: begin", { cause: new NonRetryableError("BEGIN was not executed") }),
      "Error: Failed query: begin (NonRetryableError: BEGIN was not executed)",
    ],
  ])("that throws %s makes the event dead with a text that says so", async (_, thrown, lastError) => {
    await using fixture = createReceiverFixture({ retry: { attemptsMax: 1 } });
    fixture.receiver.on("*", () => {
      throw thrown;
    });
    await fixture.startWithEvent();
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "dead", lastError });
  });

  it("whose end is rejected because the release is too old is left to the end of its lease, and counts as no failure", async () => {
    const inbox = interceptInbox(memoryInbox({ clock: createFixtureClock() }), (name, call) =>
      name === "commit" ? Promise.reject(new ReceiverError("RELEASE_TOO_OLD", "too old")) : call(),
    );
    await using fixture = createReceiverFixture({ inbox });
    fixture.receiver.on("*", () => {});
    await fixture.startWithEvent();
    expect((await fixture.receiver.stats()).attempts).toMatchObject({ lost: 1, retried: 0 });
    expect(fixture.log.map(({ message }) => message)).toContain(
      "the end of an attempt could not be recorded",
    );
  });

  it("that fails delays neither other tasks nor newer events of its own task", async () => {
    await using fixture = createReceiverFixture({ concurrency: 2 });
    const states: string[] = [];
    fixture.receiver.onState("task", ({ taskId, status }) => {
      if (taskId === "poison" && status === "RUNNING") throw new Error("poison");
      states.push(`${taskId} ${status}`);
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent({ taskId: "poison", occurredAt: instant(1) }), "poison");
    await fixture.clock.settle();
    for (let n = 0; n < 20; n++) await fixture.deliver(completedEvent({ taskId: `task-${n}` }));
    await fixture.deliver(completedEvent({ taskId: "poison", occurredAt: instant(2) }));
    await fixture.clock.settle();
    expect(states).toHaveLength(21);
    expect(states).toContain("poison COMPLETED");
    await fixture.clock.advance(5_000);
    expect(await fixture.stateOf("poison")).toBe("stale");
  });

  it("that fails delays newer events of its task when keyOrder is strict", async () => {
    await using fixture = createReceiverFixture({ keyOrder: "strict" });
    const seen: string[] = [];
    fixture.receiver.on("task.*", ({ status }, { attempt }) => {
      if (status === "RUNNING" && attempt < 3) throw new Error("not yet");
      seen.push(status);
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await fixture.clock.settle();
    await fixture.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(2) }));
    await fixture.clock.advance(10_000);
    expect(seen).toEqual(["RUNNING", "COMPLETED"]);
  });

  it("that exceeds handlerTimeoutMs is aborted with HANDLER_TIMEOUT and retried", async () => {
    await using fixture = createReceiverFixture({ handlerTimeoutMs: 5_000, leaseMs: 30_000 });
    const reasons: string[] = [];
    fixture.receiver.on("*", async (_, { attempt, signal }) => {
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push((signal.reason as { code: string }).code);
    });
    await fixture.startWithEvent();
    await fixture.clock.advance(4_999);
    expect(await fixture.stateOf("msg_1")).toBe("running");
    await fixture.clock.advance(2_000);
    expect(reasons).toEqual(["HANDLER_TIMEOUT"]);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });

  it("that loses its lease is aborted with LEASE_LOST, and its transaction leaves no trace", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    const inbox: InboxStore<MemoryTransaction> = overrideInbox(inner, {
      renew: async () => new Set<InboxLease>(),
    });
    await using fixture = createReceiverFixture({ clock, inbox, leaseMs: 3_000 });
    const applied: number[] = [];
    const codes: string[] = [];
    fixture.receiver.on("*", async (_, { attempt, transaction, signal }) => {
      transaction.apply(() => applied.push(attempt));
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      codes.push((signal.reason as { code: string }).code);
    });
    await fixture.startWithEvent();
    await clock.advance(10_000);
    expect(codes).toEqual(["LEASE_LOST"]);
    expect(applied).toEqual([2]);
    expect((await fixture.receiver.stats()).attempts).toMatchObject({ retried: 1, done: 1 });
  });

  it("does not die of a connection that is lost during its statement, but waits longer each time", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    let losses = 3;
    const inbox: InboxStore<MemoryTransaction> = overrideInbox(inner, {
      begin(items, options) {
        const begun = inner.begin(items, options);
        if (losses-- <= 0) return begun;
        const { handle, rollback } = begun;
        return { handle, fault: "lost", rollback, commit: () => Promise.reject(new Error("reset")) };
      },
    });
    const retry = { attemptsMax: 2, firstDelayMs: 1_000 };
    await using fixture = createReceiverFixture({ clock, inbox, retry });
    const attempts: number[] = [];
    fixture.receiver.on("*", (_, { attempt }) => void attempts.push(attempt));
    await fixture.startWithEvent();
    await clock.advance(60_000);
    expect(attempts).toEqual([1, 2, 2, 2]);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });

  it("whose end cannot be recorded during an outage is recorded after it, and is no crash", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    const outageEndsMs = clock.monotonic() + 2_000;
    const inbox: InboxStore<MemoryTransaction> = overrideInbox(inner, {
      begin(items, options) {
        const { handle, rollback, commit } = inner.begin(items, options);
        if (clock.monotonic() >= outageEndsMs) return { handle, rollback, commit };
        return { handle, fault: "connection", rollback, commit: () => Promise.reject(new Error("reset")) };
      },
      fail(claim, failure) {
        if (clock.monotonic() >= outageEndsMs) return inner.fail(claim, failure);
        return Promise.reject(new ReceiverError("INBOX_UNAVAILABLE", "no server"));
      },
    });
    await using fixture = createReceiverFixture({ clock, inbox, leaseMs: 10_000, retry: { attemptsMax: 1 } });
    const attempts: number[] = [];
    fixture.receiver.on("*", (_, { attempt }) => void attempts.push(attempt));
    await fixture.startWithEvent();
    await clock.advance(60_000);
    expect(attempts).toEqual([1, 1]);
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "done", attempts: 1 });
  });
});
