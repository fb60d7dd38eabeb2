import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import {
  createHttpTransport,
  type HttpTransportOptions,
} from "../../../../mock-server/node/http-transport.ts";
import { createInProcessTransport, type DeliveryRequest } from "../../../../mock-server/outbound.ts";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import { deferred } from "../../../../sdk/kernel/deferred.ts";
import { listen } from "../../../support/listen.ts";
import { createSelfSignedCertificate } from "../../../support/self-signed-certificate.ts";

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of closing.splice(0)) await resource[Symbol.asyncDispose]();
});

async function serve(handle: RequestListener, certificate?: { key: string; cert: string }): Promise<string> {
  const server = await listen(certificate ? createSecureServer(certificate, handle) : createServer(handle));
  closing.push(server);
  return `${server.origin}/hook`;
}

function createTransport(options: Partial<HttpTransportOptions> = {}) {
  const transport = createHttpTransport(options);
  closing.push({ [Symbol.asyncDispose]: async () => transport.abort() });
  return transport;
}

/** As a busy machine does. */
const stopProcess = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const request = (url: string, changes: Partial<DeliveryRequest> = {}): DeliveryRequest => ({
  url,
  headers: { "content-type": "application/json" },
  body: Buffer.from('{"a":1}'),
  timeoutMs: 5_000,
  ...changes,
});

describe("http transport", () => {
  it("sends to loopback hosts only when it is told so, by name and without a look-up", async () => {
    const url = await serve((_, response) => response.end("ok"));
    const transport = createTransport({ loopbackOnly: true });
    expect(await transport.deliver(request(url))).toMatchObject({ status: 200 });
    for (const other of ["https://hooks.example/", "http://10.0.0.1:1/", "https://127.0.0.1.example/"]) {
      const notSent = { status: null, error: "not sent: this mock delivers to loopback only" };
      expect(await transport.deliver(request(other))).toEqual(notSent);
      expect(await transport.read(other, {})).toEqual(notSent);
    }
  });

  it("records a 101 at once and closes its socket", async () => {
    const closed = deferred();
    const url = await serve((incoming) => {
      incoming.socket.on("close", () => closed.resolve());
      incoming.socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
    });
    expect(await createTransport().deliver(request(url))).toMatchObject({ status: 101, body: "" });
    await closed.promise;
  });

  it("sends to a subdomain of localhost on every system", async () => {
    const url = await serve((_, response) => response.end("ok"));
    const { port } = new URL(url);
    const response = await createTransport().deliver(request(`http://receiver.LOCALHOST:${port}/`));
    expect(response).toMatchObject({ status: 200, body: "ok" });
  });

  it("sends by localhost to a receiver that listens on ::1 alone", async () => {
    const server = await listen(
      createServer((_, response) => response.end("ok")),
      0,
      "::1",
    );
    closing.push(server);
    const response = await createTransport().deliver(request(`http://localhost:${server.port}/`));
    expect(response).toMatchObject({ status: 200, body: "ok" });
  });

  it("times out by its clock without a response", async () => {
    const clock = createVirtualClock();
    const received = deferred();
    const url = await serve(() => received.resolve());
    const response = createTransport({ clock }).deliver(request(url, { timeoutMs: 15_000 }));
    await received.promise;
    await clock.advance(14_999);
    await clock.advance(1);
    expect(await response).toEqual({ status: null, error: "no response within 15000 ms" });
  });

  it("reads a response that has come while this process did not run for longer than the time limit", async () => {
    const url = await serve((_, response) => {
      response.end("ok");
      stopProcess(400);
    });
    const response = createTransport().deliver(request(url, { timeoutMs: 100 }));
    expect(await response).toMatchObject({ status: 200, body: "ok" });
  });

  it("times out on a response that never ends", async () => {
    const clock = createVirtualClock();
    const begun = deferred();
    const url = await serve((_, outgoing) => {
      outgoing.writeHead(200);
      outgoing.write("half", () => begun.resolve());
    });
    const response = createTransport({ clock }).deliver(request(url));
    await begun.promise;
    await clock.advance(5_000);
    expect(await response).toEqual({ status: null, error: "no complete response within 5000 ms" });
  });

  it("keeps the first part of an endless response and closes the connection", async () => {
    const closed = deferred();
    const url = await serve((incoming, response) => {
      incoming.socket.on("close", () => closed.resolve());
      response.writeHead(200);
      const fill = () => {
        while (response.write(Buffer.alloc(16_384, "x"))) {}
        response.once("drain", fill);
      };
      fill();
    });
    const response = await createTransport().deliver(request(url));
    expect(response.status).toBe(200);
    expect(response.status === 200 && response.body.length).toBe(64 * 1_024);
    await closed.promise;
  });

  it("resolves with the code of a failure and never rejects", async () => {
    const transport = createTransport();
    const reset = await serve((incoming) => incoming.socket.resetAndDestroy());
    expect(await transport.deliver(request(reset))).toMatchObject({
      status: null,
      error: expect.stringMatching(/^ECONNRESET/),
    });
    expect(await transport.deliver(request("http://127.0.0.1:1/"))).toMatchObject({
      error: expect.stringMatching(/^ECONNREFUSED/),
    });
    for (const url of ["ftp://127.0.0.1/", "not a url", ""]) {
      expect(await transport.deliver(request(url))).toEqual({ status: null, error: "invalid url" });
    }
    const bad = request("http://127.0.0.1:1/", { headers: { "bad name": "x" } });
    expect(await transport.deliver(bad)).toMatchObject({ status: null });
  });

  it("delivers over HTTPS only to a receiver with a trusted certificate", async () => {
    const certificate = createSelfSignedCertificate(Date.now());
    const url = await serve((incoming, response) => {
      incoming.resume().on("end", () => response.end("kept secret"));
    }, certificate);
    const trusting = createTransport({ trustedCertificates: [certificate.cert] });
    expect(await trusting.deliver(request(url))).toMatchObject({ status: 200, body: "kept secret" });
    expect(await createTransport().deliver(request(url))).toMatchObject({
      status: null,
      error: expect.stringMatching(/^DEPTH_ZERO_SELF_SIGNED_CERT/),
    });
  });

  it("aborts requests in flight and sends later ones", async () => {
    const received = deferred();
    let hang = true;
    const url = await serve((incoming, response) => {
      if (hang) received.resolve();
      else incoming.resume().on("end", () => response.end());
    });
    const transport = createTransport();
    const response = transport.deliver(request(url));
    await received.promise;
    transport.abort();
    expect(await response).toEqual({ status: null, error: "aborted" });
    hang = false;
    expect(await transport.deliver(request(url))).toMatchObject({ status: 200 });
  });

  it("reads a document's size and type", async () => {
    const url = await serve((incoming, response) => {
      const known = incoming.headers.authorization === "Bearer key";
      response.writeHead(known ? 200 : 401, { "content-type": "application/pdf; charset=binary" });
      response.end(Buffer.alloc(100_000));
    });
    const transport = createTransport();
    expect(await transport.read(url, { authorization: "Bearer key" })).toEqual({
      status: 200,
      bytes: 100_000,
      mimeType: "application/pdf",
    });
    expect(await transport.read(url, {})).toMatchObject({ status: 401 });
  });
});

describe("in-process transport", () => {
  const url = "https://receiver.example/hook";

  it("calls the function of the URL with the exact body and headers", async () => {
    const seen: unknown[] = [];
    const receivers = new Map([
      [
        url,
        async (incoming: Request) => {
          seen.push(incoming.method, incoming.headers.get("webhook-id"), await incoming.text());
          return new Response("taken", { status: 202, headers: { "x-receiver": "here" } });
        },
      ],
    ]);
    const transport = createInProcessTransport(receivers, createTransport());
    const headers = { "webhook-id": "d1", host: "receiver.example", connection: "keep-alive" };
    const response = await transport.deliver(request(url, { headers }));
    expect(seen).toEqual(["POST", "d1", '{"a":1}']);
    expect(response).toMatchObject({ status: 202, body: "taken", headers: { "x-receiver": "here" } });
  });

  it("resolves with the message of an exception, and passes other URLs to its fallback", async () => {
    const receivers = new Map([
      [
        url,
        () => {
          throw new Error("receiver broke");
        },
      ],
    ]);
    const transport = createInProcessTransport(receivers, createTransport());
    expect(await transport.deliver(request(url))).toEqual({ status: null, error: "receiver broke" });
    expect(await transport.deliver(request("http://127.0.0.1:1/"))).toMatchObject({
      error: expect.stringMatching(/^ECONNREFUSED/),
    });
  });

  it("takes the response of a function that blocks this process for longer than the time limit", async () => {
    const receivers = new Map([
      [
        url,
        async () => {
          stopProcess(400);
          for (let turn = 0; turn < 3; turn++) await nextTurn();
          return new Response(null, { status: 204 });
        },
      ],
    ]);
    const transport = createInProcessTransport(receivers, createTransport());
    expect(await transport.deliver(request(url, { timeoutMs: 100 }))).toMatchObject({ status: 204 });
  });

  it("times out without a response, and aborts calls in flight", async () => {
    const clock = createVirtualClock();
    const receivers = new Map([[url, () => new Promise<Response>(() => {})]]);
    const transport = createInProcessTransport(receivers, createTransport(), clock);
    const late = transport.deliver(request(url));
    await clock.advance(5_000);
    expect(await late).toEqual({ status: null, error: "no response within 5000 ms" });
    const broken = transport.deliver(request(url));
    transport.abort();
    expect(await broken).toEqual({ status: null, error: "aborted" });
    expect(clock.pending().timers).toBe(0);
  });
});
