import type { DeliverySummary } from "@workspace-tasks/mock-server/control";
import { useNowMs } from "@workspace-tasks/page-parts/state.ts";
import * as parts from "@workspace-tasks/page-parts/status.tsx";
import { formatDuration } from "@workspace-tasks/page-parts/text.ts";
import { labelOfEndpoint, reasonOfFailure } from "../text/endpoint-labels.ts";

const statuses: parts.StatusTexts = {
  RUNNING: { tone: "run" },
  COMPLETED: { tone: "good" },
  FAILED: { tone: "bad" },
  succeeded: { tone: "good" },
  limited: { tone: "wait" },
  rejected: { tone: "bad" },
  faulty: { tone: "run" },
  healthy: { tone: "good" },
  unstable: { tone: "wait" },
  failing: { tone: "bad" },
  paused: { tone: "wait" },
  current: { tone: "good" },
  grace: { tone: "wait" },
  expired: { tone: "bad" },
  duplicate: { tone: "wait" },
  replay: { tone: "run" },
};

/** Those of deliveries, in the words of the page; the help lists them. */
export const deliveryStatuses: parts.StatusTexts = {
  succeeded: { tone: "good", label: "delivered", about: "the receiver responded with 2xx" },
  rejected: { tone: "bad", label: "rejected", about: "the last response was not 2xx; it is tried again" },
  unanswered: {
    tone: "bad",
    label: "no response",
    about: "the last attempt was refused, cut or too slow; it is tried again",
  },
  pending: { tone: "wait", label: "waiting", about: "no attempt has ended yet" },
  paused: { tone: "wait", label: "paused", about: "its endpoint is paused" },
  failed: { tone: "bad", label: "gave up", about: "no attempt of the schedule was accepted" },
  cancelled: { tone: "calm", label: "cancelled", about: "its endpoint was deleted" },
};

export const toneOf = (status: string) => (statuses[status] ?? deliveryStatuses[status])?.tone ?? "calm";

type BadgeProps = Partial<Parameters<typeof parts.StatusBadge>[0]> & { readonly status: string };

/** A status of the mock in its colour. */
export const StatusBadge = ({ status, tone, of = statuses }: BadgeProps) => (
  <parts.StatusBadge status={status} of={of} tone={tone ?? toneOf(status)} />
);

/** A delivery that its receiver did not accept, and that is tried again, is `rejected`, or had `no response`. */
const stateOf = ({ status, rejected, lastStatus }: DeliverySummary): string =>
  rejected && status === "pending" ? (lastStatus === null ? "unanswered" : "rejected") : status;

export const DeliveryBadge = ({ delivery }: { readonly delivery: DeliverySummary }) => (
  <StatusBadge
    of={deliveryStatuses}
    status={stateOf(delivery)}
    tone={delivery.rejected ? "bad" : undefined}
  />
);

export const EndpointName = ({ url }: { readonly url: string | null }) => (
  <span class="endpoint-name" title={url ?? undefined}>
    {labelOfEndpoint(url)}
  </span>
);

/** `500`, `no response`, or nothing before the first attempt. */
export function LastResponse({ delivery }: { readonly delivery: DeliverySummary }) {
  const { attemptCount, lastStatus, lastError } = delivery;
  if (attemptCount === 0) return <span class="muted">–</span>;
  return (
    <span class={lastError === null ? "muted" : "toned tone-bad"} title={lastError ?? undefined}>
      {lastStatus ?? "–"}
    </span>
  );
}

/** `401 → host/hooks` in the colour of the outcome. */
export const Outcome = ({ status, error, url }: OutcomeProps) => (
  <span class={`toned tone-${error === null ? "good" : "bad"}`} title={error ?? undefined}>
    {status ?? reasonOfFailure(error)} → {labelOfEndpoint(url, 32)}
  </span>
);

interface OutcomeProps {
  readonly status: number | null;
  readonly error: string | null;
  readonly url: string | null;
}

interface Due {
  readonly state: NonNullable<DeliverySummary["due"]> | "scheduled";
  readonly at: string | null;
  readonly url: string | null;
}

/** `in 5 s`, or what a due attempt does: it is never in the past. */
export function describeDue({ state, at, url }: Due, nowMs: number): string {
  const untilMs = at === null ? 0 : Date.parse(at) - nowMs;
  if (state === "running") return `runs for ${formatDuration(Math.max(0, -untilMs))}`;
  if (state === "waits for a connection") return `waits for a free connection to ${labelOfEndpoint(url, 32)}`;
  if (state === "waits for an event") return "waits for the event before it";
  return untilMs < 500 ? "now" : `in ${formatDuration(untilMs)}`;
}

/** When the next attempt is made; `null` when none will be. */
export function describeNext(delivery: DeliverySummary, nowMs: number): string | null {
  const { status, due, runningSince, nextAttemptAt, nextTry, url } = delivery;
  if (nextTry === null) return null;
  if (status === "paused") return "waits until its endpoint resumes";
  return describeDue({ state: due ?? "scheduled", at: runningSince ?? nextAttemptAt, url }, nowMs);
}

/** `2/8 · 5 s`: the number of the next attempt, and when it is made. */
export function NextAttempt({ delivery }: { readonly delivery: DeliverySummary }) {
  const next = describeNext(delivery, useNowMs());
  if (next === null) return null;
  const words = next.replace(/^in /, "").replace(/^waits .*/, "waits");
  return (
    <span class="muted" title={`attempt ${delivery.nextTry} of ${delivery.triesMax} ${next}`}>
      {delivery.nextTry}/{delivery.triesMax} · {words}
    </span>
  );
}

/** Whether what is due has to be read again: no activity says that an attempt starts. */
export const isDue = ({ due, nextAttemptAt }: DeliverySummary, nowMs: number): boolean =>
  due === null && nextAttemptAt !== null && Date.parse(nextAttemptAt) <= nowMs;
