// Rotates a signing secret without a rejected delivery.
// During the grace period the service signs with both secrets, so the receiver can get the new one later.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { createClient } from "@workspace-tasks/sdk";
import express from "express";

await using mock = await createMockServer();
await using client = createClient({ apiKey: mock.apiKey, baseUrl: mock.baseUrl });

// Stands for a secret store; the receiver reads it at every delivery.
let secrets: string[] = [];
let handled = 0;
let allHandled = () => {};
const sixHandled = new Promise<void>((resolve) => {
  allHandled = resolve;
});
await using receiver = createReceiver({ secrets: () => secrets, inbox: memoryInbox() });
receiver.on("task.*", () => {
  if (++handled === 6) allHandled();
});
await receiver.start();

const server = createServer(express().post("/webhooks", webhookMiddleware(receiver)));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

const { endpoint, signingSecret } = await client.webhooks.endpoints.create({
  url: `http://127.0.0.1:${port}/webhooks`,
  eventTypes: ["task.running", "task.completed"],
});
secrets = [signingSecret];

const runTask = () => mock.control.startTask({ taskType: "BINDER", progression: "immediate" });
const delivered = (count: number) => mock.control.waitForDeliveries({ status: "succeeded", count });

await runTask();
await delivered(2);

const rotated = await client.webhooks.endpoints.rotateSecret(endpoint.id, {
  gracePeriodSeconds: 3_600,
});
// The receiver still has only the old secret, and these two deliveries verify with it.
await runTask();
await delivered(4);

// Both secrets until the grace period ends.
secrets = [rotated.signingSecret, signingSecret];
await runTask();
await delivered(6);
await sixHandled;

await client.webhooks.endpoints.delete(endpoint.id);
const failed = (await mock.control.listDeliveries({ status: "failed" })).data.length;
console.log(`6 deliveries over a rotation: ${handled} handled, ${failed} failed`);

server.close();
server.closeAllConnections();
process.exitCode = failed === 0 ? 0 : 1;
