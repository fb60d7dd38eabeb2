import type { DeliverySummary, Overview } from "@workspace-tasks/mock-server/control";
import { ActionButton, Actions, Notice, useTemporary } from "@workspace-tasks/page-parts/controls.tsx";
import { Histogram } from "@workspace-tasks/page-parts/histogram.tsx";
import type { Filter } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import {
  formatDuration,
  formatRelative,
  formatTimeNear,
  plural,
  sum,
} from "@workspace-tasks/page-parts/text.ts";
import * as parts from "@workspace-tasks/page-parts/values.tsx";
import { control } from "./mock.ts";
import { labelOfEndpoint, nameOfEndpoint, reasonOfFailure } from "./text.ts";

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

/** Where it has no room, its middle is cut: paths differ at their end. */
export function EndpointName({ url }: { readonly url: string | null }) {
  const name = nameOfEndpoint(url);
  const endAt = name.length - nameEndChars;
  return (
    <span class="endpoint-name" title={url ?? undefined}>
      <span>{name.slice(0, Math.max(0, endAt))}</span>
      <span>{name.slice(Math.max(0, endAt))}</span>
    </span>
  );
}

const nameEndChars = 10;

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

export type DeliveryQuery = NonNullable<Parameters<typeof control.countDeliveries>[0]>;
type RequestQuery = NonNullable<Parameters<typeof control.countRequests>[0]>;

interface Props<Query> {
  /** The query says what is counted. Default: everything. */
  readonly query?: Query;
  /** The filter is that of the list, which gets the range. */
  readonly filter?: Filter;
}

export const outcomes = { delivered: "good", rejected: "bad", waiting: "wait", cancelled: "calm" } as const;

/** Deliveries are counted by the time when they were created. */
export function DeliveryHistogram({ query = {}, ...props }: Props<DeliveryQuery>) {
  const read = () => control.countDeliveries(query);
  const counts = useResource(`deliveries ${JSON.stringify(query)}`, ["delivery", "clock"], read);
  return <Histogram view="deliveries" field="status" tones={outcomes} counts={counts} {...props} />;
}

export const results = { succeeded: "good", limited: "wait", rejected: "bad", faulty: "run" } as const;

export function RequestHistogram({ query = {}, ...props }: Props<RequestQuery>) {
  const read = () => control.countRequests(query);
  const counts = useResource(`requests ${JSON.stringify(query)}`, ["request"], read);
  return <Histogram view="requests" field="result" tones={results} counts={counts} {...props} />;
}

interface ReplayProps {
  readonly query: DeliveryQuery;
  /** What the button replays. */
  readonly label?: string;
}

/** The mock replays as many at once. */
const replayedMax = 10_000;

/** Replays what the filter matches, as far as it was rejected, whether or not the row is on this page. */
export function ReplayRejected({ query, label = "Replay rejected" }: ReplayProps) {
  const [run, setRun] = useTemporary<{ readonly started: number; readonly skipped: number }>(6_000);
  const rejected = { ...query, rejected: true };
  const read = () => control.countDeliveries(rejected);
  const counts = useResource(`rejected ${JSON.stringify(query)}`, ["delivery", "clock"], read);
  const count = sum(counts?.bars.flatMap((bar) => Object.values(bar.counts)) ?? []);
  const replay = async () => setRun(await control.replayDeliveries({ ...rejected, limit: replayedMax }));
  return (
    <Actions>
      <ActionButton
        label={`${label} (${count})`}
        asksFirst
        class="steady"
        disabled={count === 0}
        onRun={replay}
      />
      {run && (
        <Notice tone={run.skipped > 0 ? "wait" : "good"} isAlert>
          {plural(run.started, "replay")} started; the list shows the responses.
          {run.skipped > 0 && ` ${run.skipped} skipped: the endpoint is paused or deleted.`}
        </Notice>
      )}
    </Actions>
  );
}
