import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  createVerifier,
  type DeliverySink,
  ReceiverError,
  type VerifiedWebhook,
  type WebhookRejectedError,
} from "workspace-tasks/receiver-kit";
import { handleFetch } from "../../../../receiver-kit/http/fetch-handler.ts";
import { secretA, secretX, signDelivery } from "../../../support/signed-delivery.ts";

const nowSeconds = 1_772_357_400;
const url = "https://receiver.test/webhooks";

/** An acceptor that keeps what it accepts, with timers that fire when a test says so. */
function keepingAcceptor(overrides: Partial<DeliverySink> = {}) {
  const accepted: VerifiedWebhook[] = [];
  const rejections: WebhookRejectedError[] = [];
  const failures: unknown[] = [];
  const timers = new Set<() => void>();
  const clock = {
    now: () => nowSeconds * 1000,
    monotonic: () => 0,
    schedule(_delayMs: number, run: () => void) {
      timers.add(run);
      return () => timers.delete(run);
    },
  };
  const acceptor: DeliverySink = {
    verifier: createVerifier({ secrets: [secretA], clock }),
    limits: { bodyBytesMax: 1000, bodyTimeoutMs: 10_000 },
    clock,
    async accept(webhook) {
      accepted.push(webhook);
      return { outcome: "accepted" };
    },
    onRejected: (rejection) => rejections.push(rejection),
    onError: (error) => failures.push(error),
    ...overrides,
  };
  return { acceptor, accepted, rejections, failures, timers };
}

const delivery = signDelivery({ body: '{"event":"x"}', timestampSeconds: nowSeconds });
const post = (init: RequestInit = {}) =>
  new Request(url, { method: "POST", headers: delivery.headers, body: delivery.body, ...init });

const codeOf = (kept: ReturnType<typeof keepingAcceptor>) => kept.rejections.map(({ code }) => code);

describe("handleFetch", () => {
  it("accepts a delivery and answers as the Express middleware does", async () => {
    const kept = keepingAcceptor();
    const answer = await handleFetch(kept.acceptor, post());
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ received: true });
    expect(kept.accepted).toMatchObject([{ id: delivery.id, secretIndex: 0 }]);
    expect(Buffer.from(kept.accepted[0]!.body)).toEqual(delivery.body);
    expect(kept.timers.size).toBe(0);
  });

  it("joins a body that comes in pieces", async () => {
    const kept = keepingAcceptor();
    const body = ReadableStream.from([delivery.body.subarray(0, 5), delivery.body.subarray(5)]);
    const answer = await handleFetch(kept.acceptor, post({ body, duplex: "half" } as RequestInit));
    expect(answer.status).toBe(200);
    expect(Buffer.from(kept.accepted[0]!.body)).toEqual(delivery.body);
  });

  it("answers 405 to another method, and to HEAD without a body", async () => {
    const kept = keepingAcceptor();
    for (const method of ["GET", "PUT", "HEAD"]) {
      const answer = await handleFetch(
        kept.acceptor,
        new Request(url, { method, headers: delivery.headers }),
      );
      expect(answer.status).toBe(405);
      expect(answer.headers.get("allow")).toBe("POST");
      expect((await answer.text()).length > 0).toBe(method !== "HEAD");
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
      "a stream of text, which somebody has decoded",
      { body: ReadableStream.from(["{}"]), duplex: "half" } as RequestInit,
      500,
      "BODY_CONSUMED",
    ],
    ["a stream that fails", { body: failingStream(), duplex: "half" } as RequestInit, 400, "BODY_ABORTED"],
  ])("refuses %s", async (_, init, status, code) => {
    const kept = keepingAcceptor();
    const answer = await handleFetch(kept.acceptor, post(init));
    expect(answer.status).toBe(status);
    expect(codeOf(kept)).toEqual([code]);
    expect(kept.accepted).toEqual([]);
    expect(kept.timers.size).toBe(0);
  });

  it("says how to mount it when the body was read before", async () => {
    const kept = keepingAcceptor();
    const request = post();
    await request.text();
    const answer = await handleFetch(kept.acceptor, request);
    expect(answer.status).toBe(500);
    expect(await answer.text()).toContain("before express.json()");
    expect(codeOf(kept)).toEqual(["BODY_CONSUMED"]);
  });

  it("says the same when something else holds the body", async () => {
    const kept = keepingAcceptor();
    const request = post();
    request.body?.getReader();
    expect((await handleFetch(kept.acceptor, request)).status).toBe(500);
  });

  it("gives a slow body up at the deadline, and tells its source", async () => {
    const kept = keepingAcceptor();
    let cancelled: unknown;
    const body = new ReadableStream({
      cancel: (reason) => {
        cancelled = reason;
      },
    });
    const answering = handleFetch(kept.acceptor, post({ body, duplex: "half" } as RequestInit));
    for (const fire of kept.timers) fire();
    expect((await answering).status).toBe(408);
    expect(codeOf(kept)).toEqual(["BODY_TIMEOUT"]);
    expect(cancelled).toBe(kept.rejections[0]);
  });

  it("stops reading an endless body at the limit", async () => {
    const kept = keepingAcceptor();
    let pulled = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(Buffer.alloc(100));
      },
    });
    const answer = await handleFetch(kept.acceptor, post({ body, duplex: "half" } as RequestInit));
    expect(answer.status).toBe(413);
    expect(pulled).toBeLessThan(20);
  });

  it.each([
    [new ReceiverError("INBOX_UNAVAILABLE", "database gone", { retryAfterSeconds: 7 }), 503, "7"],
    [new ReceiverError("INBOX_UNAVAILABLE", "database gone"), 503, "5"],
    [new ReceiverError("BACKLOG_FULL", "too much", { retryAfterSeconds: 1.2 }), 429, "2"],
    [new ReceiverError("BACKLOG_FULL", "too much", { retryAfterSeconds: 0 }), 429, "1"],
  ])("asks the sender to wait after %s", async (error, status, retryAfter) => {
    const kept = keepingAcceptor({ accept: () => Promise.reject(error) });
    const answer = await handleFetch(kept.acceptor, post());
    expect(answer.status).toBe(status);
    expect(answer.headers.get("retry-after")).toBe(retryAfter);
    expect(await answer.text()).not.toContain("database");
    expect(kept.failures).toEqual([error]);
  });

  it("answers 500 to a fault of its own, says nothing about it, and reports it", async () => {
    const fault = new Error("secret internals");
    const kept = keepingAcceptor({
      accept: () => {
        throw fault;
      },
    });
    const answer = await handleFetch(kept.acceptor, post());
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("internals");
    expect(kept.failures).toEqual([fault]);
  });

  it("answers though its listeners throw", async () => {
    const throwing = () => {
      throw new Error("listener");
    };
    const kept = keepingAcceptor({ onRejected: throwing, onError: throwing, accept: throwing });
    expect((await handleFetch(kept.acceptor, post({ headers: {} }))).status).toBe(400);
    expect((await handleFetch(kept.acceptor, post())).status).toBe(500);
  });

  it("is unavailable while the secrets are", async () => {
    const kept = keepingAcceptor();
    const verifier = createVerifier({
      secrets: () => Promise.reject(new Error("vault sealed")),
      clock: kept.acceptor.clock,
    });
    const answer = await handleFetch({ ...kept.acceptor, verifier }, post());
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(codeOf(kept)).toEqual(["SECRETS_UNAVAILABLE"]);
  });
});

function failingStream(): ReadableStream {
  return new ReadableStream({
    pull: () => {
      throw new Error("connection reset");
    },
  });
}
