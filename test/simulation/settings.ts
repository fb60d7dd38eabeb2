import { createChance } from "./chance.ts";

// Every number of a simulation in one place, drawn from its seed. Each seed leaves about half of the troubles out and
// makes the others rare or frequent: a run in which everything fails at once hides what a run with two faults shows.

/** Named probabilities, each with the highest value that a seed gives it. */
const troubles = {
  // One call of the SDK.
  apiStatus: 0.15,
  apiGraphqlError: 0.05,
  apiCutBefore: 0.1,
  apiCutAfter: 0.15,
  apiTruncated: 0.08,
  apiHtml: 0.08,
  apiStalled: 0.05,
  apiDelayed: 0.15,
  apiTokenExpired: 0.08,
  apiQuotaBurnt: 0.03,
  // One attempt of a delivery, on the side of the service.
  deliveryDuplicated: 0.3,
  deliveryReordered: 0.3,
  deliveryDelayed: 0.25,
  deliveryDropped: 0.2,
  deliveryForeignSecret: 0.05,
  deliveryStale: 0.05,
  deliveryOldSecret: 0.1,
  deliveryAltered: 0.05,
  deliveryRedirected: 0.05,
  // One delivery on the network.
  bytesChanged: 0.15,
  answerLost: 0.15,
  // One call of the inbox.
  inboxDown: 0.05,
  inboxOutcomeUnknown: 0.05,
  inboxSlow: 0.1,
  // One passage of a crash point.
  crash: 0.03,
  stall: 0.03,
  // One event in the handlers.
  handlerFails: 0.2,
  handlerGivesUp: 0.05,
  handlerSlow: 0.3,
} as const;

export type Trouble = keyof typeof troubles;

export type SimulationSettings = {
  readonly seed: number;
  readonly steps: number;
  readonly sdkProcesses: number;
  readonly receiverProcesses: number;
  /** Size of the allowance; small, so that few calls use it up. */
  readonly requestsPerWindow: number;
  readonly window: "sliding" | "fixed";
  readonly unauthenticatedStatus: 200 | 401;
  readonly keyOrder: "latest" | "strict";
  /** Time to the service and back again, each. */
  readonly latencyMs: number;
  /** How long the first API key still lives when the run begins. */
  readonly keyLeftMs: number;
  /** Whether another user of the key draws on its allowance. */
  readonly rival: boolean;
  /** Whether SDK processes are replaced; a new one does not know what the old one sent. */
  readonly sdkRestarts: boolean;
  readonly probabilities: Readonly<Record<Trouble, number>>;
};

export function settingsOf(seed: number): SimulationSettings {
  const chance = createChance(seed, "settings");
  const calmApi = chance.happens(0.4);
  const probabilities = Object.fromEntries(
    Object.entries(troubles).map(([name, most]) => {
      const drawn = chance.happens(0.5) ? most * chance.number() : 0;
      return [name, calmApi && name.startsWith("api") ? 0 : drawn];
    }),
  ) as Record<Trouble, number>;
  return {
    seed,
    steps: chance.integer(30, 70),
    sdkProcesses: chance.pick([1, 1, 2]),
    receiverProcesses: chance.pick([1, 2, 2]),
    requestsPerWindow: chance.pick([5, 10, 20]),
    window: chance.pick(["sliding", "fixed"]),
    unauthenticatedStatus: chance.pick([200, 401]),
    keyOrder: chance.pick(["latest", "latest", "strict"]),
    latencyMs: chance.pick([0, 5, 60, 400]),
    keyLeftMs: chance.pick([600_000, 7_200_000, 40 * 86_400_000]),
    rival: !calmApi && chance.happens(0.3),
    sdkRestarts: chance.happens(0.5),
    probabilities,
  };
}

/**
 * Whether a refusal for the rate limit would be the SDK's own fault: it alone uses the key, and answers take no longer
 * than at the fastest, which the limiter relies on.
 */
export function isAllowanceItsOwn(settings: SimulationSettings): boolean {
  const { sdkProcesses, rival, sdkRestarts } = settings;
  const { apiDelayed, apiStalled, apiQuotaBurnt, apiStatus } = settings.probabilities;
  if (sdkProcesses > 1 || rival || sdkRestarts) return false;
  return apiDelayed + apiStalled + apiQuotaBurnt + apiStatus === 0;
}
