// All parameters of a run, drawn from its seed. Each seed sets about half of the fault probabilities to 0 and makes the
// other faults rare or frequent: a run in which everything fails at once hides bugs that only a pair of faults shows.

import { type Fault, maxProbabilities, maxStepProbabilities } from "./faults.ts";
import { createRandom } from "./random.ts";

export interface SimulationSettings {
  readonly seed: number;
  readonly steps: number;
  readonly sdkProcesses: number;
  readonly receiverProcesses: number;
  /** Size of the rate limit. Small, so that few calls reach it. */
  readonly requestsPerWindow: number;
  readonly window: "sliding" | "fixed";
  readonly unauthenticatedStatus: 200 | 401;
  readonly keyOrder: "latest" | "strict";
  /** Latency to the service and back, each. */
  readonly latencyMs: number;
  /** Remaining lifetime of the first API key when the run starts. */
  readonly keyLeftMs: number;
  /** Whether another client sends requests with the same API key. */
  readonly otherClient: boolean;
  /** Whether SDK processes are replaced. A new process does not know what the old one sent. */
  readonly sdkRestarts: boolean;
  /** Whether the receivers serve another tenant too, who has a signing secret and attacks. */
  readonly tenants: boolean;
  /** Whether the clock of the store is set while the receivers run. */
  readonly storeClockIsSet: boolean;
  /** Whether the receivers handle events in batches. */
  readonly batches: boolean;
  /** Whether events and the tasks API have wrong times. */
  readonly wrongTimes: boolean;
  readonly probabilities: Readonly<Record<Fault, number>>;
}

export function settingsOf(seed: number): SimulationSettings {
  const random = createRandom(seed, "settings");
  // Of its own, so that the other settings of a seed stay as they were.
  const tenantRandom = createRandom(seed, "tenants");
  const timeRandom = createRandom(seed, "times");
  const noApiFaults = random.happens(0.4);
  const probabilities = Object.fromEntries(
    maxProbabilities.map(([fault, max]) => {
      const probability = random.happens(0.5) ? max * random.number() : 0;
      return [fault, noApiFaults && fault.startsWith("api") ? 0 : probability];
    }),
  ) as Record<Fault, number>;
  const stepRandom = createRandom(seed, "step faults");
  for (const [fault, max] of maxStepProbabilities) {
    probabilities[fault] = stepRandom.happens(0.4) ? max * stepRandom.number() : 0;
  }
  const silenceRandom = createRandom(seed, "silence");
  probabilities.inboxSilent = silenceRandom.happens(0.5) ? 0.04 * silenceRandom.number() : 0;
  probabilities.secretsUnavailable = tenantRandom.happens(0.5) ? 0.15 * tenantRandom.number() : 0;
  const wrongTimes = timeRandom.happens(0.4);
  probabilities.wrongTime = wrongTimes ? 0.3 : 0;
  const storeClockIsSet = timeRandom.happens(0.4);
  // Leases are at stake only while events are being handled.
  if (storeClockIsSet) probabilities.handlerSlow = 0.4;
  return {
    seed,
    steps: random.integer(30, 70),
    sdkProcesses: random.pick([1, 1, 2]),
    receiverProcesses: random.pick([1, 2, 2]),
    requestsPerWindow: random.pick([5, 10, 20]),
    window: random.pick(["sliding", "fixed"]),
    unauthenticatedStatus: random.pick([200, 401]),
    keyOrder: random.pick(["latest", "latest", "strict"]),
    latencyMs: random.pick([0, 5, 60, 400]),
    keyLeftMs: random.pick([600_000, 7_200_000, 40 * 86_400_000]),
    otherClient: !noApiFaults && random.happens(0.3),
    sdkRestarts: random.happens(0.5),
    tenants: tenantRandom.happens(0.5),
    storeClockIsSet,
    batches: createRandom(seed, "batches").happens(0.3),
    wrongTimes,
    probabilities,
  };
}

/**
 * Whether the SDK must never receive a 429: one process uses the key alone, and no response takes longer than the
 * limiter assumes.
 */
export function mustAvoid429(settings: SimulationSettings): boolean {
  const { sdkProcesses, otherClient, sdkRestarts, probabilities } = settings;
  if (sdkProcesses > 1 || otherClient || sdkRestarts) return false;
  const { apiDelay, apiStall, apiBurnQuota, apiStatus } = probabilities;
  return apiDelay + apiStall + apiBurnQuota + apiStatus === 0;
}
