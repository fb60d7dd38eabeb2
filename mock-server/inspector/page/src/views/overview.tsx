import { hashOf } from "../address.ts";
import type { ViewProps } from "../app.tsx";
import { formatRelative, formatTime, shortId } from "../format.ts";
import type { Happening } from "../live.ts";
import type { ApiKeyView, LimitView, Overview, Page, RequestView } from "../nouns.ts";
import { ConfirmButton, useAction } from "../parts/action.tsx";
import { Gauge, Shares, Sparkline } from "../parts/gauge.tsx";
import { toneOf } from "../parts/mark.tsx";
import { ask, useResource } from "../resource.ts";
import { useLive } from "../store.ts";
import { isRefused, nameOf, reasonOf } from "./requests.tsx";

export function OverviewView({ overview, nowMs }: ViewProps) {
  const action = useAction();
  return (
    <>
      <div class="head">
        <h2>Overview</h2>
        <ConfirmButton action={action} onRun={() => ask("POST", "/reset", {})}>
          Reset the mock
        </ConfirmButton>
      </div>
      {action.notice}
      <div class="grid">
        <Counts title="Tasks" place="tasks" counts={overview?.tasks} />
        <Counts title="Deliveries" place="deliveries" counts={overview?.deliveries} />
        <Traffic />
        <Allowances nowMs={nowMs} />
      </div>
      <div class="grid wider">
        <DueNext overview={overview} nowMs={nowMs} />
        <Refusals />
        <Recent />
      </div>
    </>
  );
}

type CountsProps = {
  readonly title: string;
  readonly place: string;
  readonly counts: Readonly<Record<string, number>> | undefined;
};

function Counts({ title, place, counts = {} }: CountsProps) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return (
    <section class="panel">
      <h3>{title}</h3>
      <a class="figure" href={hashOf(place)} aria-label={`${total} ${place}`}>
        {total}
      </a>
      <Shares counts={counts} />
      <ul class="legend">
        {Object.entries(counts).map(([status, count]) => (
          <li key={status}>
            <a href={hashOf(place, null, { status })} class={count === 0 ? "muted" : ""}>
              <i class={`dot ${toneOf(status)}`} aria-hidden="true" />
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
  const total = (of: "requests" | "happenings") => seconds.reduce((sum, second) => sum + second[of], 0);
  return (
    <section class="panel">
      <h3>Requests in the last minute</h3>
      <a class="figure" href={hashOf("requests")} aria-label={`${total("requests")} requests`}>
        {total("requests")}
      </a>
      <Sparkline values={seconds.map(({ requests }) => requests)} />
      <span class="muted">
        {last?.requests ?? 0} requests/s, {last?.happenings ?? 0} events/s
      </span>
    </section>
  );
}

function Allowances({ nowMs }: { readonly nowMs: number }) {
  const limits = useResource<{ data: LimitView[] }>("/limits", ["request", "clock"]);
  const keys = useResource<{ data: ApiKeyView[] }>("/api-keys", ["api-key", "membership"]);
  return (
    <section class="panel">
      <h3>Allowance in use</h3>
      {limits?.data.length === 0 && <p class="muted">No key has made a request in this window.</p>}
      {limits?.data.map(({ keyId, used, remaining, resetsAt }) => {
        const key = keys?.data.find(({ id }) => id === keyId);
        const name = key ? `${key.role ?? "former member"}, ${key.access}` : "partner";
        return (
          <div key={keyId} class="allowance">
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
    <section class="panel">
      <h3>Due next</h3>
      {overview?.upcoming.length === 0 && <p class="muted">Nothing is waiting for its time.</p>}
      <ul class="lines">
        {overview?.upcoming.map(({ kind, id, name, attempt, at }) => (
          <li key={`${kind} ${id}`}>
            <a href={hashOf(kind === "stage" ? "tasks" : "deliveries", id)}>{name}</a>
            <span class="muted">{kind === "stage" ? "stage ends" : `attempt ${attempt}`}</span>
            <span class="end">{formatRelative(Date.parse(at), nowMs)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const listed = 10;

function Refusals() {
  const log = useResource<Page<RequestView>>("/request-log?limit=200", ["request"]);
  const refused = (log?.data ?? []).filter(isRefused).slice(0, listed);
  return (
    <section class="panel">
      <h3>Last refusals</h3>
      {refused.length === 0 && <p class="muted">No request has been refused.</p>}
      <ul class="lines stacked">
        {refused.map((request) => (
          <li key={request.sequence}>
            <a href={hashOf("requests", String(request.sequence))}>{nameOf(request)}</a>
            <span class="reason">{reasonOf(request)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Recent() {
  const recent = useLive((state) => state.recent);
  return (
    <section class="panel">
      <h3>Just now</h3>
      {recent.length === 0 && (
        <p class="muted">Nothing since this page was opened. Start a task, or send a request.</p>
      )}
      <ul class="lines">
        {recent.slice(0, listed).map((happening) => (
          <li key={`${happening.sequence} ${happening.at}`}>
            <span class="muted mono">{formatTime(Date.parse(happening.at)).slice(11)}</span>
            <span>{happening.type}</span>
            <span class="end muted">{describe(happening)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function describe(happening: Happening): string {
  if (isRequest(happening["request"]))
    return `${nameOf(happening["request"])} ${happening["request"].status}`;
  const words = ["event", "taskType", "subTaskType", "status", "slug", "name"].flatMap((field) => {
    const value = happening[field];
    return typeof value === "string" ? [value] : [];
  });
  return words.join(" ");
}

const isRequest = (value: unknown): value is RequestView =>
  typeof value === "object" && value !== null && "operations" in value;
