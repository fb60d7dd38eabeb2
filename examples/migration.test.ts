// Migrates a receiver from a verification of its own, from svix and from standardwebhooks.

import { createHmac, timingSafeEqual } from "node:crypto";
import {
  createReceiver,
  createVerifier,
  type MemoryTransaction,
  memoryInbox,
  type Receiver,
} from "@workspace-tasks/receiver-kit";
import { verifyWebhook, webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express, { type Express } from "express";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";
import { serveExpress } from "../test/support/express-server.ts";
import { sampleEvent } from "../test/support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../test/support/signed-delivery.ts";

const secret = secretA;

function verifyByHand(rawBody: Buffer, headers: Record<string, string | undefined>): unknown {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(rawBody).digest();
  const [, signature = ""] = headers["webhook-signature"]?.split(",") ?? [];
  const received = Buffer.from(signature, "base64");
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) throw new Error("401");
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) throw new Error("401");
  return JSON.parse(rawBody.toString());
}

const svix = new SvixWebhook(secret);
const verifyWithSvix = (rawBody: Buffer, headers: Record<string, string>) => svix.verify(rawBody, headers);

const standard = new StandardWebhook(secret);
const verifyWithStandardWebhooks = (rawBody: Buffer, headers: Record<string, string>) =>
  standard.verify(rawBody.toString(), headers);

// #region verifier
const verifier = createVerifier({ secrets: [secret] }); // two during a rotation
const verifyWithKit = async (rawBody: Buffer, headers: Record<string, string>) => {
  const { body } = await verifier.verify(rawBody, headers); // rejects with a code that says why
  return JSON.parse(Buffer.from(body).toString());
};
// #endregion

const before = {
  "by hand": verifyByHand,
  svix: verifyWithSvix,
  standardwebhooks: verifyWithStandardWebhooks,
};
const now = () => Math.floor(Date.now() / 1000);

describe.each(Object.entries(before))("a delivery that was verified %s", (_, verifyBefore) => {
  const event = JSON.stringify(sampleEvent({ clientName: "Zoë" }));
  const result = async (verify: typeof verifyBefore, secretOfSender: string, timestampSeconds: number) => {
    const { body, headers } = signDelivery({ body: event, timestampSeconds, secret: secretOfSender });
    try {
      return await verify(body, { ...headers });
    } catch {
      return "rejected";
    }
  };

  it("is accepted and rejected by createVerifier as before", async () => {
    for (const verify of [verifyBefore, verifyWithKit]) {
      expect(await result(verify, secret, now())).toEqual(JSON.parse(event));
      expect(await result(verify, secretX, now())).toBe("rejected");
      expect(await result(verify, secret, now() - 600)).toBe("rejected");
    }
  });
});

describe("the steps of the migration", () => {
  const handled: unknown[] = [];
  const steps: Record<string, (app: Express, receiver: Receiver<MemoryTransaction>) => void> = {
    "verification alone": (app) => {
      // #region step-1
      app.post("/webhooks", verifyWebhook({ secrets: [secret] }), (request, response) => {
        handled.push(request.webhook?.event); // what the route did before
        response.sendStatus(204);
      });
      // #endregion
    },
    "the whole receiver": (app, receiver) => {
      // #region step-2
      receiver.on("*", (event) => void handled.push(event)); // what the route did before
      app.post("/webhooks", webhookMiddleware(receiver));
      // #endregion
    },
  };

  it.each(Object.keys(steps))("%s passes the event to the code that handled it before", async (step) => {
    handled.length = 0;
    await using receiver = createReceiver({ secrets: [secret], inbox: memoryInbox() });
    await using server = await serveExpress((app) => {
      steps[step]?.(app, receiver);
      app.use(express.json());
    });
    await receiver.start();
    const event = sampleEvent();
    const { body, headers } = signDelivery({ body: JSON.stringify(event), timestampSeconds: now() });
    const response = await fetch(`${server.origin}/webhooks`, {
      method: "POST",
      headers: { ...headers },
      body,
    });
    expect(response.ok).toBe(true);
    await expect.poll(() => handled).toMatchObject([{ taskId: event["taskId"] }]);
  });
});
