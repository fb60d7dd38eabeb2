import { hashOf } from "../address.ts";
import type { Overview, RecordedRequest } from "../api-types.ts";
import { useClock } from "../parts/bar.tsx";
import { ActionButton, Actions } from "../parts/controls/action.tsx";
import { lazyView } from "../parts/lazy-view.tsx";
import { ListPanel } from "../parts/lists/list-panel.tsx";
import { describeNext, nameOfEndpoint } from "../parts/status/delivery-state.tsx";
import { Gauge, Shares } from "../parts/status/gauge.tsx";
import { toneOf } from "../parts/status/status.tsx";
import { nameOfKey } from "../run/request-keys.ts";
import type { Activity } from "../state/live.ts";
import { control, useResource } from "../state/resource.ts";
import { useLive } from "../state/store.ts";
import { formatRelative, formatReset, formatTimeNear, formatTimeOfDay, shortId } from "../text/format.ts";
import { nameOf, reasonOf } from "../text/request-labels.ts";
import type { ViewProps } from "../view.ts";
import "./overview.css";

const Start = lazyView(() => import("./setup.tsx"), "StartPanels");

export function OverviewView(props: ViewProps) {
  const { overview, nowMs } = props;
  return (
    <>
      <div class="title-bar">
        <h2>Overview</h2>
        <Actions>
          <ActionButton label="Reset the mock" asksFirst onRun={() => control.reset()} />
        </Actions>
      </div>
      {overview && isUnused(overview) && <Start {...props} />}
      <div class="panels tiles">
        <Counts title="Tasks" view="tasks" counts={overview?.tasks} />
        <Counts title="Deliveries" view="deliveries" counts={overview && deliveryStates(overview)} />
        <Requests total={overview?.requests} nowMs={nowMs} />
      </div>
      <div class="panels half-panels">
        <RejectedDeliveries count={overview?.rejectedDeliveries ?? 0} nowMs={nowMs} />
        <RejectedRequests nowMs={nowMs} />
        <DueNext upcoming={overview?.upcoming} nowMs={nowMs} />
        <Recent />
      </div>
    </>
  );
}

const isUnused = ({ tasks, deliveries, requests }: Overview): boolean =>
  requests === 0 && [...Object.values(tasks), ...Object.values(deliveries)].every((count) => count === 0);

/** A delivery that is tried again counts as rejected, as everywhere on the page. */
const deliveryStates = ({
  deliveries,
  retriedDeliveries: rejected,
}: Overview): Readonly<Record<string, number>> => ({
  rejected,
  ...deliveries,
  pending: deliveries.pending - rejected,
});

interface CountsProps {
  readonly title: string;
  readonly view: string;
  readonly counts: Readonly<Record<string, number>> | undefined;
}

function Counts({ title, view, counts }: CountsProps) {
  const total = Object.values(counts ?? {}).reduce((sum, count) => sum + count, 0);
  return (
    <section class="panel">
      <h3>{title}</h3>
      <Total count={counts && total} view={view} />
      <Shares counts={counts ?? {}} />
      <ul class="legend">
        {Object.entries(counts ?? {}).map(([status, count]) => (
          <li key={status}>
            <a href={hashOf(view, null, { status })} class={count === 0 ? "muted" : undefined}>
              <i class={`tone-${toneOf(status)}`} aria-hidden="true" />
              {status} <b>{count}</b>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface TotalProps {
  /** Absent: not read yet. */
  readonly count: number | undefined;
  readonly view: string;
}

const Total = ({ count, view }: TotalProps) => (
  <a class="total" href={hashOf(view)} aria-label={`${count ?? "all"} ${view}`}>
    {count ?? "–"}
  </a>
);

interface RequestsProps {
  readonly total: number | undefined;
  readonly nowMs: number;
}

/** A window of a rate limit ends without an activity: it is read again this often, by the mock's time. */
const windowsReadMs = 5_000;

/** The journal's count, and how much of its rate limit each key has used. */
function Requests({ total, nowMs }: RequestsProps) {
  const limits = useResource(
    "rate limits",
    ["request", "clock"],
    () => control.listRateLimits(),
    Math.floor(nowMs / windowsReadMs),
  );
  const keys = useResource("keys", ["api-key", "membership"], () => control.listApiKeys());
  return (
    <section class="panel">
      <h3>Requests</h3>
      <Total count={total} view="requests" />
      {limits?.data.length === 0 && <p class="muted">No key has used its rate limit in this window.</p>}
      {limits?.data.map(({ keyId, used, remaining, resetsAt }) => {
        const key = keys?.data.find(({ id }) => id === keyId);
        return (
          <div key={keyId} class="rate-limit">
            <span>{key ? nameOfKey(key) : `partner, ${shortId(keyId)}`}</span>
            <b>
              {used}/{used + remaining}
            </b>
            <Gauge label={`requests of key ${shortId(keyId)}`} used={used} max={used + remaining} />
            {resetsAt && <span class="muted">{formatReset(Date.parse(resetsAt), nowMs)}</span>}
          </div>
        );
      })}
    </section>
  );
}

/** So that what is due next stays in sight. */
const rejectedListed = 6;

function RejectedDeliveries({ count, nowMs }: { readonly count: number; readonly nowMs: number }) {
  const log = useResource("newest rejected deliveries", ["delivery", "clock"], () =>
    control.listDeliveries({ rejected: true, order: "desc", limit: rejectedListed }),
  );
  const rejected = log?.data ?? [];
  return (
    <ListPanel
      title="Rejected deliveries"
      nothing={log && "No delivery has been rejected."}
      class="rejections"
      footer={
        count > rejectedListed && (
          <a href={hashOf("deliveries", null, { rejected: "true" })}>All {count} rejected deliveries</a>
        )
      }
    >
      {rejected.map((delivery) => (
        <li key={delivery.id}>
          <div>
            <a href={hashOf("deliveries", delivery.id)}>{delivery.event}</a>
            <span class="muted one-line">{delivery.client}</span>
            <span class="at-end muted">{describeNext(delivery, nowMs)}</span>
          </div>
          <div>
            <span class="toned tone-bad">{delivery.lastError}</span>
            <span class="at-end muted one-line">{nameOfEndpoint(delivery.url)}</span>
          </div>
        </li>
      ))}
    </ListPanel>
  );
}

function RejectedRequests({ nowMs }: Pick<ViewProps, "nowMs">) {
  const log = useResource("newest requests", ["request"], () =>
    control.listRequests({ order: "desc", limit: rejectedListed, result: "rejected" }),
  );
  const rejected = log?.data ?? [];
  return (
    <ListPanel
      title="Rejected requests"
      nothing={log && "No request has been rejected."}
      class="rejections"
      footer={
        rejected.length === rejectedListed && (
          <a href={hashOf("requests", null, { result: "rejected" })}>All rejected requests</a>
        )
      }
    >
      {rejected.map((request) => (
        <li key={request.sequence}>
          <div>
            <a href={hashOf("requests", String(request.sequence))}>{nameOf(request)}</a>
            <span class="at-end muted">{formatTimeNear(request.at, nowMs)}</span>
          </div>
          <div class="toned tone-bad">{reasonOf(request)}</div>
        </li>
      ))}
    </ListPanel>
  );
}

interface DueProps {
  readonly upcoming: Overview["upcoming"] | undefined;
  readonly nowMs: number;
}

/** The next timers; a virtual clock can be advanced to each. */
function DueNext({ upcoming, nowMs }: DueProps) {
  const isVirtual = useClock()?.mode === "virtual";
  return (
    <ListPanel title="Due next" nothing={upcoming && "No timer is set."}>
      {upcoming?.map(({ kind, id, name, attempt, at }) => (
        <li key={`${kind} ${id}`}>
          <a href={hashOf(kind === "stage" ? "tasks" : "deliveries", id)}>{name}</a>
          <span class="muted">{kind === "stage" ? "stage ends" : `attempt ${attempt}`}</span>
          <span class="at-end">{formatRelative(Date.parse(at), nowMs)}</span>
          {isVirtual && (
            <Actions>
              <ActionButton
                label="Go"
                class="quiet"
                name={`Go to ${name}`}
                onRun={() => control.advanceClock({ by: Math.max(0, Date.parse(at) - nowMs) })}
              />
            </Actions>
          )}
        </li>
      ))}
    </ListPanel>
  );
}

function Recent() {
  const recent = useLive((state) => state.recent);
  return (
    <ListPanel
      title="Just now"
      nothing="No activity since this page was opened. Start a task, or send a request."
    >
      {recent.map((activity) => (
        <li key={`${activity.sequence} ${activity.at}`}>
          <span class="muted mono">{formatTimeOfDay(activity.at)}</span>
          {placeOf(activity) ? <a href={placeOf(activity)}>{activity.type}</a> : <span>{activity.type}</span>}
          <span class="at-end muted">{describe(activity)}</span>
        </li>
      ))}
    </ListPanel>
  );
}

/** The page of what it is about. */
function placeOf({ request, deliveryId, taskId, endpointId, entry }: Activity): string | undefined {
  if (isRequest(request)) return hashOf("requests", String(request.sequence));
  if (typeof deliveryId === "string") return hashOf("deliveries", deliveryId);
  if (typeof taskId === "string") return hashOf("tasks", taskId);
  if (typeof endpointId === "string") return hashOf("endpoints", endpointId);
  return entry === undefined ? undefined : hashOf("faults");
}

function describe(activity: Activity): string {
  const { request } = activity as { request?: unknown };
  if (isRequest(request)) return `${nameOf(request)} ${request.status}`;
  const words = ["event", "taskType", "subTaskType", "status", "slug", "name"].flatMap((field) => {
    const value = activity[field];
    return typeof value === "string" ? [value] : [];
  });
  return words.join(" ");
}

const isRequest = (value: unknown): value is RecordedRequest =>
  typeof value === "object" && value !== null && "operations" in value;
