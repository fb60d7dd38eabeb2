import { gzipSync } from "node:zlib";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import * as kit from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { handleFetch } from "../../../../receiver-kit/http/fetch-handler.ts";
import { secretA, secretX, signDelivery } from "../../../support/signed-delivery.ts";

const nowSeconds = 1_772_357_400;
const url = "https://receiver.test/webhooks";

/** A sink that records what it accepts, on a clock that the test advances. */
function recordingSink(overrides: Partial<kit.DeliverySink> = {}) {
  const accepted: kit.VerifiedWebhook[] = [];
  const rejections: kit.WebhookRejectedError[] = [];
  const failures: unknown[] = [];
  const clock = createVirtualClock(nowSeconds * 1000);
  const sink: kit.DeliverySink = {
    verifier: kit.createVerifier({ secrets: [secretA], clock }),
    limits: { bodyBytesMax: 1000, bodyTimeoutMs: 10_000, receivingBytesMax: 1_500 },
    clock,
    async accept(webhook) {
      accepted.push(webhook);
      return { outcome: "accepted" };
    },
    onRejected: (rejection) => rejections.push(rejection),
    onError: (error) => failures.push(error),
    ...overrides,
  };
  return { sink, accepted, rejections, failures, clock };
}

const delivery = signDelivery({ body: '{"event":"x"}', timestampSeconds: nowSeconds });
const post = (init: RequestInit = {}) =>
  new Request(url, { method: "POST", headers: delivery.headers, body: delivery.body, ...init });

const codeOf = (recorded: ReturnType<typeof recordingSink>) => recorded.rejections.map(({ code }) => code);

describe("handleFetch", () => {
  it("responds 200 to a delivery and passes it to the sink", async () => {
    const recorded = recordingSink();
    const response = await handleFetch(recorded.sink, post());
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ received: true });
    expect(recorded.accepted).toMatchObject([{ id: delivery.id, secretIndex: 0 }]);
    expect(Buffer.from(recorded.accepted[0]!.body)).toEqual(delivery.body);
    expect(recorded.clock.pending().timers).toBe(0);
  });

  it("rejects the body that began first when all that arrive are more than receivingBytesMax", async () => {
    const recorded = recordingSink();
    const endless = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.alloc(900)) });
    const first = handleFetch(recorded.sink, post({ body: endless, duplex: "half" } as RequestInit));
    await new Promise((resolve) => void setImmediate(resolve));
    const second = await handleFetch(recorded.sink, post({ body: Buffer.alloc(900) }));
    expect(second.status).toBe(401);
    expect((await first).status).toBe(503);
    expect((await first).headers.get("retry-after")).toBe("5");
    expect(codeOf(recorded)).toContain("RECEIVING_FULL");
  });

  it.each([undefined, { method: "POST", url }])("rejects %j in place of a Request", async (request) => {
    const handled = handleFetch(recordingSink().sink, request as never);
    await expect(handled).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
      message: expect.stringMatching(
        /^fetch: expected a Request .+, in Hono context\.req\.raw, got (undefined|an object)$/,
      ),
    });
  });

  it("responds 405 to another method, and to HEAD without a body", async () => {
    const recorded = recordingSink();
    for (const method of ["GET", "PUT", "HEAD"]) {
      const response = await handleFetch(
        recorded.sink,
        new Request(url, { method, headers: delivery.headers }),
      );
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
      expect((await response.text()).length > 0).toBe(method !== "HEAD");
    }
  });

  it.each<[string, RequestInit, number, string]>([
    [
      "a forged signature",
      {
        headers: signDelivery({ body: '{"event":"x"}', timestampSeconds: nowSeconds, secret: secretX })
          .headers,
      },
      401,
      "SIGNATURE_MISMATCH",
    ],
    ["no headers", { headers: {} }, 400, "HEADER_MISSING"],
    [
      "a repeated header, which fetch joins",
      { headers: [...Object.entries(delivery.headers), ["webhook-id", "msg_2"]] },
      400,
      "ID_MALFORMED",
    ],
    [
      "a compressed body",
      { headers: { ...delivery.headers, "content-encoding": "gzip" }, body: gzipSync(delivery.body) },
      415,
      "BODY_ENCODED",
    ],
    [
      "a declared length above the limit",
      { headers: { ...delivery.headers, "content-length": "1001" } },
      413,
      "BODY_TOO_LARGE",
    ],
    ["a body above the limit", { body: Buffer.alloc(1001) }, 413, "BODY_TOO_LARGE"],
    ["no body, where one was signed", { body: null }, 401, "SIGNATURE_MISMATCH"],
    [
      "a stream of decoded text",
      { body: ReadableStream.from(["{}"]), duplex: "half" } as RequestInit,
      500,
      "BODY_CONSUMED",
    ],
    ["a stream that fails", { body: failingStream(), duplex: "half" } as RequestInit, 400, "BODY_ABORTED"],
  ])("rejects %s", async (_, init, status, code) => {
    const recorded = recordingSink();
    const response = await handleFetch(recorded.sink, post(init));
    expect(response.status).toBe(status);
    expect(codeOf(recorded)).toEqual([code]);
    expect(recorded.accepted).toEqual([]);
    expect(recorded.clock.pending().timers).toBe(0);
  });

  it.each([
    ["read", (request: Request) => request.text()],
    ["locked", (request: Request) => void request.body?.getReader()],
  ])("responds 500 when the body was %s by another reader", async (_, use) => {
    const recorded = recordingSink();
    const request = post();
    await use(request);
    expect((await handleFetch(recorded.sink, request)).status).toBe(500);
    expect(codeOf(recorded)).toEqual(["BODY_CONSUMED"]);
  });

  it.each([
    ["without a stream", {}],
    ["of a stream that ended at once", { body: ReadableStream.from([]), duplex: "half" } as RequestInit],
  ])(
    "takes an empty body %s for one that was read before, where its length says that it had bytes",
    async (_, init) => {
      const recorded = recordingSink();
      const headers = { ...delivery.headers, "content-length": String(delivery.body.length) };
      const request = new Request(url, { method: "POST", headers, ...init });
      expect((await handleFetch(recorded.sink, request)).status).toBe(500);
      expect(codeOf(recorded)).toEqual(["BODY_CONSUMED"]);
      expect(recorded.rejections[0]?.message).toContain("receiver.fetch(request)");
    },
  );

  it("verifies an empty body whose length is 0", async () => {
    const recorded = recordingSink();
    const headers = { ...delivery.headers, "content-length": "0" };
    await handleFetch(recorded.sink, new Request(url, { method: "POST", headers }));
    expect(codeOf(recorded)).toEqual(["SIGNATURE_MISMATCH"]);
  });

  it("responds 408 at the time limit and cancels the stream of the body", async () => {
    const recorded = recordingSink();
    let cancelled: unknown;
    const body = new ReadableStream({
      cancel: (reason) => {
        cancelled = reason;
      },
    });
    const responding = handleFetch(recorded.sink, post({ body, duplex: "half" } as RequestInit));
    await recorded.clock.advance(10_000);
    expect((await responding).status).toBe(408);
    expect(codeOf(recorded)).toEqual(["BODY_TIMEOUT"]);
    expect(recorded.rejections[0]?.message).toContain("not complete after bodyTimeoutMs (10000)");
    expect(cancelled).toBe(recorded.rejections[0]);
  });

  it("stops reading an endless body at bodyBytesMax", async () => {
    const recorded = recordingSink();
    let pulled = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(Buffer.alloc(100));
      },
    });
    const response = await handleFetch(recorded.sink, post({ body, duplex: "half" } as RequestInit));
    expect(response.status).toBe(413);
    expect(pulled).toBeLessThan(20);
  });

  it.each([
    [new kit.ReceiverError("INBOX_UNAVAILABLE", "database gone", { retryAfterSeconds: 7 }), 503, "7"],
    [new kit.ReceiverError("INBOX_UNAVAILABLE", "database gone"), 503, "5"],
    [new kit.ReceiverError("BACKLOG_FULL", "too much", { retryAfterSeconds: 1.2 }), 429, "2"],
    [new kit.ReceiverError("BACKLOG_FULL", "too much", { retryAfterSeconds: 0 }), 429, "1"],
  ])("responds with Retry-After to %s", async (error, status, retryAfter) => {
    const recorded = recordingSink({ accept: () => Promise.reject(error) });
    const response = await handleFetch(recorded.sink, post());
    expect(response.status).toBe(status);
    expect(response.headers.get("retry-after")).toBe(retryAfter);
    expect(await response.text()).not.toContain("database");
    expect(recorded.failures).toEqual([error]);
  });

  it("responds although its listeners throw", async () => {
    const throwing = () => {
      throw new Error("listener");
    };
    const recorded = recordingSink({ onRejected: throwing, onError: throwing, accept: throwing });
    expect((await handleFetch(recorded.sink, post({ headers: {} }))).status).toBe(400);
    expect((await handleFetch(recorded.sink, post())).status).toBe(500);
  });
});

function failingStream(): ReadableStream {
  return new ReadableStream({
    pull: () => {
      throw new Error("connection reset");
    },
  });
}
