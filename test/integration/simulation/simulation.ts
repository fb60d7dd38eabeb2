// The SDK, the mock server and the receivers in one process, with one virtual clock and one seed. The seed decides who
// acts when, what fails, which process crashes where and how long everything takes, so every run can be repeated. The
// invariants are checked after each step. At the end, when no work is left, the state of the receivers must equal the
// state of the service.

import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import * as receiverKit from "@workspace-tasks/receiver-kit";
import * as sdk from "@workspace-tasks/sdk";
import { actions, type SimulationRun, taskTypes } from "./actions.ts";
import { faultPlanOf, type Meetings } from "./faults.ts";
import { createInboxChecks } from "./inbox-checks.ts";
import type { Violation } from "./invariants.ts";
import { createOperator, elsewhereUrl, receiverUrl } from "./operator.ts";
import { checkFinalState, quiesceParts } from "./quiesce.ts";
import { createReceivers, type Receivers } from "./receivers.ts";
import { createService } from "./service.ts";
import { settingsOf } from "./settings.ts";
import { injectStepFaults, maybeSendSkewedEvent } from "./step-faults.ts";
import { maybeSetStoreClock } from "./store-clock.ts";
import { sendAsOtherTenant } from "./tenants.ts";
import { createWorld, type Products, type SimulationWorld } from "./world.ts";

export interface SimulationOptions {
  readonly seed: number;
  /** Replacements for the products. */
  readonly products?: Partial<Products> | undefined;
}

export interface SimulationReport {
  readonly seed: number;
  /** Steps taken; of a failed run, the last one is the failing one. */
  readonly steps: number;
  readonly violation: Violation | undefined;
  readonly traceHash: string;
  readonly traceTail: readonly string[];
  readonly met: Meetings;
  readonly counts: { readonly deliveries: number; readonly rows: number };
}

export async function runSimulation({ seed, products }: SimulationOptions): Promise<SimulationReport> {
  const settings = settingsOf(seed);
  const world = createWorld(settings, { sdk, receiverKit, ...products });
  const { clock, trace } = world;
  const receivers = createReceivers(world);
  await using mock = await createMock(world, receivers);
  receivers.setWorkspace(mock.workspaceId);
  const apiKey = await mock.control.createApiKey({ expiresInDays: 30 });
  await clock.advance(Math.max(0, keyLifetimeMs - settings.keyLeftMs));
  await mock.control.setFaults(faultPlanOf(settings.probabilities));
  const service = createService(world, mock, apiKey);
  const operator = createOperator(world, service, receivers);
  const run: SimulationRun = { world, service, receivers, operator, random: world.random.stream("actions") };
  const inboxChecks = createInboxChecks(world, service, receivers);

  receivers.restart();
  void operator.register();
  let steps = 0;
  const step = async (name: string, act: () => unknown) => {
    steps += 1;
    trace.log(`step ${steps}: ${name}`);
    await act();
    for (const process of service.sdkProcesses) process.checkPending();
    await inboxChecks.run();
  };
  const timing = world.random.stream("step timing");
  while (steps < settings.steps && !world.violation) {
    const action = pickAction(timing.number());
    await step(action.name, async () => {
      await action.run(run);
      await injectStepFaults(run, steps);
      sendAsOtherTenant(run);
      await maybeSetStoreClock(run);
      await maybeSendSkewedEvent(run);
      await clock.advance(timing.pick(pausesMs));
    });
  }
  for (const part of quiesceParts) {
    if (!world.violation) await step("quiesce", () => part(run));
  }
  if (!world.violation) await checkFinalState(run, inboxChecks);
  const rows = await receivers.store.list({ limit: 100_000 });
  return {
    seed,
    steps,
    violation: world.violation,
    met: world.met,
    traceHash: trace.hash,
    traceTail: [...trace.tail],
    counts: { deliveries: service.eventIds.size, rows: rows.length },
  };
}

const keyLifetimeMs = 30 * 86_400_000;
const pausesMs = [
  0, 0, 1, 40, 1_000, 1_000, 5_000, 5_000, 20_000, 20_000, 60_000, 300_000, 1_800_000,
] as const;
/** Fewer attempts and shorter waits than the default, so that hours of simulated time are enough. */
const scheduleMs = [0, 5_000, 60_000, 300_000, 1_200_000, 3_600_000];

async function createMock({ settings, clock }: SimulationWorld, { network }: Receivers): Promise<MockServer> {
  // Without `track`, time does not wait for deliveries: they may be slow, overlap their retries, and time out.
  const { track: _, ...untracked } = clock;
  return createMockServer({
    listen: false,
    clock: untracked,
    seed: settings.seed,
    settings: {
      rateLimit: { requests: settings.requestsPerWindow, window: settings.window },
      unauthenticatedStatus: settings.unauthenticatedStatus,
      delivery: { scheduleMs },
      tasks: { typesWithEvents: taskTypes },
    },
    receivers: new Map([
      [receiverUrl, (request: Request) => network.deliver(request)],
      [elsewhereUrl, () => Promise.resolve(new Response(null, { status: 204 }))],
    ]),
  });
}

/** The action at a point between 0 and 1 of all weights. */
function pickAction(point: number) {
  const total = actions.reduce((sum, { weight }) => sum + weight, 0);
  let left = point * total;
  const picked = actions.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  return picked ?? actions[0]!;
}
