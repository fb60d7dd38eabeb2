import { describe, expect, it } from "vitest";
import {
  createReceiver,
  type Inbox,
  type MemoryTransaction,
  memoryInbox,
  NonRetryableError,
} from "workspace-tasks/receiver-kit";
import { deferred } from "../../support/deferred.ts";
import { instant } from "../../support/inbox-rows.ts";
import { createFixtureClock, createReceiverFixture } from "../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../support/sample-event.ts";
import { secretA } from "../../support/signed-delivery.ts";

describe("handlers", () => {
  it("get the events their pattern names", async () => {
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

  it("are told about the delivery they handle", async () => {
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
        channel: "webhook",
        receivedAtMs: fixture.clock.now(),
        attempt: 1,
        replayed: false,
        stale: false,
        idempotencyKey: "portal:msg_1",
      },
    ]);
  });

  it("of state see only what is newer, handlers of events everything", async () => {
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

  it("of stages are not held back by a newer event of the task", async () => {
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

  it("cannot be registered for names the catalog does not have", () => {
    const { receiver } = createReceiverFixture();
    expect(() => receiver.on("task.complete" as "task.completed", () => {})).toThrow(
      /expected one of task\.running, .* got "task\.complete"/,
    );
    expect(() => receiver.onState("job" as "task", () => {})).toThrow("expected one of task, subtask");
  });

  it("run once per id, however often it is delivered", async () => {
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

describe("failing handlers", () => {
  it("are tried again after growing waits, until the event is dead", async () => {
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
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.advance(3_600_000);
    expect(attempts).toEqual([0, 1_000, 3_000, 7_000]);
    expect(dead).toEqual([["msg_1", "Error: failure 4"]]);
    expect(await fixture.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "dead",
      attempts: 4,
      lastError: "Error: failure 4",
    });
    expect(fixture.log.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("end at once when trying again cannot help", async () => {
    await using fixture = createReceiverFixture();
    fixture.receiver.on("*", () => {
      throw new NonRetryableError("unknown client");
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.settle();
    expect(await fixture.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "dead",
      attempts: 1,
    });
  });

  it("do not hold other tasks up, nor newer events of their own", async () => {
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

  it("hold newer events of their task up when the order is strict", async () => {
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

  it("take their transaction's changes with them", async () => {
    await using fixture = createReceiverFixture();
    const applied: string[] = [];
    fixture.receiver.on("*", (_, { transaction, attempt }) => {
      transaction.apply(() => applied.push(`attempt ${attempt}`));
      if (attempt === 1) throw new Error("after the write");
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent());
    await fixture.clock.advance(2_000);
    expect(applied).toEqual(["attempt 2"]);
  });

  it("are cut off after their time limit, and tried again", async () => {
    await using fixture = createReceiverFixture({ handlerTimeoutMs: 5_000, leaseMs: 30_000 });
    const reasons: string[] = [];
    fixture.receiver.on("*", async (_, { attempt, signal }) => {
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push((signal.reason as { code: string }).code);
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.advance(4_999);
    expect(await fixture.stateOf("msg_1")).toBe("running");
    await fixture.clock.advance(2_000);
    expect(reasons).toEqual(["HANDLER_TIMEOUT"]);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });
});

describe("leases", () => {
  it("are renewed while a handler runs longer than one", async () => {
    await using fixture = createReceiverFixture({ leaseMs: 3_000, handlerTimeoutMs: 60_000 });
    const gate = deferred();
    let runs = 0;
    fixture.receiver.on("*", async () => {
      runs++;
      await gate.promise;
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.advance(20_000);
    gate.resolve();
    await fixture.clock.settle();
    expect(runs).toBe(1);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });

  it("that are lost abort the handler, whose transaction leaves no trace", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    const inbox: Inbox<MemoryTransaction> = wrap(inner, { renew: async () => new Set<number>() });
    await using fixture = createReceiverFixture({ clock, inbox, leaseMs: 3_000 });
    const applied: number[] = [];
    const codes: string[] = [];
    fixture.receiver.on("*", async (_, { attempt, transaction, signal }) => {
      transaction.apply(() => applied.push(attempt));
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      codes.push((signal.reason as { code: string }).code);
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await clock.advance(10_000);
    expect(codes).toEqual(["LEASE_LOST"]);
    expect(applied).toEqual([2]);
    expect((await fixture.receiver.stats()).attempts).toMatchObject({ lost: 1, done: 1 });
  });

  it("that cannot be renewed end the handler when they must have run out", async () => {
    const clock = createFixtureClock();
    const inbox = wrap(memoryInbox({ clock }), { renew: () => Promise.reject(new Error("store is away")) });
    await using fixture = createReceiverFixture({ clock, inbox, leaseMs: 3_000, handlerTimeoutMs: 60_000 });
    const abortedAt: number[] = [];
    const startMs = clock.now();
    fixture.receiver.on("*", async (_, { attempt, signal }) => {
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      abortedAt.push(clock.now() - startMs);
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await clock.advance(10_000);
    expect(abortedAt).toEqual([3_000]);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });

  it("of a process that stopped pass to the next one", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    const process = { gone: false };
    const crashed = createReceiverFixture({ clock, inbox: crashing(inbox, process), leaseMs: 5_000 });
    crashed.receiver.on("*", () => new Promise(() => {}));
    await crashed.receiver.start();
    await crashed.deliver(sampleEvent(), "msg_1");
    await clock.settle();
    process.gone = true;
    const seen: number[] = [];
    await using heir = createReceiverFixture({ clock, inbox, leaseMs: 5_000 });
    heir.receiver.on("*", (_, { attempt }) => void seen.push(attempt));
    await heir.receiver.start();
    await clock.advance(4_999);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual([2]);
  });
});

describe("accepting", () => {
  it("lets a duplicate wait for the first, and share its fate", async () => {
    const clock = createFixtureClock();
    const gate = deferred();
    let inserts = 0;
    const inner = memoryInbox({ clock });
    const inbox = wrap(inner, {
      async insert(arrival) {
        inserts++;
        await gate.promise;
        return inner.insert(arrival);
      },
    });
    await using fixture = createReceiverFixture({ clock, inbox });
    const event = sampleEvent();
    const [first, second] = [fixture.deliver(event), fixture.deliver(event)];
    const settled: string[] = [];
    void second.finally(() => settled.push("second")).catch(() => {});
    await clock.settle();
    expect(settled).toEqual([]);
    gate.reject(new Error("disk is full"));
    await expect(first).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE", retryAfterSeconds: 5 });
    await expect(second).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    expect(inserts).toBe(1);
  });

  it("does not wait for an inbox that hangs, and says so once", async () => {
    const clock = createFixtureClock();
    let hangs = true;
    const inner = memoryInbox({ clock });
    const inbox = wrap(inner, {
      insert: (arrival) => (hangs ? new Promise(() => {}) : inner.insert(arrival)),
    });
    await using fixture = createReceiverFixture({ clock, inbox, acceptTimeoutMs: 2_000 });
    const refused = [fixture.deliver(sampleEvent()), fixture.deliver(sampleEvent())].map((outcome) =>
      outcome.catch((error: { code: string }) => error.code),
    );
    await clock.advance(2_000);
    expect(await Promise.all(refused)).toEqual(["INBOX_UNAVAILABLE", "INBOX_UNAVAILABLE"]);
    hangs = false;
    expect(await fixture.deliver(sampleEvent())).toBe("accepted");
    expect(fixture.log.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "error: the inbox cannot store deliveries; the response is 503 and they will be sent again",
      "info: the inbox stores deliveries again",
    ]);
  });

  it("tries to open the inbox again at the next delivery", async () => {
    const clock = createFixtureClock();
    let opens = 0;
    const inbox = wrap(memoryInbox({ clock }), {
      async open() {
        opens++;
        if (opens === 1) throw new Error("server is away");
      },
    });
    await using fixture = createReceiverFixture({ clock, inbox });
    await expect(fixture.deliver(sampleEvent())).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    expect(await fixture.deliver(sampleEvent())).toBe("accepted");
  });

  it("refuses more than the backlog may hold, and takes them again once it has shrunk", async () => {
    await using fixture = createReceiverFixture({ backlogMax: 5 });
    for (let n = 0; n < 5; n++) expect(await fixture.deliver(sampleEvent())).toBe("accepted");
    await expect(fixture.deliver(sampleEvent())).rejects.toMatchObject({
      code: "BACKLOG_FULL",
      retryAfterSeconds: 30,
    });
    await fixture.receiver.start();
    await fixture.clock.advance(2_000);
    await fixture.deliver(sampleEvent()).catch(() => "counts anew");
    await fixture.clock.settle();
    expect(await fixture.deliver(sampleEvent())).toBe("accepted");
  });

  it("warns when an id comes back with another body", async () => {
    await using fixture = createReceiverFixture();
    await fixture.deliver(sampleEvent(), "msg_1");
    expect(await fixture.deliver(sampleEvent(), "msg_1")).toBe("duplicate");
    expect((await fixture.receiver.stats()).ingest).toMatchObject({
      accepted: 1,
      duplicates: 1,
      conflicts: 1,
    });
    expect(fixture.log.at(-1)?.message).toMatch(/repeats an id with another body/);
  });

  it("keeps what cannot be used in quarantine, to be replayed once it can", async () => {
    await using fixture = createReceiverFixture();
    const seen: string[] = [];
    fixture.receiver.on("*", ({ event }) => void seen.push(event));
    await fixture.receiver.start();
    const early = sampleEvent({ occurredAt: new Date(fixture.clock.now() + 3_600_000).toISOString() });
    expect(await fixture.deliver(early, "early")).toBe("quarantined");
    expect(await fixture.deliverBytes("odd", Buffer.from([0xff, 0xfe]))).toBe("quarantined");
    expect(await fixture.receiver.replay("early")).toBe("not-replayable");
    await fixture.clock.advance(3_600_000);
    expect(seen).toEqual([]);
    expect(await fixture.receiver.replay("early")).toBe("replayed");
    expect(await fixture.receiver.replay("odd")).toBe("not-replayable");
    expect(await fixture.receiver.replay("absent")).toBe("not-found");
    await fixture.clock.settle();
    expect(seen).toEqual(["task.running"]);
  });
});

describe("replaying", () => {
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

describe("closing", () => {
  it("waits for running handlers, claims nothing more and accepts nothing more", async () => {
    await using fixture = createReceiverFixture({ concurrency: 1 });
    const gate = deferred();
    const seen: string[] = [];
    fixture.receiver.on("*", async (_, { id }) => {
      seen.push(id);
      await gate.promise;
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "running");
    await fixture.deliver(sampleEvent(), "waiting");
    await fixture.clock.settle();
    const closed = fixture.receiver.close({ graceMs: 5_000 });
    await expect(fixture.deliver(sampleEvent())).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    gate.resolve();
    await closed;
    expect(seen).toEqual(["running"]);
    expect(await fixture.stateOf("running")).toBe("done");
    expect(await fixture.stateOf("waiting")).toBe("pending");
  });

  it("gives back what is not done after the grace period, without counting the attempt", async () => {
    await using fixture = createReceiverFixture();
    const codes: string[] = [];
    fixture.receiver.on("*", async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      codes.push((signal.reason as { code: string }).code);
    });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.settle();
    const closed = fixture.receiver.close({ graceMs: 1_000 });
    await fixture.clock.advance(1_000);
    await closed;
    expect(codes).toEqual(["RECEIVER_CLOSING"]);
    expect(await fixture.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "pending",
      attempts: 0,
    });
  });

  it("leaves no timer behind", async () => {
    const fixture = createReceiverFixture();
    fixture.receiver.on("*", () => {});
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent());
    await fixture.clock.advance(120_000);
    await fixture.receiver.close();
    expect(fixture.clock.pending().timers).toBe(0);
  });
});

describe("upkeep", () => {
  it("removes what retention no longer keeps, while it runs", async () => {
    await using fixture = createReceiverFixture({ pollMs: 86_400_000 });
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent(), "msg_1");
    await fixture.clock.advance(8 * 86_400_000);
    expect(await fixture.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "done",
      body: null,
    });
    await fixture.clock.advance(7 * 86_400_000);
    expect(await fixture.stateOf("msg_1")).toBeUndefined();
  });

  it("warns that an inbox in memory loses what it acknowledged", async () => {
    await using fixture = createReceiverFixture();
    await fixture.receiver.start();
    expect(fixture.log[0]).toMatchObject({ level: "warn", message: expect.stringContaining("in memory") });
  });

  it("goes on when the inbox cannot be read for a while", async () => {
    const clock = createFixtureClock();
    let away = true;
    const inner = memoryInbox({ clock });
    const inbox = wrap(inner, {
      claim: (options) => (away ? Promise.reject(new Error("away")) : inner.claim(options)),
    });
    await using fixture = createReceiverFixture({ clock, inbox });
    let runs = 0;
    fixture.receiver.on("*", () => void runs++);
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent());
    await clock.advance(60_000);
    expect(runs).toBe(0);
    expect(fixture.log.filter(({ message }) => message === "the inbox cannot be read")).toHaveLength(1);
    away = false;
    await clock.advance(30_000);
    expect(runs).toBe(1);
  });
});

describe("options", () => {
  it.each([
    [{ concurrency: 0 }, "concurrency: expected a positive whole number, got 0"],
    [{ leaseMs: 1.5 }, "leaseMs: expected a whole number of milliseconds from 1 to 2147483647, got 1.5"],
    [{ source: "a b" }, "source: expected 1 to 64 of"],
    [{ retention: { idsDays: 5 } }, "retention.idsDays: expected a number of at least 14, got 5"],
    [{ retention: { idsDays: 30, headsDays: 20 } }, "retention.headsDays: expected at least idsDays, got 20"],
    [{ retry: { attemptsMax: Number.NaN } }, "retry.attemptsMax: expected a positive whole number"],
    [{ limits: { bodyBytesMax: -1 } }, "limits.bodyBytesMax: expected a positive whole number"],
  ])("are refused at once when out of range: %j", (wrong, message) => {
    expect(() => createReceiver({ secrets: [secretA], inbox: memoryInbox(), ...wrong })).toThrow(message);
  });
});

/** The same inbox with some of its methods replaced. */
function wrap(
  inner: Inbox<MemoryTransaction>,
  methods: Partial<Inbox<MemoryTransaction>>,
): Inbox<MemoryTransaction> {
  return new Proxy(inner, {
    get(target, name: keyof Inbox<MemoryTransaction>) {
      const member = methods[name] ?? target[name];
      return typeof member === "function" ? (member as (...args: never[]) => unknown).bind(target) : member;
    },
  });
}

/** The same inbox as a process sees it whose calls never come back once it is gone. */
function crashing(
  inner: Inbox<MemoryTransaction>,
  process: { readonly gone: boolean },
): Inbox<MemoryTransaction> {
  return new Proxy(inner, {
    get(target, name: keyof Inbox<MemoryTransaction>) {
      const member = target[name];
      if (typeof member !== "function") return member;
      return (...args: never[]) =>
        process.gone ? new Promise(() => {}) : (member as (...args: never[]) => unknown).apply(target, args);
    },
  });
}
