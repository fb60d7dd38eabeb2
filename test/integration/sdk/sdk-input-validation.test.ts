import type { WorkspaceTasksClient } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";
import { failureOf } from "../../support/outcome-of.ts";
import { createSdkFixture } from "../../support/sdk-fixture.ts";

const url = "https://receiver.example/hook";
const plainUrl = "http://receiver.example/hook";

type Send = (client: WorkspaceTasksClient, endpointId: string) => PromiseLike<unknown>;

// The service has the rules and the errors of these values.
it.each<[string, code: string, Send]>([
  [
    "no event type",
    "WEBHOOK_EVENT_TYPE_REQUIRED",
    ({ webhooks }) => webhooks.endpoints.create({ url, eventTypes: [] }),
  ],
  [
    "an update of nothing",
    "WEBHOOK_ENDPOINT_FIELD_REQUIRED",
    ({ webhooks }, id) => webhooks.endpoints.update(id, {} as never),
  ],
  [
    "a URL without TLS",
    "WEBHOOK_ENDPOINT_URL_INVALID",
    ({ webhooks }) => webhooks.endpoints.create({ url: plainUrl }),
  ],
  [
    "a text that is no URL",
    "WEBHOOK_ENDPOINT_URL_INVALID",
    ({ webhooks }, id) => webhooks.endpoints.update(id, { url: "x" }),
  ],
  [
    "a limit of 0",
    "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE",
    ({ webhooks }) => webhooks.endpoints.list({ limit: 0 }),
  ],
  [
    "a limit of 101",
    "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE",
    ({ webhooks }) => webhooks.endpoints.list({ limit: 101 }),
  ],
  [
    "a grace period below 0",
    "SECRET_GRACE_PERIOD_OUT_OF_RANGE",
    ({ webhooks }, id) => webhooks.endpoints.rotateSecret(id, { gracePeriodSeconds: -1 }),
  ],
  [
    "a grace period above 7 days",
    "SECRET_GRACE_PERIOD_OUT_OF_RANGE",
    ({ webhooks }, id) => webhooks.endpoints.rotateSecret(id, { gracePeriodSeconds: 604_801 }),
  ],
])("%s gets the service's error %s", async (_, code, send) => {
  await using fixture = await createSdkFixture("in-process");
  const { endpoint } = await fixture.client.webhooks.endpoints.create({ url });
  const rejected = { code, outcome: "rejected", attempts: 1 };
  expect(await failureOf(Promise.resolve(send(fixture.client, endpoint.id)))).toMatchObject(rejected);
});
