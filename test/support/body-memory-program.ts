// Servers that read bodies of strangers. Prints its ports, and after each line of input the memory in use after a garbage collection.

import { createServer } from "node:http";
import { Readable } from "node:stream";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { verifyWebhook, webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { listen } from "./listen.ts";
import { secretA } from "./signed-delivery.ts";

process.stdin.once("end", () => process.exit(1));

const receiver = createReceiver({ secrets: [secretA], inbox: memoryInbox(), logger: silentLogger });
const verify = verifyWebhook({ secrets: [secretA], onRejected() {} });
const lists: Uint8Array[][] = [];

const servers = {
  middleware: createServer(webhookMiddleware(receiver)),
  fetch: createServer((request, response) => {
    const headers = Object.entries(request.headers) as [string, string][];
    const body = Readable.toWeb(request) as ReadableStream<Uint8Array>;
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    void receiver
      .fetch(new Request("http://receiver.test/", init))
      .then(({ status }) => response.writeHead(status).end());
  }),
  verifyWebhook: createServer((request, response) => verify(request, response, () => response.end())),
  /** What the others must not do. */
  list: createServer((request) => {
    const parts: Uint8Array[] = [];
    lists.push(parts);
    request.on("data", (part) => parts.push(part));
  }),
};
const ports: Record<string, number> = {};
for (const [name, server] of Object.entries(servers)) ports[name] = (await listen(server)).port;
ports["mock"] = Number(new URL((await createMockServer()).baseUrl).port);
console.log(`ports ${JSON.stringify(ports)}`);

process.stdin.setEncoding("utf8").on("data", (question: string) => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  console.log(`memory ${question.trim()}: ${heapUsed + external}, ${lists.length} lists`);
});
