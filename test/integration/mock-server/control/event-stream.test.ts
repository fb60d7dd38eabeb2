import { createMockServer, createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { createEventStream } from "../../../../mock-server/control/event-stream.ts";
import { nodeHashing } from "../../../../mock-server/node/platform.ts";
import type { Transport } from "../../../../mock-server/outbound.ts";
import { defaultSettings } from "../../../../mock-server/settings/settings.ts";
import { createWorldHolder } from "../../../../mock-server/world/world-holder.ts";

const transport: Transport = {
  deliver: async () => ({ status: null, error: "nowhere" }),
  read: async () => ({ status: null, error: "nowhere" }),
  abort: () => {},
};
const createWorlds = () =>
  createWorldHolder({
    hashing: nodeHashing,
    seed: 1,
    clock: createVirtualClock(),
    settings: defaultSettings,
    transport,
    seedWorld: () => ({ workspaceId: "", apiKey: "", partnerApiKey: "", apiKeys: [] }),
  });

/** Reads the stream as a browser would: blocks of fields, ended by an empty line. */
function createReader(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    /** The next block, with the type in its data as `type`. */
    async next(): Promise<Record<string, string> | null> {
      while (!text.includes("\n\n")) {
        const chunk = await reader?.read();
        if (!chunk || chunk.done) return null;
        text += chunk.value;
      }
      const end = text.indexOf("\n\n");
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s).slice(0, 2)));
      return fields.data === undefined ? fields : { ...fields, type: JSON.parse(fields.data).type };
    },
    leave: () => reader?.cancel(),
  };
}

const open = (stream: ReturnType<typeof createEventStream>, lastEventId: string | null = null) =>
  createReader(stream.open(lastEventId, new AbortController().signal));

describe("the event stream", () => {
  it("sends every activity with a number, its type and time", async () => {
    const worlds = createWorlds();
    const reader = open(createEventStream(worlds, createVirtualClock()));
    expect(await reader.next()).toEqual({ retry: "1000" });
    worlds.current.emit({ type: "task.changed", taskId: "t-1" });
    const event = await reader.next();
    expect(event).toMatchObject({ id: "0-1", type: "task.changed" });
    expect(JSON.parse(event?.["data"] ?? "")).toEqual({
      type: "task.changed",
      taskId: "t-1",
      sequence: 1,
      at: "2026-01-15T12:00:00.000Z",
    });
  });

  it("leaves no timer when a heartbeat disconnects the last reader, which has not read", async () => {
    const worlds = createWorlds();
    const clock = createVirtualClock();
    const { body } = createEventStream(worlds, clock).open(null, new AbortController().signal);
    expect(clock.pending().timers).toBe(1);
    worlds.current.emit({ type: "task.changed", taskId: "t".repeat(5_000_000) });
    await clock.advance(15_000);
    expect(clock.pending().timers).toBe(0);
    await body?.cancel();
  });

  it("sends stream.restarted to a reader that reconnects, and then what happens", async () => {
    const worlds = createWorlds();
    const stream = createEventStream(worlds, createVirtualClock());
    const first = open(stream);
    await first.leave();
    const back = open(stream, "0-2");
    await back.next();
    expect((await back.next())?.["type"]).toBe("stream.restarted");
    worlds.current.emit({ type: "event.1" });
    expect((await back.next())?.["type"]).toBe("event.1");
  });

  it("sends stream.restarted after a reset and continues with the new world", async () => {
    const worlds = createWorlds();
    const stream = createEventStream(worlds, createVirtualClock());
    const reader = open(stream);
    await reader.next();
    worlds.reset();
    expect((await reader.next())?.["type"]).toBe("stream.restarted");
    worlds.current.emit({ type: "event.1" });
    expect((await reader.next())?.["id"]).toBe("1-1");
  });

  it("sends a heartbeat without activity", async () => {
    const wallClock = createVirtualClock();
    const reader = open(createEventStream(createWorlds(), wallClock));
    await reader.next();
    await wallClock.advance(15_000);
    expect(await reader.next()).toEqual({ "": "heartbeat" });
  });

  it("disconnects a reader that does not read", async () => {
    const worlds = createWorlds();
    const stream = createEventStream(worlds, createVirtualClock());
    const slow = open(stream);
    await slow.next();
    const text = "x".repeat(100_000);
    for (let count = 0; count < 100; count++) worlds.current.emit({ type: "event.big", text });
    let read = 0;
    while (await slow.next()) read++;
    expect(read).toBeGreaterThan(10);
    expect(read).toBeLessThan(100);
  });

  it("ends when the reader disconnects and when the mock closes", async () => {
    const worlds = createWorlds();
    const stream = createEventStream(worlds, createVirtualClock());
    const disconnected = new AbortController();
    const left = createReader(stream.open(null, disconnected.signal));
    const stayed = open(stream);
    await left.next();
    await stayed.next();
    disconnected.abort();
    expect(await left.next()).toBeNull();
    worlds.current.emit({ type: "event.1" });
    expect((await stayed.next())?.["type"]).toBe("event.1");
    stream.close();
    expect(await stayed.next()).toBeNull();
  });

  it("listens to no activity when its last reader has left", async () => {
    const worlds = createWorlds();
    const wallClock = createVirtualClock();
    const stream = createEventStream(worlds, wallClock);
    const left = new AbortController();
    createReader(stream.open(null, left.signal));
    expect(worlds.current.hasSubscribers).toBe(true);
    left.abort();
    expect([worlds.current.hasSubscribers, wallClock.pending().timers]).toEqual([false, 0]);
    const back = open(stream);
    await back.next();
    worlds.current.emit({ type: "event.1" });
    expect((await back.next())?.["type"]).toBe("event.1");
  });

  it("is served over HTTP until the mock closes", async () => {
    const mock = await createMockServer({ clock: "virtual" });
    const response = await fetch(`${mock.baseUrl}/_mock/v1/stream`);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const reader = createReader(response);
    await reader.next();
    await mock.control.startTask({ taskType: "BINDER" });
    const event = await reader.next();
    expect(event?.["type"]).toBe("client.created");
    const resumed = createReader(
      await fetch(`${mock.baseUrl}/_mock/v1/stream`, { headers: { "last-event-id": event?.["id"] ?? "" } }),
    );
    await resumed.next();
    expect((await resumed.next())?.["type"]).toBe("stream.restarted");
    await mock.close();
    while (await reader.next().catch(() => null));
  });
});
