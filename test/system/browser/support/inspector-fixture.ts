import { createMockServer, type MockServer, type MockServerOptions } from "@workspace-tasks/mock-server";
import { callGraphql, exchangeApiKey, workspaceToken } from "../../../support/mock-client.ts";

/** A mock with receivers in this process, whose responses a test sets. */
export interface InspectorFixture extends AsyncDisposable {
  readonly mock: MockServer;
  /** Sets the status of the responses of a receiver. */
  respond(receiver: Receiver, status: number): void;
}

export type Receiver = keyof typeof receiverUrls;

export const receiverUrls = {
  billing: "https://billing.example/webhooks/tasks",
  portal: "https://portal.example/hooks",
} as const;

export async function createInspectorFixture(options: MockServerOptions = {}): Promise<InspectorFixture> {
  const statuses: Record<Receiver, number> = { billing: 204, portal: 204 };
  const receivers = new Map(
    (Object.keys(receiverUrls) as Receiver[]).map((name) => [
      receiverUrls[name],
      () => {
        const status = statuses[name];
        const text = status === 204 ? null : '{"error":"the database is locked"}';
        return new Response(text, { status, headers: text ? { "content-type": "application/json" } : {} });
      },
    ]),
  );
  const mock = await createMockServer({ clock: "virtual", seed: 7, receivers, ...options });
  return {
    mock,
    respond: (receiver, status) => {
      statuses[receiver] = status;
    },
    [Symbol.asyncDispose]: () => mock.close(),
  };
}

/** A delivery of `task.running` that its receiver has rejected once. */
export async function rejectedDelivery({ mock, respond }: Pick<InspectorFixture, "mock" | "respond">) {
  const endpoint = await mock.control.createEndpoint({ url: receiverUrls.billing });
  respond("billing", 500);
  const { taskId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  await mock.clock.advance(0);
  const [delivery] = (await mock.control.listDeliveries({ order: "desc" })).data;
  return { ...endpoint, taskId, deliveryId: delivery?.id ?? "" };
}

const clientNames = [
  "Ada Lovelace",
  "Blaise Pascal",
  "Carl Friedrich Gauss",
  "Emmy Noether",
  "Grace Hopper",
  "Joan Clarke",
];
const createClient = `mutation CreateClient($input: CreateClientInput!) { createClient(input: $input) { client { id } } }`;

/** Tasks of every type and status; deliveries that succeeded, are delayed, or fail. */
export async function fillFixture({ mock, respond }: InspectorFixture): Promise<void> {
  const portal = await mock.control.createEndpoint({
    url: receiverUrls.portal,
    eventTypes: ["task.completed", "task.failed"],
  });
  await mock.control.createEndpoint({ url: receiverUrls.billing });
  const token = await workspaceToken(mock);
  const clientIds: string[] = [];
  for (const [index, name] of clientNames.entries()) {
    const input = { name, externalId: `client-${index + 1}`, returnType: "F1040", taxYear: 2025 };
    const { createClient: created } = await callGraphql(mock, createClient, { token, variables: { input } });
    clientIds.push(created.client.id);
  }
  const types = ["TAX_PREP", "BINDER", "TAX_REVIEW", "TAX_PREP", "TAX_ADVISOR", "TAX_PREP_LITE"];
  for (const [index, clientId] of clientIds.entries()) {
    await mock.control.startTask({ taskType: types[index] ?? "TAX_PREP", clientId, progression: "timed" });
    await mock.clock.advance("700ms");
  }
  await mock.clock.advance("40s");
  await rotate(mock, portal.id);

  respond("billing", 503);
  for (const [index, type] of ["TAX_PREP", "BINDER"].entries()) {
    const clientId = clientIds[index + 3] ?? "";
    const { taskId } = await mock.control.startTask({ taskType: type, clientId, progression: "manual" });
    await mock.control.setTaskStatus(taskId, {
      status: "FAILED",
      errorMessage: "the W-2 of 2025 cannot be read",
      withinRetryGrace: false,
      customerError: { code: "DOCUMENT_UNREADABLE", action: { type: "UPLOAD_AGAIN", connectionId: null } },
    });
  }
  await mock.clock.advance("20s");
  await callGraphql(mock, createClient, {
    token,
    variables: { input: { name: "", externalId: "client-1", returnType: "F1040", taxYear: 2025 } },
  }).catch(() => undefined);
  await callGraphql(mock, 'mutation { deleteWebhookEndpoint(endpointId: "none") }', {}).catch(
    () => undefined,
  );
  await mock.control.setFaults({
    api: [{ instructions: [{ kind: "status", status: 503, retryAfterSeconds: 1 }] }],
    deliveries: [{ chances: [{ probability: 0.1, fault: { kind: "duplicate" } }] }],
  });
  await exchangeApiKey(mock).catch(() => undefined);
  await startRunning(mock, clientIds);
}

async function rotate(mock: MockServer, endpointId: string): Promise<void> {
  const token = await workspaceToken(mock);
  await callGraphql(
    mock,
    `mutation Rotate($input: RotateWebhookEndpointSecretInput!) {
      rotateWebhookEndpointSecret(input: $input) { signingSecret }
    }`,
    { token, variables: { input: { endpointId, gracePeriodSeconds: 7_200 } } },
  );
}

/** Two tasks in the middle of their stages. */
async function startRunning(mock: MockServer, clientIds: readonly string[]): Promise<void> {
  const stages = ["document-classification", "tax-extraction", "reconciliation", "review"];
  for (const clientId of clientIds.slice(0, 2)) {
    await mock.control.startTask({
      taskType: "TAX_PREP",
      clientId,
      progression: "timed",
      stages: stages.map((type, index) => ({ type, durationMs: 40_000 * (index + 1) })),
    });
    await mock.clock.advance("50s");
  }
}
