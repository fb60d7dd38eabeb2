// Requests and responses that a platform, a test or a framework composed, or wrapped: what is verified of them, and what happens
// when the response is not the receiver's alone.
import { EventEmitter } from "node:events";
import { createServer, IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { isReceiverError, type ReceiverErrorCode } from "@workspace-tasks/receiver-kit";
import { verifyWebhook, webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { describe, expect, it, vi } from "vitest";
import { listen } from "../../../support/listen.ts";
import { createReceiverFixture, type ReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../../../support/signed-delivery.ts";

const delivery = ({ clock }: Pick<ReceiverFixture, "clock">, secret = secretA) =>
  signDelivery({
    body: JSON.stringify(sampleEvent()),
    timestampSeconds: Math.floor(clock.now() / 1_000),
    secret,
  });

/** As serverless-http composes it: a stream, headers, and no raw ones. */
function streamed(headers: object, body: Uint8Array): IncomingMessage {
  const request = new IncomingMessage(new PassThrough() as unknown as Socket);
  Object.assign(request, { method: "POST", url: "/webhooks", headers });
  request.push(body);
  request.push(null);
  return request;
}

/** As an adapter of Azure composes it: no stream. */
const plain = (headers: object, fields: object) =>
  ({ method: "POST", url: "/webhooks", headers, ...fields }) as unknown as IncomingMessage;

class ComposedResponse extends EventEmitter {
  /** As Express sets it; some adapters send it at the end, others what writeHead got. */
  statusCode = 200;
  head = 0;
  headersSent = false;
  destroyed = false;
  readonly ended = new Promise<void>((resolve) => this.once("end", resolve));
  writeHead(status: number) {
    this.head = status;
    this.headersSent = true;
  }
  end() {
    this.emit("end");
  }
  destroy() {
    this.destroyed = true;
    this.emit("end");
  }
}

async function statusOf(fixture: ReceiverFixture, request: IncomingMessage): Promise<number> {
  const response = new ComposedResponse();
  webhookMiddleware(fixture.receiver)(request, response as unknown as ServerResponse);
  await response.ended;
  expect(response.statusCode).toBe(response.head);
  return response.head;
}

const codesOf = async ({ receiver }: ReceiverFixture) => (await receiver.stats()).rejections;

describe("the request of a platform or a test", () => {
  const capitals = (headers: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace(/\b./g, (c) => c.toUpperCase()), value]),
    );

  it.each<[string, (headers: Record<string, string>, body: Uint8Array) => IncomingMessage]>([
    ["a stream with headers and without rawHeaders", streamed],
    ["headers as sent, with capitals", (headers, body) => streamed(capitals(headers), body)],
    [
      "headersDistinct",
      (headers, body) => {
        const distinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
        return plain({}, { headersDistinct: distinct, rawBody: Buffer.from(body) });
      },
    ],
    ["rawBody as bytes and no stream", (headers, body) => plain(headers, { rawBody: Buffer.from(body) })],
    ["rawBody as text", (headers, body) => plain(headers, { rawBody: Buffer.from(body).toString() })],
    ["body as text", (headers, body) => plain(headers, { body: Buffer.from(body).toString() })],
  ])("stores a genuine delivery that has %s, and no forged one", async (_, compose) => {
    await using fixture = createReceiverFixture();
    const genuine = delivery(fixture);
    const forged = delivery(fixture, secretX);
    expect(await statusOf(fixture, compose(genuine.headers, genuine.body))).toBe(200);
    expect(await statusOf(fixture, compose(forged.headers, forged.body))).toBe(401);
    expect((await fixture.receiver.stats()).ingest.accepted).toBe(1);
  });

  it("is rejected at once when it has neither a stream nor bytes", async () => {
    await using fixture = createReceiverFixture();
    const { headers } = delivery(fixture);
    for (const fields of [{}, { body: { event: "task.running" } }, { rawBody: "" }])
      expect(await statusOf(fixture, plain(headers, fields))).toBe(500);
    expect(await codesOf(fixture)).toEqual({ BODY_CONSUMED: 3 });
  });

  it.each([
    ["the request of Koa", { headers: {}, req: plain({}, {}) }, new ComposedResponse()],
    ["the request of Fastify", { headers: {}, raw: plain({}, {}) }, new ComposedResponse()],
    ["the reply of Fastify", plain({}, {}), { raw: new ComposedResponse(), code() {}, send() {} }],
    ["nothing", undefined, undefined],
  ])("is refused with what to pass when it is %s", async (_, request, response) => {
    await using fixture = createReceiverFixture();
    for (const middleware of [webhookMiddleware(fixture.receiver), verifyWebhook({ secrets: [secretA] })]) {
      const call = () => middleware(request as never, response as never, () => {});
      expect(call).toThrow(/expected a request and a response of node:http: in Fastify request\.raw/);
      expect(call).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID" satisfies ReceiverErrorCode }));
    }
  });
});

/** Serves one listener, and posts a delivery to it. */
async function exchange(listener: RequestListener, sent: { headers: object; body: Uint8Array }) {
  await using server = await listen(createServer(listener));
  const init = { method: "POST", headers: sent.headers as Record<string, string>, body: sent.body };
  return await fetch(`${server.origin}/webhooks`, init).then(
    async (response) => ({ status: response.status, text: await response.text() }),
    () => "closed" as const,
  );
}

describe("a response that is not the receiver's alone", () => {
  it.each([
    ["a forged delivery", secretX],
    ["a genuine one", secretA],
  ])("that was sent before is an error in the log and a rejection, for %s", async (_, secret) => {
    await using fixture = createReceiverFixture();
    const receive = webhookMiddleware(fixture.receiver);
    const answer = await exchange(
      (request, response) => {
        receive(request, response);
        response.end("ok");
      },
      delivery(fixture, secret),
    );
    expect(answer).toEqual({ status: 200, text: "ok" });
    await expect.poll(() => codesOf(fixture)).toMatchObject({ RESPONSE_FAILED: 1 });
    const line = fixture.log.find(({ level }) => level === "error");
    expect(line).toMatchObject({ fields: { code: "RESPONSE_FAILED", requests: 1 } });
    expect(line?.message).toMatch(/^the sender got 200 before the receiver had decided: .*reply\.hijack\(\)/);
  });

  it("that was sent before verifyWebhook has decided ends there: no handler runs", async () => {
    await using fixture = createReceiverFixture();
    const rejected: unknown[] = [];
    const passed: string[] = [];
    const verify = verifyWebhook({
      secrets: [secretA],
      clock: fixture.clock,
      onRejected: (each) => void rejected.push(each.code),
    });
    await exchange((request, response) => {
      verify(request, response, () => passed.push("next"));
      response.end("ok");
    }, delivery(fixture));
    await expect.poll(() => rejected).toEqual(["RESPONSE_FAILED"]);
    expect(passed).toEqual([]);
  });

  it("is a process warning, once, where verifyWebhook has no onRejected", async () => {
    await using fixture = createReceiverFixture();
    const warned: unknown[] = [];
    using _spy = vi.spyOn(process, "emitWarning").mockImplementation((...given) => void warned.push(given));
    const verify = verifyWebhook({ secrets: [secretA], clock: fixture.clock });
    for (let count = 0; count < 2; count++)
      await exchange((request, response) => {
        verify(request, response, () => {});
        response.end("ok");
      }, delivery(fixture));
    const warning = [
      expect.stringMatching(/^the sender got 200/),
      { code: "WORKSPACE_TASKS_RESPONSE_FAILED" },
    ];
    await expect.poll(() => warned).toEqual([warning]);
  });

  it.each(["writeHead", "end"] as const)(
    "goes to next when %s throws, and closes the connection where there is none",
    async (method) => {
      await using fixture = createReceiverFixture();
      const receive = webhookMiddleware(fixture.receiver);
      const errors: unknown[] = [];
      const broken =
        (withNext: boolean): RequestListener =>
        (request, response) => {
          const original = response[method];
          response[method] = () => {
            throw new Error("of another middleware");
          };
          const next = (error: unknown) => {
            errors.push(error);
            response[method] = original as never;
            response.destroy();
          };
          receive(request, response, withNext ? next : undefined);
        };
      expect(await exchange(broken(true), delivery(fixture))).toBe("closed");
      expect(await exchange(broken(false), delivery(fixture))).toBe("closed");
      expect(errors).toHaveLength(1);
      expect(isReceiverError(errors[0], "RESPONSE_FAILED")).toBe(true);
      expect(await codesOf(fixture)).toEqual({ RESPONSE_FAILED: 2 });
    },
  );

  it("does not exist where the receiver responds alone", async () => {
    await using fixture = createReceiverFixture();
    const receive = webhookMiddleware(fixture.receiver);
    expect(await exchange(receive, delivery(fixture))).toMatchObject({ status: 200 });
    expect(await exchange(receive, delivery(fixture, secretX))).toMatchObject({ status: 401 });
    expect(await codesOf(fixture)).toEqual({ SIGNATURE_MISMATCH: 1 });
  });
});

describe("a receiver that closes", () => {
  it("asks each sender to close its connection, over node:http and fetch, and does not before", async () => {
    await using fixture = createReceiverFixture();
    const receive = webhookMiddleware(fixture.receiver);
    await using server = await listen(createServer(receive));
    const { headers, body } = delivery(fixture);
    const post = { method: "POST", headers: headers as Record<string, string>, body };
    const overHttp = async () => {
      const response = await fetch(server.origin, post);
      return [response.status, response.headers.get("connection")];
    };
    const overFetch = async () => {
      const response = await fixture.receiver.fetch(new Request("http://a.example", post));
      return [response.status, response.headers.get("connection")];
    };
    expect([await overHttp(), await overFetch()]).toEqual([
      [200, "keep-alive"],
      [200, null],
    ]);
    await fixture.receiver.close();
    expect([await overHttp(), await overFetch()]).toEqual([
      [503, "close"],
      [503, "close"],
    ]);
  });
});
