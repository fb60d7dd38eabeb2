// A mock that is asked the rules: with keys and records of every kind.

import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type SettingsChanges,
} from "@workspace-tasks/mock-server";
import { withSettings } from "@workspace-tasks/mock-server/parts";
import { type KeyName, Service } from "./ask/service.ts";
import { askRules, type Finding } from "./findings.ts";

/** What a mock with these settings shows. */
export async function findingsOfMock(settings: SettingsChanges): Promise<readonly Finding[]> {
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
  // More tasks and endpoints than a list has by default.
  for (let number = 1; number <= 20; number += 1) {
    const eventTypes = ["documents.synced"];
    await control.createEndpoint({ url: `https://receiver.invalid/${number}`, eventTypes });
    await control.startTask({ taskType: "BINDER", progression: "manual" });
  }
  await control.advanceClock({ by: "1s" });
  await control.startTask({ taskType: "BINDER", progression: "manual" });
  for (const number of [21, 22, 23]) {
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
