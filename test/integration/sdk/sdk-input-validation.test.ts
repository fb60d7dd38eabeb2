import { isWorkspaceTasksError, type WorkspaceTasksClient } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";
import { createSdkFixture } from "../../support/sdk-fixture.ts";

const create =
  "mutation C($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { signingSecret } }";
const update =
  "mutation U($input: UpdateWebhookEndpointInput!) { updateWebhookEndpoint(input: $input) { id } }";
const rotate =
  "mutation R($input: RotateWebhookEndpointSecretInput!) { rotateWebhookEndpointSecret(input: $input) { signingSecret } }";
const list = `query L($limit: Int, $iterator: String) {
  me { ... on WorkspaceUser { workspace { webhookEndpoints(limit: $limit, iterator: $iterator) { done } } } }
}`;
const url = "https://receiver.example/hook";

type Send = (client: WorkspaceTasksClient, endpointId: string) => unknown;

/** Each invalid input twice: to the method that checks it, and past the checks to the service. */
const invalidInputs: Record<string, readonly [checked: Send, unchecked: Send]> = {
  "no event type at creation": [
    ({ webhooks }) => webhooks.endpoints.create({ url, eventTypes: [] }),
    (client) => client.request(create, { input: { url, eventTypes: [] } }),
  ],
  "no event type at an update": [
    ({ webhooks }, endpointId) => webhooks.endpoints.update(endpointId, { eventTypes: [] }),
    (client, endpointId) => client.request(update, { input: { endpointId, eventTypes: [] } }),
  ],
  "an update of nothing": [
    ({ webhooks }, endpointId) => webhooks.endpoints.update(endpointId, {} as never),
    (client, endpointId) => client.request(update, { input: { endpointId } }),
  ],
  "a url without TLS": [
    ({ webhooks }) => webhooks.endpoints.create({ url: "http://receiver.example/hook" }),
    (client) => client.request(create, { input: { url: "http://receiver.example/hook" } }),
  ],
  "a url with another scheme": [
    ({ webhooks }) => webhooks.endpoints.create({ url: "ftp://receiver.example" }),
    (client) => client.request(create, { input: { url: "ftp://receiver.example" } }),
  ],
  "a limit of 0": [
    ({ webhooks }) => webhooks.endpoints.list({ limit: 0 }),
    (client) => client.request(list, { limit: 0 }),
  ],
  "a limit of 101": [
    ({ webhooks }) => webhooks.endpoints.list({ limit: 101 }),
    (client) => client.request(list, { limit: 101 }),
  ],
  "a grace period below 0": [
    ({ webhooks }, endpointId) => webhooks.endpoints.rotateSecret(endpointId, { gracePeriodSeconds: -1 }),
    (client, endpointId) => client.request(rotate, { input: { endpointId, gracePeriodSeconds: -1 } }),
  ],
  "a grace period above 7 days": [
    ({ webhooks }, endpointId) =>
      webhooks.endpoints.rotateSecret(endpointId, { gracePeriodSeconds: 604_801 }),
    (client, endpointId) => client.request(rotate, { input: { endpointId, gracePeriodSeconds: 604_801 } }),
  ],
};

it.each(Object.entries(invalidInputs))(
  "the error of %s equals the service's own, and costs no request",
  async (_, [checked, unchecked]) => {
    await using fixture = await createSdkFixture("in-process");
    const { endpoint } = await fixture.client.webhooks.endpoints.create({ url });
    const before = (await fixture.mock.control.listRequests()).data.length;
    const local = await errorOf(() => checked(fixture.client, endpoint.id));
    expect((await fixture.mock.control.listRequests()).data.length).toBe(before);
    expect(local).toMatchObject({ outcome: "not_sent", attempts: 0 });

    const remote = await errorOf(() => unchecked(fixture.client, endpoint.id));
    expect((await fixture.mock.control.listRequests()).data.length).toBe(before + 1);
    expect(remote).toMatchObject({ outcome: "rejected", attempts: 1, code: local.code });
    expect(remote.errors[0]?.message).toBe(local.message);
  },
);

async function errorOf(send: () => unknown) {
  try {
    await send();
  } catch (error) {
    if (isWorkspaceTasksError(error)) return error;
    throw error;
  }
  throw new Error("expected the call to fail");
}
