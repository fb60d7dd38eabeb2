import type { Overview } from "@workspace-tasks/mock-server/control";
import { formatRelative, formatTimeNear } from "@workspace-tasks/page-parts/text.ts";
import { reasonOfFailure } from "../text/endpoint-labels.ts";

export type Health = Overview["health"][number];

const bars = 20;

/** The last twenty attempts, the newest at the right: full and green, or half and red. */
export function HealthStrip({ recent }: Pick<Health, "recent">) {
  const accepted = recent.filter(({ error }) => error === null).length;
  const label =
    recent.length === 0 ? "no attempt yet" : `${accepted} of the last ${recent.length} attempts accepted`;
  return (
    <svg class="health-strip" viewBox={`0 0 ${bars * 5} 16`} role="img" aria-label={label}>
      {Array.from({ length: bars }, (_, index) => {
        const attempt = recent[index - (bars - recent.length)];
        const isGood = attempt?.error === null;
        const height = isGood || !attempt ? 16 : 9;
        return (
          <rect
            key={`${index}`}
            class={attempt && `tone-${isGood ? "good" : "bad"}`}
            x={index * 5}
            y={16 - height}
            width="4"
            height={height}
          >
            {attempt && <title>{`${attempt.at} ${attempt.status ?? reasonOfFailure(attempt.error)}`}</title>}
          </rect>
        );
      })}
    </svg>
  );
}

/** An endpoint that has accepted none of this many attempts fails, whatever was before. */
const failingMin = 5;

/** What its last attempts say about an endpoint. */
export function stateOfEndpoint(enabled: boolean, health: Health | undefined): string {
  if (!enabled) return "paused";
  const recent = health?.recent ?? [];
  if (recent.length === 0) return "unused";
  if (recent.every(({ error }) => error === null)) return "healthy";
  return recent.slice(-failingMin).some(({ error }) => error === null) ? "unstable" : "failing";
}

const urgencies = ["failing", "unstable", "healthy", "unused", "paused"];

/** Endpoints with their health: those that fail come first. */
export function byUrgency<Endpoint extends { readonly id: string; readonly enabled: boolean }>(
  endpoints: readonly Endpoint[],
  healths: readonly Health[],
): readonly { readonly endpoint: Endpoint; readonly health: Health | undefined }[] {
  const rows = endpoints.map((endpoint) => ({
    endpoint,
    health: healths.find(({ endpointId }) => endpointId === endpoint.id),
  }));
  const urgencyOf = ({ endpoint, health }: (typeof rows)[number]) =>
    urgencies.indexOf(stateOfEndpoint(endpoint.enabled, health));
  return rows.sort((a, b) => urgencyOf(a) - urgencyOf(b));
}

/** `67 %`, or nothing before the first attempt. */
export const successRate = (health: Health | undefined): string =>
  health && health.attempts > 0 ? `${Math.floor((health.succeeded / health.attempts) * 100)} %` : "–";

/** Since when it fails, or when it last succeeded. */
export function describeHealth(health: Health | undefined, nowMs: number): string {
  const { failingSince = null, lastSuccessAt = null, recent = [] } = health ?? {};
  const last = recent.at(-1);
  const success = lastSuccessAt && `last success ${formatRelative(Date.parse(lastSuccessAt), nowMs)}`;
  if (failingSince === null) return success || "no attempt yet";
  const since = `${last?.status ?? reasonOfFailure(last?.error ?? null)} since ${formatTimeNear(failingSince, nowMs)}`;
  return success ? `${since}, ${success}` : `${since}, never a success`;
}
