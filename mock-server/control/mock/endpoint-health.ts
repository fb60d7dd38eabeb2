import type { AttemptRecord } from "../../state/records.ts";
import { isoTime, isoTimeOrNull } from "../../time/duration.ts";
import type { World } from "../../world/world.ts";
import type { Overview } from "./mock-routes.ts";

const recentMax = 20;
const hourMs = 3_600_000;

type Health = Overview["health"][number];

/** How each endpoint has responded to the attempts that the mock still has, replays included. */
export function healthOf({ state, clock }: World): Pick<Overview, "health" | "failedAttemptsLastHour"> {
  const hourAgoMs = clock.now() - hourMs;
  const byEndpoint = new Map<string, AttemptRecord[]>();
  for (const { id } of state.endpoints.values()) byEndpoint.set(id, []);
  let failedAttemptsLastHour = 0;
  for (const { endpointId, attempts } of state.deliveries.values()) {
    const ofEndpoint = byEndpoint.get(endpointId);
    for (const attempt of attempts) {
      ofEndpoint?.push(attempt);
      if (!isAccepted(attempt) && attempt.startedAtMs >= hourAgoMs) failedAttemptsLastHour++;
    }
  }
  const health = [...byEndpoint].map(([endpointId, attempts]) => ({ endpointId, ...summaryOf(attempts) }));
  return { health, failedAttemptsLastHour };
}

const isAccepted = ({ error }: AttemptRecord) => error === null;

function summaryOf(attempts: AttemptRecord[]): Omit<Health, "endpointId"> {
  attempts.sort((a, b) => a.startedAtMs - b.startedAtMs);
  const lastSuccess = attempts.findLastIndex(isAccepted);
  const timeOf = (attempt: AttemptRecord | undefined) => isoTimeOrNull(attempt?.startedAtMs ?? null);
  return {
    attempts: attempts.length,
    succeeded: attempts.filter(isAccepted).length,
    lastSuccessAt: timeOf(attempts[lastSuccess]),
    failingSince: timeOf(attempts[lastSuccess + 1]),
    recent: attempts.slice(-recentMax).map(({ startedAtMs, status, error }) => ({
      at: isoTime(startedAtMs),
      status,
      error,
    })),
  };
}
