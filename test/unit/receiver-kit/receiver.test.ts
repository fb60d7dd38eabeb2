import { describe, expect, it } from "vitest";
import {
  createReceiver,
  type Inbox,
  type MemoryTransaction,
  memoryInbox,
  NonRetryableError,
} from "workspace-tasks/receiver-kit";
import { instant } from "../../support/inbox-rows.ts";
import { createReceiverScene, createSceneClock, deferred } from "../../support/receiver-scene.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../support/sample-event.ts";
import { secretA } from "../../support/signed-delivery.ts";

describe("handlers", () => {
  it("get the events their pattern names", async () => {
    await using scene = createReceiverScene();
    const seen: string[] = [];
    scene.receiver
      .on("task.completed", ({ event }) => void seen.push(`completed:${event}`))
      .on("task.*", ({ event }) => void seen.push(`task:${event}`))
      .on("subtask.*", ({ event }) => void seen.push(`subtask:${event}`))
      .on("*", ({ event }) => void seen.push(`any:${event}`));
    await scene.receiver.start();
    for (const event of [
      completedEvent(),
      stageEvent(),
      { event: "task.paused", taskId: "task-1" },
      { event: "documents.synced", connectionId: "c", providerKey: "p", sourceExternalId: "s", files: [] },
    ]) {
      await scene.deliver(event, `msg_${event["event"]}`);
      await scene.clock.settle();
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
    await using scene = createReceiverScene({ source: "portal" });
    const contexts: object[] = [];
    scene.receiver.on("*", (_, { transaction, signal, body, ...context }) => void contexts.push(context));
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await scene.clock.settle();
    expect(contexts).toEqual([
      {
        id: "msg_1",
        source: "portal",
        channel: "webhook",
        receivedAtMs: scene.clock.now(),
        attempt: 1,
        replayed: false,
        stale: false,
        idempotencyKey: "portal:msg_1",
      },
    ]);
  });

  it("of state see only what is newer, handlers of events everything", async () => {
    await using scene = createReceiverScene();
    const states: string[] = [];
    const events: string[] = [];
    scene.receiver.onState("task", ({ status }) => void states.push(status));
    scene.receiver.on("task.*", ({ status }, { stale }) => void events.push(`${status} stale=${stale}`));
    await scene.receiver.start();
    await scene.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(2) }), "newer");
    await scene.clock.settle();
    await scene.deliver(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }), "older");
    await scene.clock.settle();
    expect(states).toEqual(["COMPLETED"]);
    expect(events).toEqual(["COMPLETED stale=false", "RUNNING stale=true"]);
    expect(await scene.stateOf("older")).toBe("stale");
  });

  it("of stages are not held back by a newer event of the task", async () => {
    await using scene = createReceiverScene();
    const seen: string[] = [];
    scene.receiver.onState("task", ({ status }) => void seen.push(`task ${status}`));
    scene.receiver.onState("subtask", ({ subTaskId }) => void seen.push(subTaskId));
    await scene.receiver.start();
    await scene.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(9) }));
    await scene.deliver(stageEvent({ taskId: "task-1", subTaskId: "stage-1", occurredAt: instant(5) }));
    await scene.clock.settle();
    expect(seen).toEqual(["task COMPLETED", "stage-1"]);
  });

  it("cannot be registered for names the catalog does not have", () => {
    const { receiver } = createReceiverScene();
    expect(() => receiver.on("task.complete" as "task.completed", () => {})).toThrow(
      /expected one of task\.running, .* got "task\.complete"/,
    );
    expect(() => receiver.onState("job" as "task", () => {})).toThrow("expected task or subtask");
  });

  it("run once per id, however often it is delivered", async () => {
    await using scene = createReceiverScene();
    let runs = 0;
    scene.receiver.on("*", () => void runs++);
    await scene.receiver.start();
    const event = sampleEvent();
    const outcomes = [await scene.deliver(event), await scene.deliver(event)];
    await scene.clock.settle();
    outcomes.push(await scene.deliver(event));
    await scene.clock.advance(60_000);
    expect(outcomes).toEqual(["accepted", "duplicate", "duplicate"]);
    expect(runs).toBe(1);
  });
});

describe("failing handlers", () => {
  it("are tried again after growing waits, until the event is dead", async () => {
    const dead: unknown[] = [];
    await using scene = createReceiverScene({
      retry: { attemptsMax: 4, firstDelayMs: 1_000 },
      onDead: (row, error) => dead.push([row.id, String(error)]),
    });
    const startMs = scene.clock.now();
    const attempts: number[] = [];
    scene.receiver.on("*", (_, { attempt }) => {
      attempts.push(scene.clock.now() - startMs);
      throw new Error(`failure ${attempt}`);
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await scene.clock.advance(3_600_000);
    expect(attempts).toEqual([0, 1_000, 3_000, 7_000]);
    expect(dead).toEqual([["msg_1", "Error: failure 4"]]);
    expect(await scene.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "dead",
      attempts: 4,
      lastError: "Error: failure 4",
    });
    expect(scene.log.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("end at once when trying again cannot help", async () => {
    await using scene = createReceiverScene();
    scene.receiver.on("*", () => {
      throw new NonRetryableError("unknown client");
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await scene.clock.settle();
    expect(await scene.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "dead",
      attempts: 1,
    });
  });

  it("do not hold other tasks up, nor newer events of their own", async () => {
    await using scene = createReceiverScene({ concurrency: 2 });
    const states: string[] = [];
    scene.receiver.onState("task", ({ taskId, status }) => {
      if (taskId === "poison" && status === "RUNNING") throw new Error("poison");
      states.push(`${taskId} ${status}`);
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent({ taskId: "poison", occurredAt: instant(1) }), "poison");
    await scene.clock.settle();
    for (let n = 0; n < 20; n++) await scene.deliver(completedEvent({ taskId: `task-${n}` }));
    await scene.deliver(completedEvent({ taskId: "poison", occurredAt: instant(2) }));
    await scene.clock.settle();
    expect(states).toHaveLength(21);
    expect(states).toContain("poison COMPLETED");
    await scene.clock.advance(5_000);
    expect(await scene.stateOf("poison")).toBe("stale");
  });

  it("hold newer events of their task up when the order is strict", async () => {
    await using scene = createReceiverScene({ keyOrder: "strict" });
    const seen: string[] = [];
    scene.receiver.on("task.*", ({ status }, { attempt }) => {
      if (status === "RUNNING" && attempt < 3) throw new Error("not yet");
      seen.push(status);
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await scene.clock.settle();
    await scene.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(2) }));
    await scene.clock.advance(10_000);
    expect(seen).toEqual(["RUNNING", "COMPLETED"]);
  });

  it("take their transaction's changes with them", async () => {
    await using scene = createReceiverScene();
    const applied: string[] = [];
    scene.receiver.on("*", (_, { transaction, attempt }) => {
      transaction.apply(() => applied.push(`attempt ${attempt}`));
      if (attempt === 1) throw new Error("after the write");
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent());
    await scene.clock.advance(2_000);
    expect(applied).toEqual(["attempt 2"]);
  });

  it("are cut off after their time limit, and tried again", async () => {
    await using scene = createReceiverScene({ handlerTimeoutMs: 5_000, leaseMs: 30_000 });
    const reasons: string[] = [];
    scene.receiver.on("*", async (_, { attempt, signal }) => {
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push((signal.reason as { code: string }).code);
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await scene.clock.advance(4_999);
    expect(await scene.stateOf("msg_1")).toBe("running");
    await scene.clock.advance(2_000);
    expect(reasons).toEqual(["HANDLER_TIMEOUT"]);
    expect(await scene.stateOf("msg_1")).toBe("done");
  });
});

describe("leases", () => {
  it("are renewed while a handler runs longer than one", async () => {
    await using scene = createReceiverScene({ leaseMs: 3_000, handlerTimeoutMs: 60_000 });
    const gate = deferred();
    let runs = 0;
    scene.receiver.on("*", async () => {
      runs++;
      await gate.promise;
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await scene.clock.advance(20_000);
    gate.resolve();
    await scene.clock.settle();
    expect(runs).toBe(1);
    expect(await scene.stateOf("msg_1")).toBe("done");
  });

  it("that are lost abort the handler, whose transaction leaves no trace", async () => {
    const clock = createSceneClock();
    const inner = memoryInbox({ clock });
    const inbox: Inbox<MemoryTransaction> = wrap(inner, { renew: async () => new Set<number>() });
    await using scene = createReceiverScene({ clock, inbox, leaseMs: 3_000 });
    const applied: number[] = [];
    const codes: string[] = [];
    scene.receiver.on("*", async (_, { attempt, transaction, signal }) => {
      transaction.apply(() => applied.push(attempt));
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      codes.push((signal.reason as { code: string }).code);
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await clock.advance(10_000);
    expect(codes).toEqual(["LEASE_LOST"]);
    expect(applied).toEqual([2]);
    expect((await scene.receiver.stats()).attempts).toMatchObject({ lost: 1, done: 1 });
  });

  it("that cannot be renewed end the handler when they must have run out", async () => {
    const clock = createSceneClock();
    const inbox = wrap(memoryInbox({ clock }), { renew: () => Promise.reject(new Error("store is away")) });
    await using scene = createReceiverScene({ clock, inbox, leaseMs: 3_000, handlerTimeoutMs: 60_000 });
    const abortedAt: number[] = [];
    const startMs = clock.now();
    scene.receiver.on("*", async (_, { attempt, signal }) => {
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      abortedAt.push(clock.now() - startMs);
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await clock.advance(10_000);
    expect(abortedAt).toEqual([3_000]);
    expect(await scene.stateOf("msg_1")).toBe("done");
  });

  it("of a process that stopped pass to the next one", async () => {
    const clock = createSceneClock();
    const inbox = memoryInbox({ clock });
    const process = { gone: false };
    const crashed = createReceiverScene({ clock, inbox: crashing(inbox, process), leaseMs: 5_000 });
    crashed.receiver.on("*", () => new Promise(() => {}));
    await crashed.receiver.start();
    await crashed.deliver(sampleEvent(), "msg_1");
    await clock.settle();
    process.gone = true;
    const seen: number[] = [];
    await using heir = createReceiverScene({ clock, inbox, leaseMs: 5_000 });
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
    const clock = createSceneClock();
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
    await using scene = createReceiverScene({ clock, inbox });
    const event = sampleEvent();
    const [first, second] = [scene.deliver(event), scene.deliver(event)];
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
    const clock = createSceneClock();
    let hangs = true;
    const inner = memoryInbox({ clock });
    const inbox = wrap(inner, {
      insert: (arrival) => (hangs ? new Promise(() => {}) : inner.insert(arrival)),
    });
    await using scene = createReceiverScene({ clock, inbox, acceptTimeoutMs: 2_000 });
    const refused = [scene.deliver(sampleEvent()), scene.deliver(sampleEvent())].map((outcome) =>
      outcome.catch((error: { code: string }) => error.code),
    );
    await clock.advance(2_000);
    expect(await Promise.all(refused)).toEqual(["INBOX_UNAVAILABLE", "INBOX_UNAVAILABLE"]);
    hangs = false;
    expect(await scene.deliver(sampleEvent())).toBe("accepted");
    expect(scene.log.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "error: the inbox cannot store deliveries; they are answered 503 and will be sent again",
      "info: the inbox stores deliveries again",
    ]);
  });

  it("tries to open the inbox again at the next delivery", async () => {
    const clock = createSceneClock();
    let opens = 0;
    const inbox = wrap(memoryInbox({ clock }), {
      async open() {
        opens++;
        if (opens === 1) throw new Error("server is away");
      },
    });
    await using scene = createReceiverScene({ clock, inbox });
    await expect(scene.deliver(sampleEvent())).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    expect(await scene.deliver(sampleEvent())).toBe("accepted");
  });

  it("refuses more than the backlog may hold, and takes them again once it has shrunk", async () => {
    await using scene = createReceiverScene({ backlogMax: 5 });
    for (let n = 0; n < 5; n++) expect(await scene.deliver(sampleEvent())).toBe("accepted");
    await expect(scene.deliver(sampleEvent())).rejects.toMatchObject({
      code: "BACKLOG_FULL",
      retryAfterSeconds: 30,
    });
    await scene.receiver.start();
    await scene.clock.advance(2_000);
    await scene.deliver(sampleEvent()).catch(() => "counts anew");
    await scene.clock.settle();
    expect(await scene.deliver(sampleEvent())).toBe("accepted");
  });

  it("warns when an id comes back with another body", async () => {
    await using scene = createReceiverScene();
    await scene.deliver(sampleEvent(), "msg_1");
    expect(await scene.deliver(sampleEvent(), "msg_1")).toBe("duplicate");
    expect((await scene.receiver.stats()).ingest).toMatchObject({ accepted: 1, duplicates: 1, conflicts: 1 });
    expect(scene.log.at(-1)?.message).toMatch(/repeats an id with another body/);
  });

  it("keeps what cannot be used in quarantine, to be replayed once it can", async () => {
    await using scene = createReceiverScene();
    const seen: string[] = [];
    scene.receiver.on("*", ({ event }) => void seen.push(event));
    await scene.receiver.start();
    const early = sampleEvent({ occurredAt: new Date(scene.clock.now() + 3_600_000).toISOString() });
    expect(await scene.deliver(early, "early")).toBe("quarantined");
    expect(await scene.deliverBytes("odd", Buffer.from([0xff, 0xfe]))).toBe("quarantined");
    expect(await scene.receiver.replay("early")).toBe("not-replayable");
    await scene.clock.advance(3_600_000);
    expect(seen).toEqual([]);
    expect(await scene.receiver.replay("early")).toBe("replayed");
    expect(await scene.receiver.replay("odd")).toBe("not-replayable");
    expect(await scene.receiver.replay("absent")).toBe("not-found");
    await scene.clock.settle();
    expect(seen).toEqual(["task.running"]);
  });
});

describe("replaying", () => {
  it("applies an event again while it is the newest, and never over a newer one", async () => {
    await using scene = createReceiverScene();
    const states: string[] = [];
    const events: string[] = [];
    scene.receiver.onState("task", ({ status }, { replayed }) => void states.push(`${status} ${replayed}`));
    scene.receiver.on("*", (_, { id, stale }) => void events.push(`${id} ${stale}`));
    await scene.receiver.start();
    await scene.deliver(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }), "first");
    await scene.clock.settle();
    expect(await scene.receiver.replay("first")).toBe("replayed");
    await scene.clock.settle();
    await scene.deliver(completedEvent({ taskId: "task-1", occurredAt: instant(2) }), "second");
    await scene.clock.settle();
    expect(await scene.receiver.replay("first")).toBe("replayed");
    await scene.clock.settle();
    expect(states).toEqual(["RUNNING false", "RUNNING true", "COMPLETED false"]);
    expect(events).toEqual(["first false", "first false", "second false", "first true"]);
  });
});

describe("closing", () => {
  it("waits for running handlers, claims nothing more and accepts nothing more", async () => {
    await using scene = createReceiverScene({ concurrency: 1 });
    const gate = deferred();
    const seen: string[] = [];
    scene.receiver.on("*", async (_, { id }) => {
      seen.push(id);
      await gate.promise;
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "running");
    await scene.deliver(sampleEvent(), "waiting");
    await scene.clock.settle();
    const closed = scene.receiver.close({ graceMs: 5_000 });
    await expect(scene.deliver(sampleEvent())).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    gate.resolve();
    await closed;
    expect(seen).toEqual(["running"]);
    expect(await scene.stateOf("running")).toBe("done");
    expect(await scene.stateOf("waiting")).toBe("pending");
  });

  it("gives back what is not done after the grace period, without counting the attempt", async () => {
    await using scene = createReceiverScene();
    const codes: string[] = [];
    scene.receiver.on("*", async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      codes.push((signal.reason as { code: string }).code);
    });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await scene.clock.settle();
    const closed = scene.receiver.close({ graceMs: 1_000 });
    await scene.clock.advance(1_000);
    await closed;
    expect(codes).toEqual(["RECEIVER_CLOSING"]);
    expect(await scene.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "pending",
      attempts: 0,
    });
  });

  it("leaves no timer behind", async () => {
    const scene = createReceiverScene();
    scene.receiver.on("*", () => {});
    await scene.receiver.start();
    await scene.deliver(sampleEvent());
    await scene.clock.advance(120_000);
    await scene.receiver.close();
    expect(scene.clock.pending().timers).toBe(0);
  });
});

describe("upkeep", () => {
  it("removes what retention no longer keeps, while it runs", async () => {
    await using scene = createReceiverScene({ pollMs: 86_400_000 });
    await scene.receiver.start();
    await scene.deliver(sampleEvent(), "msg_1");
    await scene.clock.advance(8 * 86_400_000);
    expect(await scene.inbox.get({ source: "default", id: "msg_1" })).toMatchObject({
      state: "done",
      body: null,
    });
    await scene.clock.advance(7 * 86_400_000);
    expect(await scene.stateOf("msg_1")).toBeUndefined();
  });

  it("warns that an inbox in memory loses what it acknowledged", async () => {
    await using scene = createReceiverScene();
    await scene.receiver.start();
    expect(scene.log[0]).toMatchObject({ level: "warn", message: expect.stringContaining("in memory") });
  });

  it("goes on when the inbox cannot be read for a while", async () => {
    const clock = createSceneClock();
    let away = true;
    const inner = memoryInbox({ clock });
    const inbox = wrap(inner, {
      claim: (options) => (away ? Promise.reject(new Error("away")) : inner.claim(options)),
    });
    await using scene = createReceiverScene({ clock, inbox });
    let runs = 0;
    scene.receiver.on("*", () => void runs++);
    await scene.receiver.start();
    await scene.deliver(sampleEvent());
    await clock.advance(60_000);
    expect(runs).toBe(0);
    expect(scene.log.filter(({ message }) => message === "the inbox cannot be read")).toHaveLength(1);
    away = false;
    await clock.advance(30_000);
    expect(runs).toBe(1);
  });
});

describe("options", () => {
  it.each([
    [{ concurrency: 0 }, "concurrency: expected a positive whole number, got 0"],
    [{ leaseMs: 1.5 }, "leaseMs: expected a positive whole number, got 1.5"],
    [{ source: "a b" }, "source: expected 1 to 64 of"],
    [{ retention: { idsDays: 5 } }, "retention.idsDays: expected at least 14, got 5"],
    [{ retention: { headsDays: 3 } }, "retention.headsDays: expected at least idsDays (14), got 3"],
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
