import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createHttpTransport } from "../../../../mock-server/outbound/http-transport.ts";
import { createInProcessTransport } from "../../../../mock-server/outbound/in-process-transport.ts";
import type { DeliveryRequest } from "../../../../mock-server/outbound/port.ts";
import type { Clock } from "../../../../mock-server/time/clock.ts";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import { createSelfSignedCertificate } from "../../../support/self-signed-certificate.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(handle: RequestListener, certificate?: { key: string; cert: string }): Promise<string> {
  const server = certificate ? createSecureServer(certificate, handle) : createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `${certificate ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

function createTransport(clock?: Clock) {
  const transport = createHttpTransport(clock ? { clock } : {});
  closing.push(async () => transport.abort());
  return transport;
}

const request = (url: string, changes: Partial<DeliveryRequest> = {}): DeliveryRequest => ({
  url,
  headers: { "content-type": "application/json" },
  body: Buffer.from('{"a":1}'),
  timeoutMs: 5_000,
  ...changes,
});

describe("the world transport over sockets", () => {
  test("uses one connection for deliveries that follow each other", async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((incoming, response) => {
      ports.add(incoming.socket.remotePort);
      incoming.resume().on("end", () => response.end("ok"));
    });
    const transport = createTransport();
    for (let count = 0; count < 5; count++) {
      expect(await transport.deliver(request(url))).toMatchObject({ status: 200, body: "ok" });
    }
    expect(ports.size).toBe(1);
  });

  test("gives up on a receiver that does not answer in time, by the clock it was given", async () => {
    const clock = createVirtualClock();
    let arrived = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const url = await serve(() => arrived());
    const answer = createTransport(clock).deliver(request(url, { timeoutMs: 15_000 }));
    await arrival;
    await clock.advance(14_999);
    await clock.advance(1);
    expect(await answer).toEqual({ status: null, error: "no response within 15000 ms" });
  });

  test("gives up on a receiver that never ends its answer", async () => {
    const clock = createVirtualClock();
    let begun = () => {};
    const beginning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const url = await serve((_, response) => {
      response.writeHead(200);
      response.write("half", () => begun());
    });
    const answer = createTransport(clock).deliver(request(url));
    await beginning;
    await clock.advance(5_000);
    expect(await answer).toEqual({ status: null, error: "no response within 5000 ms" });
  });

  test("keeps the first part of an endless answer and hangs up", async () => {
    let hungUp = () => {};
    const hangingUp = new Promise<void>((resolve) => {
      hungUp = resolve;
    });
    const url = await serve((incoming, response) => {
      incoming.socket.on("close", () => hungUp());
      response.writeHead(200);
      const fill = () => {
        while (response.write(Buffer.alloc(16_384, "x"))) {}
        response.once("drain", fill);
      };
      fill();
    });
    const answer = await createTransport().deliver(request(url));
    expect(answer.status).toBe(200);
    expect(answer.status === 200 && answer.body.length).toBe(64 * 1_024);
    await hangingUp;
  });

  test("tells failures by their code and never rejects", async () => {
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

  test("speaks HTTPS, and only with a receiver whose certificate is trusted", async () => {
    const certificate = createSelfSignedCertificate(Date.now());
    const url = await serve((incoming, response) => {
      incoming.resume().on("end", () => response.end("kept secret"));
    }, certificate);
    const trusting = createHttpTransport({ trustedCertificates: [certificate.cert] });
    closing.push(async () => trusting.abort());
    expect(await trusting.deliver(request(url))).toMatchObject({ status: 200, body: "kept secret" });
    expect(await createTransport().deliver(request(url))).toMatchObject({
      status: null,
      error: expect.stringMatching(/^DEPTH_ZERO_SELF_SIGNED_CERT/),
    });
  });

  test("answers that are no HTTP are failures", async () => {
    const url = await serve((incoming) => incoming.socket.end("hello\r\n\r\n"));
    expect(await createTransport().deliver(request(url))).toMatchObject({
      status: null,
      error: expect.stringMatching(/^HPE_/),
    });
  });

  test("breaks off what is under way and serves what comes later", async () => {
    let arrived = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let hang = true;
    const url = await serve((incoming, response) => {
      if (hang) arrived();
      else incoming.resume().on("end", () => response.end());
    });
    const transport = createTransport();
    const answer = transport.deliver(request(url));
    await arrival;
    transport.abort();
    expect(await answer).toEqual({ status: null, error: "aborted" });
    hang = false;
    expect(await transport.deliver(request(url))).toMatchObject({ status: 200 });
  });

  test("reads a document's size and type", async () => {
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

describe("the world transport inside this process", () => {
  const url = "https://receiver.example/hook";

  test("calls the function of the URL with the exact body and headers", async () => {
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
    const answer = await transport.deliver(request(url, { headers }));
    expect(seen).toEqual(["POST", "d1", '{"a":1}']);
    expect(answer).toMatchObject({ status: 202, body: "taken", headers: { "x-receiver": "here" } });
  });

  test("takes an exception for a failed attempt, and any other URL to the sockets", async () => {
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

  test("gives up on a function that does not answer in time, and breaks off what is under way", async () => {
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
