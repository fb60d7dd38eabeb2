import { formatRelative, formatTime, shortId } from "../format.ts";
import type { Happening } from "../live.ts";
import type { ClockView, LimitView, Overview } from "../nouns.ts";
import { useNow } from "../parts/bar.tsx";
import { Gauge, Mark, Sparkline } from "../parts/marks.tsx";
import { useResource } from "../resource.ts";
import { hashOf } from "../route.ts";
import { useLive } from "../store.ts";

const requestsPerWindow = 120;

export function OverviewView() {
  const overview = useResource<Overview>("/overview", [
    "task",
    "delivery",
    "endpoint",
    "client",
    "clock",
    "event",
  ]);
  const limits = useResource<{ data: LimitView[] }>("/limits", ["request", "clock"]);
  const clock = useResource<ClockView>("/clock", ["clock", "delivery", "task"]);
  const nowMs = useNow(clock);
  return (
    <>
      <div class="head">
        <h2>Overview</h2>
      </div>
      <div class="grid">
        <Counts title="Tasks by status" place="tasks" counts={overview?.tasks} />
        <Counts title="Deliveries by state" place="deliveries" counts={overview?.deliveries} />
        <Activity />
        <section class="panel">
          <h3>Allowance in use</h3>
          {limits?.data.length === 0 && <span class="muted">No key has made a request in this window.</span>}
          {limits?.data.map(({ keyId, used, remaining, resetsAt }) => (
            <div key={keyId}>
              <span class="mono">{shortId(keyId)}</span> {used} of {used + remaining}
              {resetsAt && <span class="muted"> · frees {formatRelative(Date.parse(resetsAt), nowMs)}</span>}
              <Gauge
                label={`requests of key ${shortId(keyId)}`}
                used={used}
                max={used + remaining || requestsPerWindow}
              />
            </div>
          ))}
        </section>
      </div>
      <div class="grid">
        <section class="panel">
          <h3>Due next</h3>
          {overview?.upcoming.length === 0 && <span class="muted">No delivery is waiting.</span>}
          {overview?.upcoming.map(({ deliveryId, event, attempt, at }) => (
            <div key={deliveryId}>
              <a href={hashOf("deliveries", deliveryId)}>{event}</a> attempt {attempt}{" "}
              <span class="muted">{formatRelative(Date.parse(at), nowMs)}</span>
            </div>
          ))}
        </section>
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
      <div class="tools">
        {Object.entries(counts)
          .filter(([, count]) => count > 0)
          .map(([status, count]) => (
            <span key={status}>
              {count} <Mark status={status} />
            </span>
          ))}
      </div>
    </section>
  );
}

function Activity() {
  const perSecond = useLive((state) => state.perSecond);
  const last = perSecond.at(-2) ?? 0;
  return (
    <section class="panel">
      <h3>Happenings in the last minute</h3>
      <span class="figure">{perSecond.reduce((sum, count) => sum + count, 0)}</span>
      <Sparkline values={perSecond} />
      <span class="muted">{last} in the last second</span>
    </section>
  );
}

const recentShown = 14;

function Recent() {
  const recent = useLive((state) => state.recent);
  return (
    <section class="panel">
      <h3>Just now</h3>
      {recent.length === 0 && <span class="muted">Nothing yet. Start a task, or send a request.</span>}
      {recent.slice(0, recentShown).map((happening) => (
        <div key={`${happening.sequence} ${happening.at}`}>
          <span class="muted mono">{formatTime(Date.parse(happening.at)).slice(11)}</span> {happening.type}{" "}
          <span class="muted">{describe(happening)}</span>
        </div>
      ))}
    </section>
  );
}

function describe(happening: Happening): string {
  const words = ["event", "taskType", "subTaskType", "status", "slug", "name"].flatMap((field) => {
    const value = happening[field];
    return typeof value === "string" ? [value] : [];
  });
  return words.join(" ");
}
