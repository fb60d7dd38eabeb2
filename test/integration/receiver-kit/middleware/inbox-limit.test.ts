import { dedupeWebhook, orderWebhook, verifyWebhook } from "@workspace-tasks/receiver-kit/express";
import { describe, expect, it } from "vitest";
import type { InboxStore } from "../../../../receiver-kit/inbox/inbox.ts";
import { serveExpress } from "../../../support/express-server.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretA, signDelivery } from "../../../support/signed-delivery.ts";
import { overrideInbox } from "../../../support/wrap-inbox.ts";

const hang = () => new Promise<never>(() => {});
const acceptTimeoutMs = 30;

async function send(inbox: InboxStore, handled: string[] = []) {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  await using host = await serveExpress((app) => {
    app.post(
      "/webhooks",
      verifyWebhook({ secrets: [secretA] }),
      dedupeWebhook({ inbox, acceptTimeoutMs, onError }),
      orderWebhook({ inbox, acceptTimeoutMs, onError }),
      ({ webhook }, response) => {
        handled.push(webhook?.id ?? "");
        response.sendStatus(204);
      },
    );
  });
  const body = JSON.stringify(sampleEvent());
  const { headers } = signDelivery({ body, timestampSeconds: Math.floor(Date.now() / 1000) });
  const response = await fetch(`${host.origin}/webhooks`, { method: "POST", headers, body });
  return { status: response.status, retryAfter: response.headers.get("retry-after"), errors };
}

describe("dedupeWebhook and orderWebhook", () => {
  it.each(["open", "beginInline", "advanceHead"] as const)(
    "respond 503 after acceptTimeoutMs when %s of the inbox never settles",
    async (method) => {
      const handled: string[] = [];
      const result = await send(overrideInbox(memoryInbox(), { [method]: hang }), handled);
      expect(result).toMatchObject({ status: 503, retryAfter: "5" });
      expect(result.errors).toMatchObject([
        { code: "INBOX_UNAVAILABLE", message: `inbox: ${method} did not return within acceptTimeoutMs (30)` },
      ]);
      expect(handled).toEqual([]);
    },
  );
});
