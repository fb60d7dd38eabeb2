import type { Overview, RecordedRequest } from "@workspace-tasks/mock-server/control";
import { ActionButton, Actions, LinkButton } from "@workspace-tasks/page-parts/controls.tsx";
import { Legend } from "@workspace-tasks/page-parts/histogram.tsx";
import { ListPanel } from "@workspace-tasks/page-parts/lists.tsx";
import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import { type Activity, useLive, useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatExact, plural, shortId, sum } from "@workspace-tasks/page-parts/text.ts";
import { lazyView, Time, Total } from "@workspace-tasks/page-parts/values.tsx";
import type { ComponentChildren } from "preact";
import { control, nameOfKey, transport, useClock, type ViewProps } from "../mock.ts";
import {
  byUrgency,
  DeliveryHistogram,
  describeDue,
  describeHealth,
  EndpointName,
  HealthStrip,
  NextAttempt,
  Outcome,
  RequestHistogram,
  StatusBadge,
  stateOfEndpoint,
  successRate,
  toneOf,
} from "../parts.tsx";
import { formatReset, labelOfEndpoint, nameOf } from "../text.ts";

// The snippets are in it, which only a new mock shows here.
const Start = lazyView(() => import("./setup.tsx"), "StartPanels");

export function OverviewView({ overview }: ViewProps) {
  return (
    <>
      <div class="title-bar">
        <h2>Overview</h2>
        <Actions>
          {transport.hasAddress && <LinkButton label="Connect" href={hashOf("setup")} />}
          <ActionButton
            label="Reset the mock"
            asksFirst
            onRun={() => control.reset()}
            class="toned tone-bad"
          />
        </Actions>
      </div>
      {overview && isUnused(overview) && <Start />}
      <div class="panels tiles">
        <Tasks counts={overview?.tasks} />
        <section class="panel">
          <h3>Deliveries</h3>
          <Total count={sumOf(overview?.deliveries)} view="deliveries" />
          <DeliveryHistogram />
          {overview && (
            <p class={overview.failedAttemptsLastHour > 0 ? "toned tone-bad" : "muted"}>
              {plural(overview.failedAttemptsLastHour, "failed attempt")} in the last hour
            </p>
          )}
        </section>
        <Requests total={overview?.requests} />
      </div>
      <div class="panels half-panels">
        <Endpoints overview={overview} />
        <DueNext upcoming={overview?.upcoming} />
        <RejectedDeliveries count={overview?.rejectedDeliveries ?? 0} />
        <Recent />
      </div>
    </>
  );
}

const isUnused = ({ tasks, deliveries, requests }: Overview): boolean =>
  requests === 0 && [...Object.values(tasks), ...Object.values(deliveries)].every((count) => count === 0);

type Counts = Readonly<Record<string, number>>;

const sumOf = (counts: Counts | undefined) => counts && sum(Object.values(counts));

function Tasks({ counts }: { readonly counts: Counts | undefined }) {
  return (
    <section class="panel">
      <h3>Tasks</h3>
      <Total count={sumOf(counts)} view="tasks" />
      <Legend
        entries={Object.entries(counts ?? {}).map(([status, count]) => ({
          name: status,
          tone: toneOf(status),
          count,
          href: hashOf("tasks", null, { status }),
        }))}
      />
    </section>
  );
}

/** A window of a rate limit ends without an activity: it is read again this often, by the mock's time. */
const windowsReadMs = 5_000;

/** The journal's count, and how much of its rate limit each key has used. */
function Requests({ total }: { readonly total: number | undefined }) {
  const nowMs = useNowMs();
  const limits = useResource(
    "rate limits",
    ["request", "clock"],
    () => control.listRateLimits(),
    () => Math.floor(nowMs / windowsReadMs),
  );
  const keys = useResource("keys", ["api-key", "membership"], () => control.listApiKeys());
  return (
    <section class="panel">
      <h3>Requests</h3>
      <Total count={total} view="requests" />
      <RequestHistogram />
      {limits?.data.length === 0 && <p class="muted">No key has used its rate limit in this window.</p>}
      {limits?.data.map(({ keyId, used, remaining, resetsAt }) => {
        const key = keys?.data.find(({ id }) => id === keyId);
        const max = used + remaining;
        return (
          <div key={keyId}>
            <div class="ends">
              <span>{key ? nameOfKey(key) : `partner, ${shortId(keyId)}`}</span>
              <b>
                {used}/{max}
              </b>
            </div>
            <meter
              aria-label={`requests of key ${shortId(keyId)}`}
              value={used}
              max={max}
              low={0.8 * max}
              high={max - 1}
              optimum={0}
            />
            {resetsAt && <span class="muted">{formatReset(Date.parse(resetsAt), nowMs)}</span>}
          </div>
        );
      })}
    </section>
  );
}

function Endpoints({ overview }: Pick<ViewProps, "overview">) {
  const nowMs = useNowMs();
  const endpoints = useResource("endpoints", ["endpoint"], () => control.listEndpoints())?.data ?? [];
  return (
    <ListPanel title="Endpoints" nothing={overview && "No endpoint yet."} class="two-line-items">
      {byUrgency(endpoints, overview?.health ?? []).map(({ endpoint: { id, url, enabled }, health }) => {
        return (
          <li key={id}>
            <div>
              <a href={hashOf("endpoints", id)}>
                <EndpointName url={url} />
              </a>
              <span class="at-end">{successRate(health)}</span>
              <HealthStrip recent={health?.recent ?? []} />
            </div>
            <div>
              <StatusBadge status={stateOfEndpoint(enabled, health)} />
              <span class="muted">{describeHealth(health, nowMs)}</span>
            </div>
          </li>
        );
      })}
    </ListPanel>
  );
}

const rejectedListed = 6;

function RejectedDeliveries({ count }: { readonly count: number }) {
  const log = useResource("newest rejected deliveries", ["delivery", "clock"], () =>
    control.listDeliveries({ rejected: true, order: "desc", limit: rejectedListed }),
  );
  const rejected = log?.data ?? [];
  return (
    <ListPanel
      title="Rejected now"
      nothing={log && "No delivery is rejected now."}
      class="two-line-items"
      footer={
        count > rejectedListed && (
          <a href={hashOf("deliveries", null, { status: "rejected" })}>All {count} rejected deliveries</a>
        )
      }
    >
      {rejected.map((delivery) => (
        <li key={delivery.id}>
          <div>
            <a href={hashOf("deliveries", delivery.id)}>{delivery.event}</a>
            <span class="muted one-line">{delivery.client}</span>
            <span class="at-end">
              <NextAttempt delivery={delivery} />
            </span>
          </div>
          <div>
            <span class="toned tone-bad">{delivery.lastError}</span>
            <EndpointName url={delivery.url} />
          </div>
        </li>
      ))}
    </ListPanel>
  );
}

/** What runs, what waits for its turn, and the next timers; a virtual clock can be advanced to each. */
function DueNext({ upcoming }: { readonly upcoming: readonly Due[] | undefined }) {
  const nowMs = useNowMs();
  const isVirtual = useClock()?.mode === "virtual";
  return (
    <ListPanel title="Due next" nothing={upcoming && "No timer is set."}>
      {upcoming?.map((due) => (
        <li key={`${due.kind} ${due.state} ${due.id}`}>
          <a href={addressOf(due)}>{nameOfDue(due)}</a>
          <span class="at-end" title={due.at ? formatExact(due.at) : undefined}>
            {describeDue(due, nowMs)}
          </span>
          {isVirtual && due.state === "scheduled" && due.at !== null && (
            <Actions>
              <ActionButton
                label="Go"
                class="quiet"
                name={`Go to ${due.name}`}
                onRun={() => control.advanceClock({ by: Math.max(0, Date.parse(due.at ?? "") - nowMs) })}
              />
            </Actions>
          )}
        </li>
      ))}
    </ListPanel>
  );
}

type Due = Overview["upcoming"][number];

function addressOf({ kind, id, count, endpointId }: Due): string {
  if (kind === "stage") return hashOf("tasks", id);
  return count === 1
    ? hashOf("deliveries", id)
    : hashOf("deliveries", null, { endpointId: endpointId ?? "" });
}

/** `38 × attempt 4 → host/hooks`. */
function nameOfDue({ kind, name, count, attempt, url }: Due): string {
  const times = count === 1 ? "" : `${count} × `;
  return kind === "stage"
    ? `${times}${name} ends`
    : `${times}${count === 1 ? `${name}, ` : ""}attempt ${attempt} → ${labelOfEndpoint(url, 32)}`;
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
          <span class="muted mono">
            <Time at={activity.at} />
          </span>
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

function describe(activity: Activity): ComponentChildren {
  const { request, attempt, url } = activity;
  if (isRequest(request)) return `${nameOf(request)} ${request.status}`;
  if (isAttempt(attempt)) {
    const to = typeof url === "string" ? url : null;
    return (
      <>
        {activity["event"]} <Outcome {...attempt} url={to} />
      </>
    );
  }
  const words = ["event", "taskType", "subTaskType", "status", "slug", "name"].flatMap((field) => {
    const value = activity[field];
    return typeof value === "string" ? [value] : [];
  });
  return words.join(" ");
}

interface Attempt {
  readonly status: number | null;
  readonly error: string | null;
}

/** The activity `delivery.attempted` has one. */
const isAttempt = (value: unknown): value is Attempt => typeof value === "object" && value !== null;

const isRequest = (value: unknown): value is RecordedRequest =>
  typeof value === "object" && value !== null && "operations" in value;
