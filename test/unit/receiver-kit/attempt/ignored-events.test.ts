import { describe, expect, it } from "vitest";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import {
  createFixtureClock,
  createReceiverFixture,
  type ReceiverFixture,
} from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../../support/sample-event.ts";
import { interceptInbox } from "../../../support/wrap-inbox.ts";

const failedEvent = (id: string) => ({
  ...sampleEvent({ id, taskId: id }),
  event: "task.failed",
  status: "FAILED",
});

const ignoredIn = ({ log }: ReceiverFixture) =>
  log
    .filter(({ message }) => message.startsWith("no handler is registered"))
    .map(({ level, fields, message }) => ({ level, ...fields, message }));

const message =
  "no handler is registered for an event; it is done without effect, further ones are only counted";

describe("events that no handler is registered for", () => {
  it("are done, counted by name, and logged once per name with the handlers that exist", async () => {
    await using fixture = createReceiverFixture();
    fixture.receiver.on("task.completed", () => {}).onState("subtask", () => {});
    await fixture.receiver.start();
    for (const id of ["a", "b", "c"]) await fixture.deliver(failedEvent(id));
    await fixture.deliver({ event: "report.ready" }, "msg_report");
    await fixture.clock.settle();
    expect(await fixture.stateOf("msg_a")).toBe("done");
    expect((await fixture.receiver.stats()).ignored).toEqual({ "task.failed": 3, "report.ready": 1 });
    const handlers = ['on("task.completed")', 'onState("subtask")'];
    expect(ignoredIn(fixture)).toEqual([
      { level: "warn", source: "default", event: "task.failed", handlers, message },
      { level: "warn", source: "default", event: "report.ready", handlers, message },
    ]);
  });

  it("may be meant by a misspelt handler, which the log names", async () => {
    await using fixture = createReceiverFixture();
    fixture.receiver.on("task.completed", () => {}).on("task.faild", () => {});
    await fixture.receiver.start();
    await fixture.deliver(failedEvent("a"));
    await fixture.clock.settle();
    expect(ignoredIn(fixture)).toMatchObject([{ message: `${message}; is on("task.faild") misspelt?` }]);
  });

  it("are not those whose handlers do not run because something newer, or the same event, was applied", async () => {
    await using fixture = createReceiverFixture();
    fixture.receiver.onState("task", () => {}).on("subtask.*", () => {});
    await fixture.receiver.start();
    const event = completedEvent();
    const older = sampleEvent({ taskId: event["taskId"] });
    for (const [id, each] of Object.entries({ first: event, again: event, older, stage: stageEvent() })) {
      await fixture.deliver(each, id);
      await fixture.clock.settle();
    }
    expect(await fixture.stateOf("again")).toBe("stale");
    expect((await fixture.receiver.stats()).ignored).toEqual({});
    expect(ignoredIn(fixture)).toEqual([]);
  });

  it("are counted once they are done, not with each attempt that the inbox does not record", async () => {
    const clock = createFixtureClock();
    let failures = 3;
    const inbox = interceptInbox(memoryInbox({ clock }), (method, call) => {
      if (method === "commit" && failures-- > 0) throw new Error("the inbox is out of order");
      return call();
    });
    await using fixture = createReceiverFixture({ clock, inbox });
    fixture.receiver.on("task.completed", () => {});
    await fixture.receiver.start();
    await fixture.deliver(failedEvent("a"));
    await clock.settle();
    expect(await fixture.stateOf("msg_a")).toBe("pending");
    expect(ignoredIn(fixture)).toEqual([]);
    await clock.advance("1h");
    expect(await fixture.stateOf("msg_a")).toBe("done");
    expect((await fixture.receiver.stats()).ignored).toEqual({ "task.failed": 1 });
  });

  it("are counted under at most 101 names", async () => {
    await using fixture = createReceiverFixture();
    fixture.receiver.on("task.*", () => {});
    await fixture.receiver.start();
    for (let index = 0; index < 120; index += 1) {
      await fixture.deliver({ event: `report.r${index}` }, `msg_${index}`);
    }
    await fixture.clock.settle();
    const { ignored } = await fixture.receiver.stats();
    expect(Object.keys(ignored)).toHaveLength(101);
    expect(ignored["other"]).toBe(20);
    expect(ignoredIn(fixture)).toHaveLength(101);
  });
});
