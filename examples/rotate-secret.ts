// Rotates a signing secret without a rejected delivery.
// During the grace period the service signs with both secrets, so the receiver can get the new one later.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { createClient, fileSecrets, signingSecrets } from "@workspace-tasks/sdk";
import express from "express";

await using mock = await createMockServer();
await using client = createClient({ apiKey: mock.apiKey, baseUrl: mock.baseUrl });
const folder = await mkdtemp(join(tmpdir(), "rotate-secret-"));

let handled = 0;
let allHandled = () => {};
const sixHandled = new Promise<void>((resolve) => {
  allHandled = resolve;
});

// #region receiver
const store = fileSecrets(`${folder}/webhook-secrets.json`);
const receiver = createReceiver({
  secrets: signingSecrets(store), // reads the store every 5 s
  inbox: memoryInbox(), // for this example; in production use sqliteInbox or postgresInbox
});
// #endregion
receiver.on("task.*", () => {
  if (++handled === 6) allHandled();
});
await receiver.start();

const server = createServer(express().post("/webhooks", webhookMiddleware(receiver)));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

const eventTypes = ["task.running", "task.completed"];
const url = `http://127.0.0.1:${port}/webhooks`;
const { endpoint } = await client.webhooks.ensureEndpoint({ url, eventTypes, secrets: store });

const runTask = () => mock.control.startTask({ taskType: "BINDER", progression: "immediate" });
const delivered = (count: number) => mock.control.waitForDeliveries({ status: "succeeded", count });

await runTask();
await delivered(2);

// #region rotate
await client.webhooks.rotateEndpointSecret({ secrets: store, gracePeriodSeconds: 3_600 });
// #endregion
// For up to 5 s the receiver has only the old secret, and these deliveries verify with it.
await runTask();
await delivered(4);

// Another process reads both, until the grace period ends.
await using later = createReceiver({ secrets: signingSecrets(store), inbox: memoryInbox() });
server.removeAllListeners("request").on("request", express().post("/webhooks", webhookMiddleware(later)));
later.on("task.*", () => {
  if (++handled === 6) allHandled();
});
await later.start();
await runTask();
await delivered(6);
await sixHandled;

await client.webhooks.endpoints.delete(endpoint.id);
const failed = (await mock.control.listDeliveries({ status: "failed" })).data.length;
console.log(`6 deliveries over a rotation: ${handled} handled, ${failed} failed`);

server.close();
server.closeAllConnections();
await receiver.close();
await rm(folder, { recursive: true });
process.exitCode = failed === 0 ? 0 : 1;
