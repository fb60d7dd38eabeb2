// Servers that read bodies of strangers. Prints where each takes them, and after each line of input the memory in use after a
// garbage collection.

import { createServer } from "node:http";
import { Readable } from "node:stream";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { verifyWebhook, webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { listen } from "../../support/listen.ts";
import { workspaceToken } from "../../support/mock-client.ts";
import { secretA } from "../../support/signed-delivery.ts";

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
const targets: Record<string, object> = {};
for (const [name, server] of Object.entries(servers))
  targets[name] = { port: (await listen(server)).port, method: "POST", path: "/webhooks", headers: {} };
const mock = await createMockServer();
const port = Number(new URL(mock.baseUrl).port);
targets["mock"] = { port, method: "POST", path: "/graphql", headers: {} };
targets["mock control"] = { port, method: "POST", path: "/_mock/v1/tasks", headers: {} };
const uploads = {
  "tus-resumable": "1.0.0",
  authorization: `Bearer ${await workspaceToken(mock)}`,
  "content-type": "application/offset+octet-stream",
};
const created = await fetch(`${mock.baseUrl}/api/uploads`, {
  method: "POST",
  headers: { ...uploads, "upload-length": "1000000" },
});
targets["mock uploads"] = {
  port,
  method: "PATCH",
  path: created.headers.get("location"),
  headers: { ...uploads, "upload-offset": "0" },
};
console.log(`targets ${JSON.stringify(targets)}`);

process.stdin.setEncoding("utf8").on("data", (question: string) => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  console.log(`memory ${question.trim()}: ${heapUsed + external}, ${lists.length} lists`);
});
