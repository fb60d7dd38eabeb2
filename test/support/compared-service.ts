import { createMockServer, type MockServer, type SettingsChanges } from "@workspace-tasks/mock-server";
import { createVirtualClock, type VirtualClock } from "../../mock-server/time/virtual-clock.ts";
import { type Plan, planProbes } from "../../mock-server/tools/compare/catalogue/catalogue.ts";
import { compareService, type ObserveMock } from "../../mock-server/tools/compare/compare-service.ts";
import { observeMock } from "../../mock-server/tools/compare/mock-side.ts";
import {
  deliveriesProbe,
  type Evidence,
  type Observation,
  rateLimitProbe,
} from "../../mock-server/tools/compare/observe/observation.ts";
import type { Captured } from "../../mock-server/tools/compare/observe/observe-delivery.ts";
import type { CompareReport } from "../../mock-server/tools/compare/report/compare-report.ts";
import { isDifference } from "../../mock-server/tools/compare/report/summary.ts";
import { type KeyName, keyNames, type Permission } from "../../mock-server/tools/compare/rules/probe.ts";
import { createdEndpoints } from "../../mock-server/tools/compare/run/created-endpoints.ts";
import type { AgreesToRemove } from "../../mock-server/tools/compare/run/remove-created.ts";
import { getOrCreate } from "../../sdk/kernel/cache.ts";

export type Send = (url: string, init: RequestInit) => Promise<Response>;

/** A mock that plays the real service, with records that a real one would have. */
export interface ComparedService extends AsyncDisposable {
  readonly mock: MockServer;
  readonly clock: VirtualClock;
  readonly keys: Readonly<Partial<Record<KeyName, string>>>;
}

export interface ServiceOptions {
  readonly seed?: number;
  /** Running tasks besides those of every kind. */
  readonly tasks?: number;
  readonly settings?: SettingsChanges;
}

export async function startComparedService({
  seed = 7,
  settings = {},
  tasks = 0,
}: ServiceOptions = {}): Promise<ComparedService> {
  const clock = createVirtualClock();
  const mock = await createMockServer({ listen: false, clock, seed, settings, deliverOnly: "loopback" });
  const { control } = mock;
  const expired = await control.createApiKey({ expiresInDays: 30 });
  await clock.advance("40d");
  const revoked = await control.createApiKey();
  await control.revokeApiKey(revoked.id);
  const readOnly = await control.createApiKey({ access: "read_only" });
  for (const number of [1, 2, 3, 4]) {
    await control.createEndpoint({
      url: `https://receiver.invalid/secret-path-${number}`,
      description: `Label of Miller ${number}`,
      eventTypes: ["documents.synced"],
    });
    await control.startTask({ taskType: number === 3 ? "BINDER" : "TAX_PREP" });
    await clock.advance(number * 7_000);
  }
  for (let count = 0; count <= tasks; count += 1)
    await control.startTask({ taskType: "BINDER", progression: "manual" });
  const keys = {
    admin: mock.apiKey,
    readOnly: readOnly.apiKey,
    revoked: revoked.apiKey,
    expired: expired.apiKey,
    partner: mock.partnerApiKey,
  };
  return { mock, clock, keys, [Symbol.asyncDispose]: () => mock.close() };
}

/** Between the comparison and the service. */
export type Around = (send: Send) => Send;

export interface CompareInput {
  readonly permissions?: readonly Permission[];
  readonly keys?: readonly KeyName[];
  readonly around?: Around;
  readonly settings?: SettingsChanges;
  readonly captured?: Captured;
  readonly agrees?: AgreesToRemove;
  readonly signal?: AbortSignal;
  readonly onObservation?: (observation: Observation) => void;
}

const rolesIn = (me: unknown) => JSON.stringify(me ?? "").match(/"role":"[^"]*"/)?.[0];

const evidenceOfMocks = new Map<string, Promise<Evidence>>();

/** The evidence of a mock is the same in every comparison with equal settings and probes. */
export const observeOnce: ObserveMock = (side) => {
  const key = JSON.stringify([
    side.settings,
    side.plan.map(({ id }) => id),
    rolesIn(side.service.get("me.workspace")),
    [deliveriesProbe, rateLimitProbe].map((probe) => side.service.get(probe)?.outcome),
  ]);
  return getOrCreate(evidenceOfMocks, key, () => observeMock(side));
};

/** Compares the service with a mock, in this process. Default: reads only, with every key. */
export function compare(service: ComparedService, input: CompareInput = {}): Promise<CompareReport> {
  const { mock, clock, keys } = service;
  const { permissions = ["read"], around = (send) => send, keys: names = keyNames, ...others } = input;
  const given = Object.fromEntries(names.flatMap((name) => (keys[name] ? [[name, keys[name]]] : [])));
  return compareService({
    ...others,
    access: { baseUrl: mock.baseUrl, gatewayUrl: mock.gatewayUrl, keys: given },
    fetch: around((url, init) => mock.fetch(url, init)),
    clock,
    plan: {
      permissions: new Set(permissions),
      keys: new Set(Object.keys(given) as KeyName[]),
      hasGateway: true,
    },
    runId: "test",
    created: createdEndpoints(),
    mock: observeOnce,
    signal: input.signal ?? new AbortController().signal,
  });
}

const wholePlan: Plan = {
  permissions: new Set(["read", "write"]),
  keys: new Set(keyNames),
  hasGateway: true,
};

/** The evidence of a mock with every key and permission. */
export const observeEverything = (service: Evidence = new Map()): Promise<Evidence> =>
  observeMock({ plan: planProbes(wholePlan), service });

export const idsOf = ({ rules }: CompareReport, verdict: string) =>
  rules.filter((rule) => rule.verdict === verdict).map(({ id }) => id);

export const refutedIn = (report: CompareReport) => idsOf(report, "refuted");

/** Rules that are refuted, and rules that differ from an assumption. */
export const differencesIn = ({ rules }: CompareReport) => rules.filter(isDifference).map(({ id }) => id);

export const reasonOf = ({ rules }: CompareReport, rule: string) =>
  rules.find(({ id }) => id === rule)?.received;
