import { describe, expect, it } from "vitest";
import { deferred } from "../../../../sdk/kernel/deferred.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { overrideInbox } from "../../../support/wrap-inbox.ts";

describe("receiver.accept", () => {
  it("rejects with INBOX_UNAVAILABLE after acceptTimeoutMs, and logs the outage once", async () => {
    const clock = createFixtureClock();
    let hangs = true;
    const inner = memoryInbox({ clock });
    const inbox = overrideInbox(inner, {
      insert: (row) => (hangs ? new Promise(() => {}) : inner.insert(row)),
    });
    await using fixture = createReceiverFixture({ clock, inbox, acceptTimeoutMs: 2_000 });
    fixture.receiver.on("*", () => {});
    const refused = [fixture.deliver(sampleEvent()), fixture.deliver(sampleEvent())].map((outcome) =>
      outcome.catch((error: { code: string }) => error.code),
    );
    await clock.advance(2_000);
    expect(await Promise.all(refused)).toEqual(["INBOX_UNAVAILABLE", "INBOX_UNAVAILABLE"]);
    hangs = false;
    await fixture.clock.advance(10_000);
    expect(await fixture.deliver(sampleEvent())).toBe("accepted");
    expect(fixture.log.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "error: the inbox cannot store deliveries; they are not acknowledged and will be sent again",
      "warn: the inbox stores deliveries again",
      "warn: an event was stored, but start() was not called: this process handles no events",
    ]);
  });

  it("ends an outage when the inbox stores again, also when no delivery comes, and not before", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    let isDown = true;
    const orDown = <Result>(work: () => Promise<Result>) =>
      isDown ? Promise.reject(new Error("disk full")) : work();
    const inbox = overrideInbox(inner, {
      insert: (row) => orDown(() => inner.insert(row)),
      writeMarks: (source, marks) => orDown(() => inner.writeMarks(source, marks)),
    });
    await inbox.open();
    await using fixture = createReceiverFixture({ clock, inbox });
    const storingForMs = async () => (await fixture.receiver.stats()).outage.storingForMs;
    isDown = false;
    fixture.receiver.on("*", () => {});
    await fixture.receiver.start();
    isDown = true;
    await fixture.deliver(sampleEvent()).catch(() => {});
    await clock.advance("1m");
    expect(await storingForMs()).toBeGreaterThanOrEqual(60_000);
    isDown = false;
    await clock.advance("11s");
    expect(await storingForMs()).toBe(null);
    const ends = fixture.log.filter(({ message }) => message === "the inbox stores deliveries again");
    expect(ends.map(({ level }) => level)).toEqual(["warn"]);
  });

  it("acknowledges a delivery that the inbox stores within acceptTimeoutMs, however long other calls may take", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    const slow = () => new Promise<void>((resolve) => clock.schedule(59_999, resolve));
    const inbox = overrideInbox(inner, { insert: (row) => slow().then(() => inner.insert(row)) });
    await using fixture = createReceiverFixture({ clock, inbox, acceptTimeoutMs: 60_000 });
    const delivered = fixture.deliver(sampleEvent());
    await clock.advance(59_999);
    expect(await delivered).toBe("accepted");
  });

  it("logs nothing about start() when no handler is registered, as in a process that only stores", async () => {
    await using fixture = createReceiverFixture();
    expect(await fixture.deliver(sampleEvent())).toBe("accepted");
    expect(fixture.log).toEqual([]);
  });

  it("warns that events are lost to handlers when start() is called before the first on", async () => {
    await using fixture = createReceiverFixture();
    await fixture.receiver.start();
    const warnings = () => fixture.log.filter(({ message }) => message.includes("without handlers"));
    expect(warnings()).toMatchObject([{ level: "warn", message: expect.stringContaining("before start()") }]);
    await using other = createReceiverFixture();
    other.receiver.on("*", () => {});
    await other.receiver.start();
    expect(other.log.map(({ message }) => message).join()).not.toContain("without handlers");
  });

  it("rejects at once while storingBytesMax bytes wait for the inbox, also for those whose response was sent", async () => {
    const clock = createFixtureClock();
    const inner = memoryInbox({ clock });
    const gate = deferred();
    const inbox = overrideInbox(inner, { insert: (row) => gate.promise.then(() => inner.insert(row)) });
    const limits = { acceptTimeoutMs: 2_000, storingBytesMax: 250_000 };
    await using fixture = createReceiverFixture({ clock, inbox, ...limits });
    const large = () => sampleEvent({ note: "x".repeat(100_000) });
    const waiting = [large(), large()].map((event) => fixture.deliver(event).catch(() => "503"));
    const rejected = await fixture.deliver(large()).catch((error: unknown) => error);
    expect(rejected).toMatchObject({
      code: "INBOX_UNAVAILABLE",
      retryAfterSeconds: 5,
      message: "more than storingBytesMax (250000) bytes of deliveries wait for the inbox to store them",
    });
    await clock.advance(2_000);
    expect(await Promise.all(waiting)).toEqual(["503", "503"]);
    await expect(fixture.deliver(large())).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    gate.resolve();
    await clock.settle();
    expect(await fixture.deliver(large())).toBe("accepted");
  });

  it("opens the inbox again at the next delivery after opening failed", async () => {
    const clock = createFixtureClock();
    let opens = 0;
    const inbox = overrideInbox(memoryInbox({ clock }), {
      async open() {
        opens++;
        if (opens === 1) throw new Error("server is away");
      },
    });
    await using fixture = createReceiverFixture({ clock, inbox });
    await expect(fixture.deliver(sampleEvent())).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
    expect(await fixture.deliver(sampleEvent())).toBe("accepted");
  });

  it("rejects with BACKLOG_FULL while backlogMax deliveries wait", async () => {
    await using fixture = createReceiverFixture({ backlogMax: 5 });
    for (let n = 0; n < 5; n++) expect(await fixture.deliver(sampleEvent())).toBe("accepted");
    await expect(fixture.deliver(sampleEvent())).rejects.toMatchObject({
      code: "BACKLOG_FULL",
      retryAfterSeconds: 30,
    });
    await fixture.receiver.start();
    await fixture.clock.advance(2_000);
    await fixture.deliver(sampleEvent()).catch(() => "the backlog is counted again");
    await fixture.clock.settle();
    expect(await fixture.deliver(sampleEvent())).toBe("accepted");
  });

  it("counts and logs a duplicate with another body", async () => {
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

  it("quarantines an unusable delivery, which can be replayed once it is usable", async () => {
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
