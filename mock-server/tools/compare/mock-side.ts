// The mock as the other side of the comparison: the same probes, in the same order, with keys of the same kind.

import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type SettingsChanges,
} from "@workspace-tasks/mock-server";
import { withSettings } from "@workspace-tasks/mock-server/parts";
import { captureMockDeliveries } from "./mock-deliveries.ts";
import {
  deliveriesProbe,
  type Evidence,
  type Observation,
  rateLimitProbe,
  toEvidence,
} from "./observe/observation.ts";
import { observeDeliveries } from "./observe/observe-delivery.ts";
import type { KeyName, Probe } from "./rules/probe.ts";
import { roleOf } from "./rules/read-response.ts";
import { measureRateLimit } from "./run/measure-rate-limit.ts";
import { createPacer, shareOf } from "./run/pacer.ts";
import { runProbes } from "./run/run-probes.ts";
import { createSender } from "./run/send-request.ts";
import { createSession } from "./run/session.ts";

const roles = ["admin", "l1", "l2", "l3"] as const;
type Role = (typeof roles)[number];

export interface MockSide {
  readonly plan: readonly Probe[];
  readonly settings?: SettingsChanges | undefined;
  /** The evidence of the service: its key's role is the one that the mock's key gets. */
  readonly service: Evidence;
}

export async function observeMock({ plan, settings = {}, service }: MockSide): Promise<Evidence> {
  const clock = createVirtualClock();
  const mock = await createMockServer({ listen: false, clock, deliverOnly: "loopback", settings });
  try {
    const keys = await createKeys(mock, roleIn(service));
    await addRecords(mock);
    const { rateLimit } = withSettings(settings);
    const access = { baseUrl: mock.baseUrl, gatewayUrl: mock.gatewayUrl, keys };
    const fetch = (url: string, init: RequestInit) => mock.fetch(url, init);
    const { signal } = new AbortController();
    const sender = createSender({
      fetch,
      clock,
      pacer: createPacer(clock, shareOf(rateLimit)),
      writes: true,
      signal,
    });
    const session = createSession(access, sender, clock);
    const mark = "/workspace-tasks-compare/mock/";
    const { observations } = await runProbes(plan, { access, clock, sender, session, signal, mark });
    const further: Observation[] = [];
    const has = (probe: string) => ["deliveries", "measured"].includes(service.get(probe)?.outcome ?? "");
    if (has(rateLimitProbe)) {
      const isOnGateway = plan.some(({ router }) => router === "gateway");
      const reachable = { ...access, gatewayUrl: isOnGateway ? access.gatewayUrl : null };
      further.push(await measureRateLimit({ access: reachable, fetch, clock, sender, signal, rateLimit }));
    }
    if (has(deliveriesProbe)) further.push(observeDeliveries(await captureMockDeliveries(settings)));
    return toEvidence([...observations, ...further]);
  } finally {
    await mock.close();
  }
}

function roleIn(service: Evidence): Role {
  const role = roleOf(service);
  return roles.find((each) => each === role) ?? "admin";
}

async function createKeys(mock: MockServer, role: Role): Promise<Record<KeyName, string>> {
  const { control, partnerApiKey } = mock;
  const expired = await control.createApiKey({ expiresInDays: 30 });
  await control.advanceClock({ by: "31d" });
  const revoked = await control.createApiKey();
  await control.revokeApiKey(revoked.id);
  const admin = role === "admin" ? mock.apiKey : (await control.createApiKey({ role })).apiKey;
  const readOnly = await control.createApiKey({ access: "read_only" });
  return {
    admin,
    readOnly: readOnly.apiKey,
    revoked: revoked.apiKey,
    expired: expired.apiKey,
    partner: partnerApiKey,
  };
}

/** Records of every kind that a list can have. The endpoints get no deliveries. */
async function addRecords({ control }: MockServer): Promise<void> {
  // More tasks than a list has by default.
  for (let count = 0; count < 20; count += 1)
    await control.startTask({ taskType: "BINDER", progression: "manual" });
  await control.advanceClock({ by: "1s" });
  await control.startTask({ taskType: "BINDER", progression: "manual" });
  for (const number of [1, 2, 3]) {
    await control.createEndpoint({
      url: `https://receiver.invalid/${number}`,
      eventTypes: ["documents.synced"],
    });
    await control.startTask({ taskType: "TAX_PREP" });
    await control.advanceClock({ by: "10s" });
  }
}
