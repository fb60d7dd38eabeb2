import type { AttemptRecord } from "../../state/records.ts";
import { isoTime, isoTimeOrNull } from "../../time/iso-time.ts";
import type { World } from "../../world/world.ts";
import type { Overview } from "./mock-routes.ts";

const recentMax = 20;
const hourMs = 3_600_000;

interface Counts {
  attempts: number;
  succeeded: number;
  lastSuccessMs: number | null;
  failingSinceMs: number | null;
  /** In the order of the deliveries; more than are shown. */
  recent: AttemptRecord[];
}

/** How each endpoint has responded to the attempts that the mock still has, replays included. */
export function healthOf(world: World): Pick<Overview, "health" | "failedAttemptsLastHour"> {
  const hourAgoMs = world.clock.now() - hourMs;
  const byEndpoint = new Map<string, Counts>();
  for (const { id } of world.state.endpoints.values())
    byEndpoint.set(id, { attempts: 0, succeeded: 0, lastSuccessMs: null, failingSinceMs: null, recent: [] });
  let failedAttemptsLastHour = 0;
  for (const { endpointId, attempts } of world.state.deliveries.values()) {
    const counts = byEndpoint.get(endpointId);
    for (const attempt of attempts) {
      if (attempt.error !== null && attempt.startedAtMs >= hourAgoMs) failedAttemptsLastHour++;
      if (counts) count(counts, attempt);
    }
  }
  findFirstFailures(world, byEndpoint);
  const health = [...byEndpoint].map(([endpointId, counts]) => ({
    endpointId,
    attempts: counts.attempts,
    succeeded: counts.succeeded,
    lastSuccessAt: isoTimeOrNull(counts.lastSuccessMs),
    failingSince: isoTimeOrNull(counts.failingSinceMs),
    recent: newest(counts.recent).map(({ startedAtMs, status, error }) => ({
      at: isoTime(startedAtMs),
      status,
      error,
    })),
  }));
  return { health, failedAttemptsLastHour };
}

function count(counts: Counts, attempt: AttemptRecord): void {
  const { startedAtMs, error } = attempt;
  counts.attempts++;
  if (error === null) {
    counts.succeeded++;
    counts.lastSuccessMs = Math.max(counts.lastSuccessMs ?? startedAtMs, startedAtMs);
  }
  counts.recent.push(attempt);
  // A list of all attempts would be sorted with each reading.
  if (counts.recent.length > 10 * recentMax) counts.recent = newest(counts.recent);
}

const newest = (attempts: readonly AttemptRecord[]) =>
  [...attempts].sort((a, b) => a.startedAtMs - b.startedAtMs).slice(-recentMax);

/** Of each endpoint, the first failed attempt after the last one that succeeded. */
function findFirstFailures(world: World, byEndpoint: ReadonlyMap<string, Counts>): void {
  for (const { endpointId, attempts } of world.state.deliveries.values()) {
    const counts = byEndpoint.get(endpointId);
    if (!counts) continue;
    const { lastSuccessMs } = counts;
    for (const { error, startedAtMs } of attempts)
      if (error !== null && (lastSuccessMs === null || startedAtMs > lastSuccessMs))
        counts.failingSinceMs = Math.min(counts.failingSinceMs ?? startedAtMs, startedAtMs);
  }
}
