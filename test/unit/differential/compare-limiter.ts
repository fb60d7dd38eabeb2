import { createVirtualClock } from "../../../mock-server/time/virtual-clock.ts";
import { CallScope } from "../../../sdk/call/call-scope.ts";
import { type Permit, RateLimiter } from "../../../sdk/rate-limit/rate-limiter.ts";
import { createRandom } from "../../integration/simulation/random.ts";
import { busiest, earliestArrivals, LimitedService } from "../../support/limited-service.ts";
import type { DifferentialPart } from "./differential-part.ts";
import { generateScenario, type LimiterScenario, type PlannedCall } from "./limiter-scenario.ts";

export interface LimiterRun {
  /** When each request reached the service, accepted or not, or would have if it had not been lost. */
  readonly arrivedAtMs: readonly number[];
  readonly acceptedAtMs: readonly number[];
  readonly rejected: number;
  readonly unfinished: number;
}

/** Which limiter is compared: tests compare a broken one. */
export type CreateLimiter = (
  ...parameters: ConstructorParameters<typeof RateLimiter>
) => Pick<RateLimiter, "enter" | "acquire">;

const createRateLimiter: CreateLimiter = (...parameters) => new RateLimiter(...parameters);

/** The limiter of one key before the service, in virtual time. */
export async function runScenario(
  scenario: LimiterScenario,
  create = createRateLimiter,
): Promise<LimiterRun> {
  const { limit, windowMs, timeoutMs, calls, seed } = scenario;
  const clock = createVirtualClock();
  const service = new LimitedService(scenario);
  const limiter = create(
    { limit, windowMs },
    { clock, random: createRandom(seed, "jitter").number, redactCause: () => undefined },
  );
  const scope = new CallScope(clock);
  const arrivedAtMs: number[] = [];
  let rejected = 0;
  let unfinished = calls.length;

  async function call(planned: PlannedCall): Promise<void> {
    const entry = limiter.enter(planned.priority);
    for (;;) {
      const permit = await limiter.acquire(entry, Number.POSITIVE_INFINITY, scope);
      const retryAfterMs = await send(planned, permit);
      if (retryAfterMs === undefined) break;
      permit.rejected(retryAfterMs);
      entry.rejections += 1;
    }
    unfinished -= 1;
  }

  const pass = (ms: number) => new Promise<void>((resolve) => void clock.schedule(ms, resolve));

  /** Returns the Retry-After of a rejection. */
  async function send(
    { forwardMs, backwardMs, lost }: PlannedCall,
    permit: Permit,
  ): Promise<number | undefined> {
    if (lost === "unsent") {
      permit.unused();
      return undefined;
    }
    if (lost === "aborted") permit.noResponse();
    await pass(forwardMs);
    arrivedAtMs.push(clock.monotonic());
    const waitMs = lost === "request" ? undefined : service.receive(clock.monotonic());
    if (waitMs !== undefined) rejected += 1;
    if (lost === "aborted") return undefined;
    await pass(lost ? timeoutMs - forwardMs : backwardMs);
    if (lost) permit.noResponse();
    else if (waitMs !== undefined) return Math.max(1, Math.ceil(waitMs / 1_000)) * 1_000;
    else permit.responded(clock.monotonic());
    return undefined;
  }

  for (const planned of calls) clock.schedule(planned.atMs, () => void call(planned));
  await clock.advance((calls.at(-1)?.atMs ?? 0) + windowMs * (40 + (8 * calls.length) / limit));
  return { arrivedAtMs, acceptedAtMs: service.acceptedAtMs, rejected, unfinished };
}

// Of SlidingWindow: a slot is free this much later than one window after the response; and a timer may be a millisecond late.
const marginMs = 25 + 1;
/** A request that is given up may arrive this long after its start. */
const onTheWayMs = 5_000;

/** How much later than the earliest possible time the n-th request may arrive (n counts from 0). */
function lateMsMax({ calls, limit, windowMs, timeoutMs }: LimiterScenario): (index: number) => number {
  const forward = calls.map(({ forwardMs }) => forwardMs);
  const roundTrips = calls.map(({ forwardMs, backwardMs, lost }) =>
    lost ? Math.max(timeoutMs, onTheWayMs) : forwardMs + backwardMs,
  );
  const roundTripMs = Math.max(...roundTrips);
  const spreadMs = Math.max(...forward) - Math.min(...forward);
  // At its start the limiter sends a request after each two responses, or as fast as the limit lasts.
  const startingMs = limit * Math.min(roundTripMs, windowMs / limit);
  return (index) => spreadMs + startingMs + Math.floor(index / limit) * (marginMs + roundTripMs);
}

/** Whether a request that is given up can arrive later than the limiter supposes. */
function canBeLate({ calls }: LimiterScenario): boolean {
  return calls.some(({ lost, forwardMs }) => lost === "aborted" && forwardMs > onTheWayMs);
}

async function compareScenario(
  scenario: LimiterScenario,
  create?: CreateLimiter,
): Promise<string | undefined> {
  const run = await runScenario(scenario, create);
  const { limit, calls, windowMs } = scenario;
  if (run.unfinished > 0) return `${run.unfinished} calls were never sent`;
  if (busiest(run.acceptedAtMs, scenario) > limit) return "the service accepted more than its limit";
  const isLate = canBeLate(scenario);
  if (run.rejected > (isLate ? 2 * limit : 0)) return `${run.rejected} requests were rejected with 429`;
  if (!isLate && busiest(run.acceptedAtMs, { ...scenario, window: "sliding" }) > limit) {
    return "some span of one window has more requests than the limit";
  }
  if (run.rejected > 0) return undefined;
  const sent = calls.filter(({ lost }) => lost !== "unsent");
  // Permits that were not used block a slot for no time.
  const earliest = earliestArrivals(
    sent.map(({ atMs, forwardMs }) => atMs + forwardMs),
    { ...scenario, windowMs },
  );
  const allowedMs = lateMsMax(scenario);
  const arrived = run.arrivedAtMs.toSorted((a, b) => a - b);
  const late = arrived.findIndex((atMs, index) => atMs > (earliest[index] ?? 0) + allowedMs(index) + 1e-6);
  if (late < 0) return undefined;
  return `request ${late} arrived at ${arrived[late]}, the earliest possible time is ${earliest[late]}, and ${allowedMs(late)} ms are allowed`;
}

export const createLimiterPart = (create?: CreateLimiter): DifferentialPart => ({
  what: "scenarios of the rate limit",
  async runOne(seed) {
    const scenario = generateScenario(seed);
    const problem = await compareScenario(scenario, create).catch(String);
    return problem === undefined ? undefined : `${problem}\nscenario ${JSON.stringify(scenario)}`;
  },
});
