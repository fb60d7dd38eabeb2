// Each part of a body costs time, whatever its size: a stranger must not decide how many are read.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { verifyWebhook, webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { expect, it } from "vitest";
import { listen } from "../../../support/listen.ts";
import { RawConnection } from "../../../support/raw-http.ts";
import { type SignedDelivery, secretA, signDelivery } from "../../../support/signed-delivery.ts";

const receiver = () => createReceiver({ secrets: [secretA], inbox: memoryInbox(), logger: silentLogger });
const verify = verifyWebhook({ secrets: [secretA], onRejected() {} });

const head = (lines: readonly string[]) =>
  ["POST / HTTP/1.1", "Host: receiver.test", ...lines, "Transfer-Encoding: chunked", "", ""].join("\r\n");
const headersOf = ({ headers }: SignedDelivery) =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
/** One byte in each chunk. */
const inChunks = (bytes: Uint8Array) =>
  Buffer.concat([...bytes].map((byte) => Buffer.from(`1\r\n${String.fromCharCode(byte)}\r\n`, "latin1")));

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that counts the parts that it reads of each body. */
async function counting(handle: Handle) {
  const counts = { parts: 0 };
  const server = createServer((request, response) => {
    request.on("data", () => {
      counts.parts += 1;
    });
    handle(request, response);
  });
  return Object.assign(counts, await listen(server));
}

const genuine = () => delivery(JSON.stringify({ event: "x", text: "y".repeat(400) }));
const delivery = (body: string | Buffer) =>
  signDelivery({ body, timestampSeconds: Math.floor(Date.now() / 1_000) });

const byVerifyWebhook: Handle = (request, response) => verify(request, response, () => response.end());

it.each<[string, Handle, readonly string[]]>([
  ["of a forged delivery", webhookMiddleware(receiver()), headersOf(genuine())],
  ["of a forged delivery, by verifyWebhook", byVerifyWebhook, headersOf(genuine())],
  ["of a request without headers, after the response", webhookMiddleware(receiver()), []],
])(
  "a few hundred parts of one byte are read %s, and the connection is closed",
  async (_, handle, headers) => {
    await using server = await counting(handle);
    await using connection = await RawConnection.open(server.port);
    connection.write(head(headers));
    const tenThousand = inChunks(Buffer.alloc(10_000, "x"));
    for (let sent = 0; sent < 20; sent++) connection.write(tenThousand);
    await connection.closed();
    expect(server.parts).toBeGreaterThan(500);
    expect(server.parts).toBeLessThan(600);
  },
);

it("all parts would be read without the limit", async () => {
  await using server = await counting((request, response) => request.on("end", () => response.end()));
  await using connection = await RawConnection.open(server.port);
  connection.write(head([]));
  connection.write(Buffer.concat([inChunks(Buffer.alloc(10_000, "x")), Buffer.from("0\r\n\r\n")]));
  await connection.responses(1);
  expect(server.parts).toBe(10_000);
});

it("a genuine delivery in chunks of one byte, and one of 1 MB in parts of a network packet, are accepted", async () => {
  const kit = receiver();
  for (const [body, partBytes] of [
    [genuine().body, 1],
    [Buffer.alloc(1_000_000, " "), 536],
  ] as const) {
    const { headers, body: bytes } = delivery(body);
    const parts = new ReadableStream({
      start(controller) {
        for (let at = 0; at < body.length; at += partBytes)
          controller.enqueue(bytes.subarray(at, at + partBytes));
        controller.close();
      },
    });
    const init = { method: "POST", headers, body: parts, duplex: "half" } as RequestInit;
    expect((await kit.fetch(new Request("http://receiver.test/", init))).status).toBe(200);
  }
});

it("a fetch request in parts of one byte is read no further, and cancelled", async () => {
  let parts = 0;
  let cancelled: unknown;
  const body = new ReadableStream({
    pull(controller) {
      parts += 1;
      controller.enqueue(Buffer.from("x"));
    },
    cancel(reason) {
      cancelled = reason;
    },
  });
  const init = { method: "POST", headers: genuine().headers, body, duplex: "half" } as RequestInit;
  expect((await receiver().fetch(new Request("http://receiver.test/", init))).status).toBe(400);
  expect(cancelled).toMatchObject({ code: "BODY_FRAGMENTED" });
  expect(parts).toBeLessThan(600);
});
