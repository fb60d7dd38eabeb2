import { createMockServer, type MockServer, type SettingsChanges } from "workspace-tasks/mock-server";
import { getOrCreate } from "../../mock-server/cache.ts";
import { compareService, type ObserveMock } from "../../mock-server/compare/compare-service.ts";
import { observeMockChanges } from "../../mock-server/compare/mock-deliveries.ts";
import { observeMock } from "../../mock-server/compare/mock-side.ts";
import {
  changesProbe,
  deliveriesProbe,
  type Evidence,
  type Observation,
  rateLimitProbe,
  toEvidence,
} from "../../mock-server/compare/observe/observation.ts";
import type { PlanInput } from "../../mock-server/compare/plan/plan-probes.ts";
import type { KeyName, Permission } from "../../mock-server/compare/plan/probe.ts";
import type { CompareReport } from "../../mock-server/compare/report/compare-report.ts";
import type { Captured, Listening } from "../../mock-server/compare/run/await-deliveries.ts";
import { type RunLimits, runDefaults } from "../../mock-server/compare/run/run-probes.ts";
import { createVirtualClock, type VirtualClock } from "../../mock-server/time/virtual-clock.ts";

type Send = (url: string, init: RequestInit) => Promise<Response>;

/** A mock that plays the real service, with records that a real one would have. */
export interface ComparedService extends AsyncDisposable {
  readonly mock: MockServer;
  readonly clock: VirtualClock;
  readonly keys: Readonly<Record<KeyName, string>>;
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

export interface CompareInput {
  readonly permissions?: readonly Permission[];
  readonly keys?: readonly KeyName[];
  /** Between the comparison and the service. */
  readonly around?: (send: Send) => Send;
  readonly limits?: Partial<RunLimits>;
  readonly settings?: SettingsChanges;
  readonly earlier?: readonly Observation[];
  /** Default: the plan of this run. */
  readonly earlierPlan?: PlanInput;
  readonly captured?: Captured;
  readonly signal?: AbortSignal;
  readonly listening?: Listening;
  readonly onObservation?: (observation: Observation) => void;
}

const rolesIn = (me: unknown) => JSON.stringify(me ?? "").match(/"role":"[^"]*"/)?.[0];

const evidenceOfMocks = new Map<string, Promise<Evidence>>();

/** The evidence of a mock is the same in every comparison with equal settings and probes. */
const observeOnce: ObserveMock = (side) => {
  const key = JSON.stringify([
    side.settings,
    side.plan.map(({ id }) => id),
    rolesIn(side.service.get("me.workspace")),
    [deliveriesProbe, changesProbe, rateLimitProbe].map((probe) => side.service.get(probe)?.outcome),
  ]);
  return getOrCreate(evidenceOfMocks, key, () => observeMock(side));
};

/** Compares the service with a mock, in this process. */
export function compare(service: ComparedService, input: CompareInput = {}): Promise<CompareReport> {
  const { mock, clock, keys } = service;
  const {
    permissions = ["read"],
    around = (send) => send,
    limits = {},
    signal,
    settings,
    earlier,
    earlierPlan,
    captured,
    onObservation,
  } = input;
  const names = input.keys ?? (Object.keys(keys) as readonly KeyName[]);
  const send = around((url, init) => mock.fetch(url, init));
  const plan = { permissions: new Set(permissions), keys: new Set(names), hasGateway: true };
  return compareService({
    captured,
    access: {
      baseUrl: mock.baseUrl,
      gatewayUrl: mock.gatewayUrl,
      keys: Object.fromEntries(names.map((name) => [name, keys[name]])),
    },
    fetch: send,
    clock,
    plan,
    limits: { ...runDefaults, ...limits },
    runId: "test",
    mock: observeOnce,
    settings,
    earlier: earlier && { observations: earlier, plan: earlierPlan ?? plan },
    listening: input.listening,
    onObservation,
    signal: signal ?? new AbortController().signal,
  });
}

/** The evidence of a run with every key and permission, at a service with records of every kind. */
export async function compareEverything(): Promise<Evidence> {
  await using service = await startComparedService({ tasks: 25 });
  const observations: Observation[] = [];
  await compare(service, {
    permissions: ["read", "write", "exceed"],
    onObservation: (observation) => observations.push(observation),
  });
  return toEvidence([...observations, await observeMockChanges(undefined)]);
}
