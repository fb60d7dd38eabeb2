import { createMockServer, createVirtualClock, type MockServer } from "workspace-tasks/mock-server";
import * as receiverKit from "workspace-tasks/receiver-kit";
import * as sdk from "workspace-tasks/sdk";
import { actors, type Stage } from "./actors.ts";
import { createChance } from "./chance.ts";
import { comeToRest, judgeRest } from "./coming-to-rest.ts";
import { type CrashCounts, noCrashes } from "./crashes.ts";
import { faultPlanOf } from "./faults.ts";
import { createInboxWatch } from "./inbox-watch.ts";
import { createJudge, type Violation } from "./invariants.ts";
import { createOperator, elsewhereUrl, receiverUrl } from "./operator.ts";
import { createReceiverSide, type ReceiverSide } from "./receiver-side.ts";
import type { Products, Scene } from "./scene.ts";
import { createServiceSide } from "./service-side.ts";
import { type SimulationSettings, settingsOf } from "./settings.ts";
import { createTrace } from "./trace.ts";

// The SDK, the mock and receivers in one process, under one virtual clock and one seed. The seed decides who acts when,
// what fails, who crashes where and how long everything takes; so a run that finds something can be had again. After
// each step the invariants must hold, and when everything has come to rest the receiver must know what the service
// knows.

export type SimulationOptions = {
  readonly seed: number;
  /** What is simulated. Default: the products as they are. */
  readonly products?: Partial<Products>;
};

export type SimulationReport = {
  readonly seed: number;
  /** Steps taken; the last one is the failing one. */
  readonly steps: number;
  readonly violation: Violation | undefined;
  readonly traceHash: string;
  readonly traceTail: readonly string[];
  readonly crashes: CrashCounts;
  /** What there was to go wrong. */
  readonly counts: { readonly deliveries: number; readonly rows: number; readonly calls: number };
};

export async function runSimulation({ seed, products = {} }: SimulationOptions): Promise<SimulationReport> {
  const settings = settingsOf(seed);
  const scene = createScene(settings, { sdk, receiverKit, ...products });
  const { clock, trace, judge, chance } = scene;
  const site = createReceiverSide(scene);
  await using mock = await createMock(scene, site);
  const apiKey = mock.admin.createApiKey({ expiresInDays: 30 });
  await clock.advance(Math.max(0, keyLifeMs - settings.keyLeftMs));
  mock.admin.setFaults(faultPlanOf(settings));
  const service = createServiceSide(scene, mock, apiKey);
  const operator = createOperator(scene, service, site);
  const stage: Stage = { scene, service, site, operator, chance: chance.stream("actors") };
  const watch = createInboxWatch(scene, service, site);
  const check = async () => {
    for (const process of service.sdk()) process.check();
    await watch.check();
  };

  site.restart();
  void operator.register();
  let steps = 0;
  const pace = chance.stream("pace");
  while (steps < settings.steps && !judge.violation) {
    steps += 1;
    const actor = pickActor(pace.number());
    trace.note(`step ${steps}: ${actor.name}`);
    actor.act(stage);
    await clock.advance(pace.pick(pausesMs));
    await check();
  }
  while (!judge.violation && steps < settings.steps + restSteps) {
    steps += 1;
    trace.note(`step ${steps}: coming to rest`);
    await comeToRest(stage, steps - settings.steps);
    await check();
    if (steps === settings.steps + restSteps) await judgeRest(stage, watch);
  }
  return {
    ...{ seed, steps, violation: judge.violation, crashes: scene.crashes },
    traceHash: trace.hash,
    traceTail: [...trace.tail],
    counts: {
      deliveries: service.issued.size,
      rows: (await site.store.list({ limit: 100_000 })).length,
      calls: mock.admin.requests({ limit: 1_000 }).data.length,
    },
  };
}

const keyLifeMs = 30 * 86_400_000;
const pausesMs = [0, 0, 1, 40, 1_000, 1_000, 5_000, 5_000, 20_000, 20_000, 60_000, 300_000, 1_800_000];
const restSteps = 4;
/** Fewer attempts and shorter waits than the service's own, so that hours of simulated time are enough. */
const scheduleMs = [0, 5_000, 60_000, 300_000, 1_200_000, 3_600_000];

function createScene(settings: SimulationSettings, products: Products): Scene {
  const clock = createVirtualClock();
  const trace = createTrace(clock.now);
  let fair = false;
  return {
    ...{ settings, products, clock, trace },
    chance: createChance(settings.seed),
    judge: createJudge(trace.note),
    crashes: noCrashes(),
    troubled: (trouble, chance) => chance.happens(settings.probabilities[trouble]) && !fair,
    clearWeather() {
      fair = true;
    },
  };
}

async function createMock({ settings, clock }: Scene, site: ReceiverSide): Promise<MockServer> {
  // Without `track` time does not wait for deliveries: they may take long, overlap their retries, and time out.
  const { track: _, ...untracked } = clock;
  return createMockServer({
    listen: false,
    clock: untracked,
    seed: settings.seed,
    settings: {
      rateLimit: { requests: settings.requestsPerWindow, window: settings.window },
      unauthenticatedStatus: settings.unauthenticatedStatus,
      delivery: { scheduleMs },
    },
    receivers: new Map([
      [receiverUrl, (request: Request) => site.road.deliver(request)],
      [elsewhereUrl, () => Promise.resolve(new Response(null, { status: 204 }))],
    ]),
  });
}

function pickActor(draw: number) {
  const total = actors.reduce((sum, { weight }) => sum + weight, 0);
  let left = draw * total;
  const picked = actors.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  return picked ?? actors[0]!;
}
