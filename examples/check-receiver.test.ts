// Runs check-receiver in a test of your own receiver.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { afterAll, beforeAll, expect, it } from "vitest";
import { auditReceiver, renderTextReport, verdictOf } from "workspace-tasks/check-receiver";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const logger = { info() {}, warn() {}, error() {} };
const receiver = createReceiver({ secrets: [secret], inbox: memoryInbox(), logger });
const server = createServer(webhookMiddleware(receiver));
let url: string;

beforeAll(async () => {
  await receiver.start();
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await receiver.close();
});

it("rejects forged, stale and malformed deliveries", { timeout: 300_000 }, async () => {
  // #region audit
  const report = await auditReceiver({ url, secret, only: ["signature", "timestamp", "headers"] });
  expect(verdictOf(report), renderTextReport(report)).toBe("passed");
  // #endregion
});
