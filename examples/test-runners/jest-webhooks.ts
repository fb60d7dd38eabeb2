import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { worldPerTest } from "@workspace-tasks/mock-server/jest";
import { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { createClient } from "@workspace-tasks/sdk";

const fixture = worldPerTest({ world: { clock: "virtual" } });

it("the application learns from webhooks that a task has completed", async () => {
  const { baseUrl, apiKey, clock, control } = fixture.world;
  const secrets: string[] = [];
  const receiver = createReceiver({
    secrets: () => secrets,
    inbox: memoryInbox({ clock }),
    clock,
    logger: silentLogger,
  });
  const statuses: string[] = [];
  receiver.onState("task", ({ status }) => void statuses.push(status));
  await receiver.start();
  const server = createServer(webhookMiddleware(receiver)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;

  const client = createClient({ baseUrl, apiKey, clock });
  const { signingSecret } = await client.webhooks.endpoints.create({ url });
  secrets.push(signingSecret);
  await control.startTask({ taskType: "TAX_PREP" });
  await clock.advance("5m");
  expect(statuses).toEqual(["RUNNING", "COMPLETED"]);

  server.close();
  await receiver.close();
  await client.close();
});
