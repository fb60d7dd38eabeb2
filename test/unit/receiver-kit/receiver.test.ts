import { describe, expect, it } from "vitest";
import { deferred } from "../../../sdk/kernel/deferred.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { memoryInbox } from "../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../support/receiver-fixture.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { interceptInbox, overrideInbox } from "../../support/wrap-inbox.ts";

describe("a logger that throws", () => {
  it("changes neither the response to a delivery nor what becomes of its event", async () => {
    const fail = (): never => {
      throw new Error("the log is full");
    };
    await using fixture = createReceiverFixture({ logger: { info: fail, warn: fail, error: fail } });
    fixture.receiver.on("*", (_, { attempt }) => {
      if (attempt === 1) throw new Error("the first attempt fails");
    });
    await fixture.receiver.start();
    expect(await fixture.deliver(sampleEvent(), "msg_1")).toBe("accepted");
    await fixture.clock.advance(5_000);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });
});

describe("receiver.close", () => {
  it("waits for running handlers, and claims and accepts nothing more", async () => {
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

  it("rejects a wrong option, and makes a later start() fail, which would handle nothing", async () => {
    await using fixture = createReceiverFixture();
    fixture.receiver.on("*", () => {});
    await fixture.receiver.start();
    await expect(fixture.receiver.close({ graceMS: 1 } as object)).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
    });
    await fixture.receiver.close();
    await expect(fixture.receiver.start()).rejects.toMatchObject({
      code: "RECEIVER_CLOSING",
      message: "start() was called after close(): create another receiver",
    });
    expect(fixture.clock.pending().timers).toBe(0);
  });

  it("leaves an inbox open that it has not opened: another receiver uses it", async () => {
    const inbox = memoryInbox();
    await using fixture = createReceiverFixture({ inbox });
    await inbox.open();
    await fixture.receiver.close();
    expect(inbox.isOpen).toBe(true);
  });

  it("closes an inbox that opens later", async () => {
    const opening = deferred();
    const memory = memoryInbox();
    const inbox = overrideInbox(memory, { open: () => opening.promise.then(() => memory.open()) });
    await using fixture = createReceiverFixture({ inbox });
    const started = fixture.receiver.start();
    await fixture.receiver.close();
    opening.resolve();
    await started;
    await expect(fixture.receiver.stats()).rejects.toMatchObject({ code: "RECEIVER_CLOSING" });
    expect(memory.isOpen).toBe(false);
  });

  it("during a start leaves no timer", async () => {
    const opening = deferred();
    const inbox = overrideInbox(memoryInbox(), { open: () => opening.promise });
    await using fixture = createReceiverFixture({ inbox });
    fixture.receiver.on("*", () => {});
    const started = fixture.receiver.start();
    const closed = fixture.receiver.close();
    opening.resolve();
    await Promise.all([started, closed]);
    expect(fixture.clock.pending().timers).toBe(0);
  });

  it("during a start does not make it fail, whatever was closed", async () => {
    const listing = deferred();
    const list = () => listing.promise.then(() => Promise.reject(new Error("the inbox is closed")));
    await using fixture = createReceiverFixture({ inbox: overrideInbox(memoryInbox(), { list }) });
    const started = fixture.receiver.start();
    await fixture.clock.settle();
    const closed = fixture.receiver.close();
    listing.resolve();
    await Promise.all([started, closed]);
  });

  it("during a start ends it: nothing is handled afterwards", async () => {
    const listing = deferred();
    const memory = memoryInbox();
    const list: typeof memory.list = (filter) => listing.promise.then(() => memory.list(filter));
    await using fixture = createReceiverFixture({ inbox: overrideInbox(memory, { list }) });
    const seen: string[] = [];
    fixture.receiver.on("*", (_, { id }) => void seen.push(id));
    await fixture.deliver(sampleEvent(), "waiting");
    const started = fixture.receiver.start();
    await fixture.clock.settle();
    const closed = fixture.receiver.close();
    listing.resolve();
    await Promise.all([started, closed]);
    await fixture.clock.advance(5_000);
    expect(seen).toEqual([]);
    expect(fixture.clock.pending().timers).toBe(0);
  });

  it("releases unfinished events after the grace period, without counting the attempt", async () => {
    await using fixture = createReceiverFixture();
    const codes: string[] = [];
    fixture.receiver.on("*", async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      codes.push((signal.reason as { code: string }).code);
    });
    await fixture.startWithEvent();
    const closed = fixture.receiver.close({ graceMs: 1_000 });
    await fixture.clock.advance(1_000);
    await closed;
    expect(codes).toEqual(["RECEIVER_CLOSING"]);
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "pending", attempts: 0 });
  });

  it.each(["claim", "renew", "commit", "fail", "insert", "readMarks", "writeMarks"])(
    "ends within seconds when %s does not return",
    async (silent) => {
      const clock = createFixtureClock();
      const inner = memoryInbox({ clock });
      let isSilent = false;
      const inbox = interceptInbox(inner, (method, call) =>
        isSilent && (method === silent || method === "renew") ? new Promise<never>(() => {}) : call(),
      );
      const fixture = createReceiverFixture({ clock, inbox, pollMs: 60_000 });
      const gate = deferred();
      fixture.receiver.on("*", () => gate.promise);
      await fixture.receiver.start();
      await fixture.deliver(sampleEvent());
      await clock.settle();
      isSilent = true;
      void fixture.deliver(sampleEvent()).catch(() => {});
      if (silent.endsWith("Marks")) await clock.advance(60_000);
      if (silent === "fail") gate.reject(new Error("failed"));
      else if (silent === "commit") gate.resolve();
      const startedMs = clock.monotonic();
      const closed = fixture.receiver.close({ graceMs: 60_000 }).then(() => clock.monotonic() - startedMs);
      await clock.advance(10_000);
      expect(await closed).toBeLessThanOrEqual(4_500);
    },
  );
});

it.each([undefined, 7])("receiver.replay rejects %j", async (id) => {
  await using fixture = createReceiverFixture();
  await expect(fixture.receiver.replay(id as never)).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining(`replay: id: expected text that is not empty, got ${id}`),
  });
});

describe("receiver.stats", () => {
  it("reads an inbox that cannot be written and was not opened before", async () => {
    const readOnly = async () => {
      throw new Error("attempt to write a readonly database");
    };
    const clock = createFixtureClock();
    const inbox = overrideInbox(memoryInbox({ clock }), { writeMarks: readOnly, insert: readOnly });
    await using fixture = createReceiverFixture({ clock, inbox });
    expect((await fixture.receiver.stats()).inbox.rows.waiting).toBe(0);
    await expect(fixture.receiver.start()).rejects.toThrow("attempt to write");
  });
});

describe("receiver.start", () => {
  it("claims the rows of tenants while readMarks of the inbox fails", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    let away = false;
    const inbox = overrideInbox(inner, {
      readMarks: (source) => (away ? Promise.reject(new Error("away")) : inner.readMarks(source)),
      subscribe: async () => {
        away = true;
        return async () => {};
      },
    });
    await using fixture = createReceiverFixture({ clock, inbox, secrets: { byTenant: () => undefined } });
    const handled: string[] = [];
    fixture.receiver.on("*", (_, { id }) => void handled.push(id));
    await fixture.receiver.start();
    await inner.insert({ ...runningAt("task-1", 1), source: "default/tenant", id: "msg_1" });
    await clock.advance(5_000);
    expect(handled).toEqual(["msg_1"]);
    expect(fixture.log.filter(({ message }) => message.startsWith("events cannot be claimed"))).toEqual([]);
  });

  it("continues when the inbox can be read again after an outage", async () => {
    const clock = createFixtureClock();
    let away = true;
    const inner = memoryInbox({ clock });
    const inbox = overrideInbox(inner, {
      claim: (options) => (away ? Promise.reject(new Error("away")) : inner.claim(options)),
    });
    await using fixture = createReceiverFixture({ clock, inbox });
    let runs = 0;
    fixture.receiver.on("*", () => void runs++);
    await fixture.receiver.start();
    await fixture.deliver(sampleEvent());
    await clock.advance(60_000);
    expect(runs).toBe(0);
    expect(fixture.log.some(({ message }) => message.startsWith("events cannot be claimed"))).toBe(true);
    expect((await fixture.receiver.stats()).outage).toEqual({ storingForMs: null, claimingForMs: 60_000 });
    away = false;
    await clock.advance(10_000);
    expect(runs).toBe(1);
    expect((await fixture.receiver.stats()).outage.claimingForMs).toBeNull();
  });
});

describe("a line of the log about an event that fails", () => {
  it("names event, task and handler, also when it is dead", async () => {
    await using fixture = createReceiverFixture({ retry: { attemptsMax: 2 } });
    fixture.receiver.on("task.*", () => {});
    fixture.receiver.onState("task", () => {
      throw new Error("relation does not exist");
    });
    await fixture.receiver.start();
    const event = sampleEvent();
    await fixture.deliver(event, "msg_1");
    await fixture.clock.advance("1m");
    const fields = { id: "msg_1", source: "default", event: "task.running", task: event["taskId"] };
    const lines = fixture.log.filter(({ level }) => level !== "info");
    expect(lines).toMatchObject(
      [
        { message: "the inbox is in memory: acknowledged deliveries are lost when the process ends" },
        { level: "warn", message: /^a handler failed/, fields },
        { level: "error", message: /^an event is dead/, fields },
      ].map((line) => ({ ...line, message: expect.stringMatching(line.message) })),
    );
    for (const {
      fields: { handler },
    } of lines.slice(1) as { fields: { handler?: string } }[])
      expect(handler).toContain("task");
  });
});
