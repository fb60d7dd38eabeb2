// A mock that is asked the rules: with keys and records of every kind, and deliveries that were captured in this process.

import { events, knownEventNames } from "@workspace-tasks/events/catalog";
import { exampleFields } from "@workspace-tasks/events/example";
import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type SettingsChanges,
  type VirtualClock,
} from "@workspace-tasks/mock-server";
import { withSettings } from "@workspace-tasks/mock-server/parts";
import type { Captured, CapturedDelivery } from "./ask/deliveries.ts";
import { type KeyName, Service } from "./ask/service.ts";
import { askRules, type Finding } from "./findings.ts";

/** What a mock with these settings shows. @param withDeliveries also its deliveries */
export async function findingsOfMock(
  settings: SettingsChanges,
  withDeliveries: boolean,
): Promise<readonly Finding[]> {
  const clock = createVirtualClock();
  const mock = await createMockServer({ listen: false, clock, deliverOnly: "loopback", settings });
  try {
    const service = new Service({
      access: { baseUrl: mock.baseUrl, gatewayUrl: mock.gatewayUrl, keys: await prepareMock(mock) },
      fetch: (url, init) => mock.fetch(url, init),
      clock,
      writes: true,
      rateLimit: withSettings(settings).rateLimit,
      runId: "mock",
      captured: withDeliveries ? await captureMockDeliveries(settings) : undefined,
      signal: new AbortController().signal,
    });
    return (await askRules(service)).findings;
  } finally {
    await mock.close();
  }
}

/** Adds keys and records of every kind that rules read. The endpoints get no deliveries. */
export async function prepareMock({
  control,
  apiKey,
  partnerApiKey,
}: MockServer): Promise<Record<KeyName, string>> {
  const expired = await control.createApiKey({ expiresInDays: 30 });
  await control.advanceClock({ by: "31d" });
  const revoked = await control.createApiKey();
  await control.revokeApiKey(revoked.id);
  const readOnly = await control.createApiKey({ access: "read_only" });
  // More tasks than a list has by default.
  for (let count = 0; count < 20; count += 1)
    await control.startTask({ taskType: "BINDER", progression: "manual" });
  await control.advanceClock({ by: "1s" });
  await control.startTask({ taskType: "BINDER", progression: "manual" });
  for (const number of [1, 2, 3]) {
    const eventTypes = ["documents.synced"];
    await control.createEndpoint({ url: `https://receiver.invalid/${number}`, eventTypes });
    await control.startTask({ taskType: "TAX_PREP" });
    await control.advanceClock({ by: "10s" });
  }
  return {
    admin: apiKey,
    readOnly: readOnly.apiKey,
    revoked: revoked.apiKey,
    expired: expired.apiKey,
    partner: partnerApiKey,
  };
}

const receiverUrl = "https://receiver.invalid/mock";

/** Attempts of the first delivery that get a 503. */
const rejectedMax = 4;

/** Deliveries of tasks that complete and fail, of a pull of documents, of a retry and of a rotation. */
export async function captureMockDeliveries(settings: SettingsChanges, seed = 1): Promise<Captured> {
  const clock = createVirtualClock();
  const deliveries: CapturedDelivery[] = [];
  let first: string | undefined;
  const receive = async (request: Request): Promise<Response> => {
    const headers = Object.fromEntries(request.headers);
    const body = Buffer.from(await request.arrayBuffer());
    first ??= headers["webhook-id"];
    const rejected = deliveries.filter(({ responded }) => responded === 503).length;
    const responded = headers["webhook-id"] === first && rejected < rejectedMax ? 503 : 204;
    deliveries.push({ receivedAtMs: clock.now(), headers, body, responded });
    return new Response(null, { status: responded });
  };
  const mock = await createMockServer({
    listen: false,
    clock,
    seed,
    deliverOnly: "loopback",
    receivers: new Map([[receiverUrl, receive]]),
    settings,
  });
  try {
    const secrets = await causeDeliveries(mock, clock);
    return { deliveries, secrets };
  } finally {
    await mock.close();
  }
}

/** @returns the secrets of the endpoint, the newest first */
async function causeDeliveries(mock: MockServer, clock: VirtualClock): Promise<readonly string[]> {
  const { control } = mock;
  const { id, signingSecret } = await control.createEndpoint({ url: receiverUrl });
  // The first delivery is attempted several times before anything else happens.
  await control.startTask({ taskType: "BINDER", progression: "manual" });
  await clock.advance("3h");
  await control.startTask({ taskType: "TAX_PREP" });
  await clock.advance("1h");
  await failTasks(mock);
  // Events that no task causes.
  for (const name of knownEventNames.filter((each) => events[each].status === ""))
    await control.sendEvent({ name, payload: exampleFields(name) });
  await clock.advance("1h");
  const rotated = await control.rotateEndpointSecret(id, { gracePeriodSeconds: 604_800 });
  await control.startTask({ taskType: "BINDER" });
  await clock.advance("1h");
  return [rotated.signingSecret, signingSecret];
}

/** The pairs of A-17. */
const customerErrors = [
  { code: "CONNECTION_REAUTH_REQUIRED", action: { type: "RECONNECT", connectionId: null } },
  { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } },
  { code: "INTERNAL", action: { type: "CONTACT_SUPPORT", connectionId: null } },
];

async function failTasks({ control }: MockServer): Promise<void> {
  for (const customerError of customerErrors) {
    const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    const failed = { status: "FAILED", errorMessage: "example" } as const;
    await control.setStageStatus(taskId, { subTaskType: "tax-extraction", ...failed });
    await control.setTaskStatus(taskId, { ...failed, customerError });
  }
}
