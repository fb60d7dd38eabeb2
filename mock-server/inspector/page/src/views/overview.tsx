import { hashOf } from "../address.ts";
import type { Overview, RecordedRequest } from "../api-types.ts";
import { formatRelative, formatTimeOfDay, shortId } from "../format.ts";
import type { Activity } from "../live.ts";
import { ConfirmButton, useAction } from "../parts/action.tsx";
import { Gauge, Shares, Sparkline } from "../parts/gauge.tsx";
import { ListPanel } from "../parts/list-panel.tsx";
import { toneOf } from "../parts/status-badge.tsx";
import { isRejected, nameOf, reasonOf } from "../request-labels.ts";
import { control, useResource } from "../resource.ts";
import { useLive } from "../store.ts";
import type { ViewProps } from "../view.ts";
import "./overview.css";

export function OverviewView({ overview, nowMs }: ViewProps) {
  const action = useAction();
  return (
    <>
      <div class="title-bar">
        <h2>Overview</h2>
        <ConfirmButton action={action} onRun={() => control.reset()}>
          Reset the mock
        </ConfirmButton>
      </div>
      {action.notice}
      <div class="panels">
        <Counts title="Tasks" view="tasks" counts={overview?.tasks} />
        <Counts title="Deliveries" view="deliveries" counts={overview?.deliveries} />
        <Traffic />
        <RateLimits nowMs={nowMs} />
      </div>
      <div class="panels wide-panels">
        <DueNext overview={overview} nowMs={nowMs} />
        <RejectedRequests />
        <Recent />
      </div>
    </>
  );
}

interface CountsProps {
  readonly title: string;
  readonly view: string;
  readonly counts: Readonly<Record<string, number>> | undefined;
}

function Counts({ title, view, counts = {} }: CountsProps) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return (
    <section class="panel">
      <h3>{title}</h3>
      <a class="total" href={hashOf(view)} aria-label={`${total} ${view}`}>
        {total}
      </a>
      <Shares counts={counts} />
      <ul class="legend">
        {Object.entries(counts).map(([status, count]) => (
          <li key={status}>
            <a href={hashOf(view, null, { status })} class={count === 0 ? "muted" : ""}>
              <i class={`tone-${toneOf(status)}`} aria-hidden="true" />
              {status} <b>{count}</b>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Traffic() {
  const seconds = useLive((state) => state.seconds);
  const last = seconds.at(-2);
  const total = (of: "requests" | "activities") => seconds.reduce((sum, second) => sum + second[of], 0);
  return (
    <section class="panel">
      <h3>Requests in the last minute</h3>
      <a class="total" href={hashOf("requests")} aria-label={`${total("requests")} requests`}>
        {total("requests")}
      </a>
      <Sparkline values={seconds.map(({ requests }) => requests)} />
      <span class="muted">
        {last?.requests ?? 0} requests/s, {last?.activities ?? 0} events/s
      </span>
    </section>
  );
}

function RateLimits({ nowMs }: { readonly nowMs: number }) {
  const limits = useResource("rate limits", ["request", "clock"], () => control.listRateLimits());
  const keys = useResource("keys", ["api-key", "membership"], () => control.listApiKeys());
  return (
    <section class="panel">
      <h3>Rate limit per key</h3>
      {limits?.data.length === 0 && <p class="muted">No key has made a request in this window.</p>}
      {limits?.data.map(({ keyId, used, remaining, resetsAt }) => {
        const key = keys?.data.find(({ id }) => id === keyId);
        const name = key ? `${key.role ?? "former member"}, ${key.access}` : "partner";
        return (
          <div key={keyId} class="rate-limit">
            <span>
              {name} <span class="muted mono">{shortId(keyId)}</span>
            </span>
            <b>
              {used}/{used + remaining}
            </b>
            <Gauge label={`requests of key ${shortId(keyId)}`} used={used} max={used + remaining} />
            {resetsAt && <span class="muted">frees {formatRelative(Date.parse(resetsAt), nowMs)}</span>}
          </div>
        );
      })}
    </section>
  );
}

function DueNext({ overview, nowMs }: { readonly overview: Overview | undefined; readonly nowMs: number }) {
  return (
    <ListPanel title="Due next" nothing={overview && "No timer is set."}>
      {overview?.upcoming.map(({ kind, id, name, attempt, at }) => (
        <li key={`${kind} ${id}`}>
          <a href={hashOf(kind === "stage" ? "tasks" : "deliveries", id)}>{name}</a>
          <span class="muted">{kind === "stage" ? "stage ends" : `attempt ${attempt}`}</span>
          <span class="at-end">{formatRelative(Date.parse(at), nowMs)}</span>
        </li>
      ))}
    </ListPanel>
  );
}

const listed = 10;

function RejectedRequests() {
  const log = useResource("newest requests", ["request"], () =>
    control.listRequests({ order: "desc", limit: 200 }),
  );
  const rejected = (log?.data ?? []).filter(isRejected).slice(0, listed);
  return (
    <ListPanel title="Last rejected requests" nothing="No request has been rejected." class="rejections">
      {rejected.map((request) => (
        <li key={request.sequence}>
          <a href={hashOf("requests", String(request.sequence))}>{nameOf(request)}</a>
          <span class="toned tone-bad">{reasonOf(request)}</span>
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
      {recent.slice(0, listed).map((activity) => (
        <li key={`${activity.sequence} ${activity.at}`}>
          <span class="muted mono">{formatTimeOfDay(activity.at)}</span>
          <span>{activity.type}</span>
          <span class="at-end muted">{describe(activity)}</span>
        </li>
      ))}
    </ListPanel>
  );
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
