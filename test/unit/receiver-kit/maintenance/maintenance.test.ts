import { describe, expect, it } from "vitest";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { overrideInbox } from "../../../support/wrap-inbox.ts";

const yearMs = 365 * 86_400_000;

describe("retention", () => {
  it("bodies are removed after 7 days and ids after 14, while the receiver runs", async () => {
    await using fixture = createReceiverFixture({ pollMs: 86_400_000 });
    await fixture.startWithEvent();
    await fixture.clock.advance(8 * 86_400_000);
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "done", body: null });
    await fixture.clock.advance(7 * 86_400_000);
    expect(await fixture.stateOf("msg_1")).toBeUndefined();
  });

  it("a clock that is set forward by a year removes nothing, also after a restart", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    {
      await using fixture = createReceiverFixture({ clock, inbox, pollMs: 86_400_000 });
      await fixture.startWithEvent();
      await clock.advance(3_600_000);
      clock.setNow(clock.now() + yearMs);
      await clock.advance(3_600_000);
    }
    await using fixture = createReceiverFixture({ clock, inbox, pollMs: 86_400_000 });
    await fixture.receiver.start();
    await clock.advance(3_600_000);
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "done" });
    clock.setNow(clock.now() - yearMs);
    await clock.advance(3_600_000);
    expect((await fixture.rowOf("msg_1"))?.body).not.toBeNull();
  });

  it("a clock that is a year ahead at two starts removes nothing that was stored between them", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    clock.setNow(clock.now() + yearMs);
    {
      await using fixture = createReceiverFixture({ clock, inbox, pollMs: 86_400_000 });
      await fixture.receiver.start();
      clock.setNow(clock.now() - yearMs);
      await fixture.deliver(sampleEvent(), "msg_1");
      await clock.settle();
    }
    clock.setNow(clock.now() + yearMs);
    await using fixture = createReceiverFixture({ clock, inbox, pollMs: 86_400_000 });
    await fixture.receiver.start();
    await clock.advance(2 * 3_600_000);
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "done", body: expect.anything() });
  });

  it("a clock that is set forward by a year before the first start removes nothing that was stored before", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    await using fixture = createReceiverFixture({ clock, inbox, pollMs: 86_400_000 });
    await fixture.deliver(sampleEvent(), "msg_1");
    clock.setNow(clock.now() + yearMs);
    await fixture.receiver.start();
    await clock.advance(2 * 3_600_000);
    expect(await fixture.rowOf("msg_1")).toMatchObject({ state: "done", body: expect.anything() });
  });

  it.each(["readMarks", "writeMarks"] as const)(
    "an inbox is opened once and closed, although %s fails at first",
    async (method) => {
      const clock = createFixtureClock();
      const inner = memoryInbox({ clock });
      let users = 0;
      let fails = 3;
      const inbox = overrideInbox(inner, {
        async open() {
          users += 1;
        },
        async close() {
          users -= 1;
        },
        [method]: async (...given: never[]) => {
          if (fails-- > 0) throw new Error("the inbox does not respond");
          return (inner[method] as (...given: never[]) => unknown)(...given);
        },
      });
      const { receiver } = createReceiverFixture({ clock, inbox });
      for (let each = 0; each < 3; each += 1) {
        await expect(receiver.start()).rejects.toThrow("does not respond");
      }
      await receiver.start();
      expect(users).toBe(1);
      await receiver.close();
      expect(users).toBe(0);
    },
  );

  it("after a downtime of a month expired bodies are removed within a day and a half", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    {
      await using fixture = createReceiverFixture({ clock, inbox, pollMs: 86_400_000 });
      await fixture.startWithEvent();
    }
    await clock.advance(30 * 86_400_000);
    await using fixture = createReceiverFixture({ clock, inbox, pollMs: 86_400_000 });
    await fixture.receiver.start();
    await clock.advance(36 * 3_600_000);
    expect(await fixture.stateOf("msg_1")).toBeUndefined();
  });
});
