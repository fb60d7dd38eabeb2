// What one comparison of the rate limiter consists of: the limit, who calls when, how long requests and responses take,
// and what is lost.

import { createRandom, type Random } from "../../integration/simulation/random.ts";
import type { Limit } from "../../support/limited-service.ts";

export interface PlannedCall {
  readonly atMs: number;
  readonly priority: "interactive" | "normal" | "background";
  readonly forwardMs: number;
  readonly backwardMs: number;
  /** Lost before or after it reaches the service, given up on its way there, or never sent; then there is no response. */
  readonly lost?: "request" | "response" | "aborted" | "unsent" | undefined;
}

export interface LimiterScenario extends Limit {
  readonly seed: number;
  readonly timeoutMs: number;
  readonly calls: readonly PlannedCall[];
}

export function generateScenario(seed: number): LimiterScenario {
  const random = createRandom(seed, "limiter");
  const limit = random.pick([1, 2, 3, 5, 8, 12, 20]);
  const windowMs = random.pick([1_000, 5_000, 60_000]);
  const window = random.pick(["sliding", "fixed"]);
  const windowOffsetMs = Math.floor(random.number() * windowMs);
  const timeoutMs = windowMs / random.pick([2, 4]);
  const isLossy = random.happens(0.3);
  const aborts = random.stream("aborts");
  const isAborted = !isLossy && aborts.happens(0.3);
  const hasPriorities = random.happens(0.3);
  const windows = random.integer(2, 7);
  const priorities = random.stream("priorities");
  const losses = random.stream("losses");
  const leg = legs(random.stream("legs"), timeoutMs);
  const arrivesAtMs = arrivals(random.stream("arrivals"), limit * windows, limit, windowMs);
  const calls = arrivesAtMs.map((atMs, index): PlannedCall => {
    const priority = priorities.pick(["interactive", "normal", "background"]);
    const drawn = losses.pick([undefined, undefined, undefined, "request", "response", "unsent"] as const);
    // The first responses show how long a request may take.
    const aborted = isAborted && aborts.happens(0.3) && index >= limit ? "aborted" : undefined;
    return {
      ...{ atMs, ...leg(), priority: hasPriorities ? priority : "normal" },
      lost: isLossy ? drawn : aborted,
    };
  });
  return { seed, limit, windowMs, window, windowOffsetMs, timeoutMs, calls };
}

/** Latency of one call after another: constant, jittery, or mostly short. Some paths are slow in one direction only. */
function legs(random: Random, longestMs: number) {
  const roundTripMs = 1 + Math.floor((longestMs / 3) * random.number() ** 3);
  const forwardPart = random.pick([0, 0.5, 0.5, 1]);
  const kind = random.pick(["constant", "jittery", "tail"]);
  const jitter = kind === "constant" ? 0 : random.number();
  const vary = () => {
    const factor = 1 - jitter + 2 * jitter * random.number();
    return kind === "tail" && random.happens(0.1) ? factor * 1.4 : factor;
  };
  return () => ({
    forwardMs: roundTripMs * forwardPart * vary(),
    backwardMs: roundTripMs * (1 - forwardPart) * vary(),
  });
}

function arrivals(random: Random, count: number, limit: number, windowMs: number): readonly number[] {
  const kind = random.pick(["burst", "stream", "bursts"]);
  const meanMs = windowMs / (limit * (0.3 + 3 * random.number()));
  const pauseMs = windowMs * (0.2 + 2 * random.number());
  let nowMs = 0;
  return Array.from({ length: count }, (_, index) => {
    const isPaused = kind === "bursts" && index > 0 && index % (2 * limit) === 0;
    if (kind === "stream") nowMs += meanMs * -Math.log(1 - random.number());
    if (isPaused) nowMs += pauseMs;
    return nowMs;
  });
}
