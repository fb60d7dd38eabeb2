import { type Secrets, silentLogger } from "@workspace-tasks/receiver-kit";
import { dedupeWebhook, orderWebhook, verifyWebhook } from "@workspace-tasks/receiver-kit/express";
import { describe, expect, it, vi } from "vitest";
import { createIntake } from "../../../../receiver-kit/rabbitmq/rabbitmq-intake.ts";
import { serveExpress } from "../../../support/express-server.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretA, signDelivery } from "../../../support/signed-delivery.ts";
import { FakeAmqp } from "../../../unit/receiver-kit/rabbitmq/fake-amqp.ts";

const event = sampleEvent({ workspaceId: "workspace-1" });
const secrets: Secrets = {
  byTenant: () => ({ id: "acme", workspaceId: "workspace-1", secrets: [secretA] }),
};

function requestOf(body: string, url = "https://receiver.example/", nowMs = Date.now()): Request {
  const { headers } = signDelivery({ body, timestampSeconds: Math.floor(nowMs / 1000) });
  return new Request(url, { method: "POST", headers, body });
}

async function countParses(body: string, send: () => Promise<unknown>): Promise<number> {
  const parse = vi.spyOn(JSON, "parse");
  try {
    await send();
    return parse.mock.calls.filter(([text]) => text === body).length;
  } finally {
    parse.mockRestore();
  }
}

const bodies = [JSON.stringify(event), JSON.stringify({ ...event, occurredAt: "yesterday" })];

describe.each(bodies)("the body %s of a request", (body) => {
  it("is parsed once by a receiver of tenants", async () => {
    await using fixture = createReceiverFixture({ secrets });
    const request = requestOf(body, undefined, fixture.clock.now());
    expect(await countParses(body, () => fixture.receiver.fetch(request))).toBe(1);
  });

  it("is parsed once by an intake of tenants", async () => {
    const amqp = new FakeAmqp();
    const intake = createIntake({ urls: ["amqp://one"], secrets, logger: silentLogger }, amqp.connect);
    await intake.start();
    const send = async () => {
      const response = intake.fetch(requestOf(body));
      await expect.poll(() => amqp.latest.publishes.length).toBe(1);
      amqp.latest.publishes[0]?.confirm();
      return response;
    };
    expect(await countParses(body, send)).toBe(1);
    await intake.close();
  });

  it("is parsed once by the three middlewares", async () => {
    const inbox = memoryInbox();
    await using host = await serveExpress((app) => {
      const middlewares = [verifyWebhook({ secrets }), dedupeWebhook({ inbox }), orderWebhook({ inbox })];
      app.post("/webhooks", ...middlewares, (_, response) => void response.sendStatus(204));
    });
    expect(await countParses(body, () => fetch(requestOf(body, `${host.origin}/webhooks`)))).toBe(1);
    expect(await inbox.list({})).toMatchObject([{ source: "default/acme" }]);
  });
});
