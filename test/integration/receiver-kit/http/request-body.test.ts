import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReceivingBodies } from "../../../../receiver-kit/http/receiving-bodies.ts";
import { readRequestBody } from "../../../../receiver-kit/http/request-body.ts";

const limits = { bodyBytesMax: 100, bodyTimeoutMs: 10_000, receivingBytesMax: 1_000 };

function manualClock() {
  const timers = new Set<() => void>();
  return {
    now: () => 0,
    monotonic: () => 0,
    schedule(_delayMs: number, run: () => void) {
      timers.add(run);
      return () => timers.delete(run);
    },
    timers,
  };
}

/** A stream with what the reader needs of a request. */
function request(fields: { headers?: Record<string, string>; rawBody?: unknown; body?: unknown } = {}) {
  const stream = new PassThrough();
  return Object.assign(stream, { headers: {}, ...fields }) as unknown as IncomingMessage & PassThrough;
}

describe("readRequestBody", () => {
  it("joins the chunks of a body in any division", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 8 }), async (pieces) => {
        const incoming = request();
        const reading = readRequestBody(incoming, new ReceivingBodies(limits), manualClock());
        for (const piece of pieces) incoming.write(piece);
        incoming.end();
        expect(Buffer.from(await reading)).toEqual(Buffer.concat(pieces));
      }),
    );
  });

  it("accepts bodyBytesMax bytes and rejects one more, in any division", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 100 }), fc.constantFrom(0, 1), async (cut, extra) => {
        const incoming = request();
        const reading = readRequestBody(incoming, new ReceivingBodies(limits), manualClock());
        incoming.write(Buffer.alloc(cut));
        incoming.end(Buffer.alloc(limits.bodyBytesMax - cut + extra));
        if (extra) await expect(reading).rejects.toMatchObject({ code: "BODY_TOO_LARGE" });
        else await expect(reading).resolves.toHaveLength(limits.bodyBytesMax);
      }),
    );
  });

  it.each<[string, (incoming: PassThrough) => void]>([
    ["is destroyed", (incoming) => incoming.destroy()],
    ["fails", (incoming) => incoming.destroy(new Error("connection reset"))],
  ])("rejects when the request %s before its end", async (_, lose) => {
    const clock = manualClock();
    const incoming = request();
    const reading = readRequestBody(incoming, new ReceivingBodies(limits), clock);
    incoming.write("abc");
    lose(incoming);
    await expect(reading).rejects.toMatchObject({ code: "BODY_ABORTED", status: 400 });
    expect(clock.timers.size).toBe(0);
  });

  it("rejects at once when the request was destroyed before", async () => {
    const incoming = request();
    incoming.destroy();
    await expect(readRequestBody(incoming, new ReceivingBodies(limits), manualClock())).rejects.toMatchObject(
      {
        code: "BODY_ABORTED",
      },
    );
  });

  it("rejects at the time limit, and a later error of the request does not end the process", async () => {
    const clock = manualClock();
    const incoming = request();
    const reading = readRequestBody(incoming, new ReceivingBodies(limits), clock);
    for (const fire of clock.timers) fire();
    await expect(reading).rejects.toMatchObject({ code: "BODY_TIMEOUT", status: 408 });
    expect(incoming.listenerCount("data")).toBe(0);
    expect(incoming.emit("error", new Error("late"))).toBe(true);
  });

  it("rejects the body that began first when all that arrive are more than receivingBytesMax", async () => {
    const bodies = new ReceivingBodies({ ...limits, receivingBytesMax: 150 });
    const [idle, oldest, newest] = [request(), request(), request()];
    const readings = [idle, oldest, newest].map((each) => readRequestBody(each, bodies, manualClock()));
    oldest.write(Buffer.alloc(100));
    newest.write(Buffer.alloc(100));
    await expect(readings[1]).rejects.toMatchObject({
      code: "RECEIVING_FULL",
      status: 503,
      retryAfterSeconds: 5,
    });
    newest.end();
    await expect(readings[2]).resolves.toHaveLength(100);
    // Both gave back what they took.
    const later = request();
    const reading = readRequestBody(later, bodies, manualClock());
    later.end(Buffer.alloc(100));
    idle.end(Buffer.alloc(50));
    expect((await Promise.all([reading, readings[0]])).map((each) => each?.length)).toEqual([100, 50]);
  });

  it.each([
    { rawBody: Buffer.from("kept") },
    { body: Buffer.from("kept") },
    { rawBody: new Uint8Array(4), body: {} },
  ])("returns the bytes that another middleware kept: %j", async (fields) => {
    expect(await readRequestBody(request(fields), new ReceivingBodies(limits), manualClock())).toHaveLength(
      4,
    );
  });
});
