import { createMockServer, type MockServer, type MockServerOptions } from "workspace-tasks/mock-server";
import { callGraphql, createEndpoint, workspaceToken } from "../../support/mock-client.ts";

/** A mock with receivers in this process: no socket but the page's own, and each answers as it is told. */
export interface InspectorScene extends AsyncDisposable {
  readonly mock: MockServer;
  /** What each receiver answers from now on. */
  answer(receiver: Receiver, status: number): void;
}

export type Receiver = keyof typeof receiverUrls;

export const receiverUrls = {
  billing: "https://billing.example/webhooks/tasks",
  portal: "https://portal.example/hooks",
} as const;

export async function createInspectorScene(options: MockServerOptions = {}): Promise<InspectorScene> {
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
    answer: (receiver, status) => {
      statuses[receiver] = status;
    },
    [Symbol.asyncDispose]: () => mock.close(),
  };
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

/** A morning at a tax firm: tasks of every kind and end, deliveries that went well, late or not at all. */
export async function fillScene({ mock, answer }: InspectorScene): Promise<void> {
  const portal = await createEndpoint(mock, receiverUrls.portal, ["task.completed", "task.failed"]);
  await createEndpoint(mock, receiverUrls.billing);
  const token = await workspaceToken(mock);
  const clientIds: string[] = [];
  for (const [index, name] of clientNames.entries()) {
    const input = { name, externalId: `client-${index + 1}`, returnType: "F1040", taxYear: 2025 };
    const { createClient: made } = await callGraphql(mock, createClient, { token, variables: { input } });
    clientIds.push(made.client.id);
  }
  const types = ["TAX_PREP", "BINDER", "TAX_REVIEW", "TAX_PREP", "TAX_ADVISOR", "TAX_PREP_LITE"];
  for (const [index, clientId] of clientIds.entries()) {
    await mock.admin.startTask({ taskType: types[index] ?? "TAX_PREP", clientId, progression: "timed" });
    await mock.clock.advance("700ms");
  }
  await mock.clock.advance("40s");
  await rotate(mock, portal.endpointId);

  answer("billing", 503);
  for (const [index, type] of ["TAX_PREP", "BINDER"].entries()) {
    const clientId = clientIds[index + 3] ?? "";
    const { taskId } = await mock.admin.startTask({ taskType: type, clientId, progression: "manual" });
    await mock.admin.moveTask(taskId, {
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
  mock.admin.setFaults({
    api: [{ instructions: [{ kind: "status", status: 503, retryAfterSeconds: 1 }] }],
    deliveries: [{ chances: [{ probability: 0.1, fault: { kind: "duplicate" } }] }],
  });
  await workspaceToken(mock).catch(() => undefined);
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
    await mock.admin.startTask({
      taskType: "TAX_PREP",
      clientId,
      progression: "timed",
      stages: stages.map((type, index) => ({ type, durationMs: 40_000 * (index + 1) })),
    });
    await mock.clock.advance("50s");
  }
}
