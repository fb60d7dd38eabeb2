import { Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { Histogram } from "@workspace-tasks/page-parts/histogram.tsx";
import { ListPanel } from "@workspace-tasks/page-parts/lists.tsx";
import { type Filter, hashOf } from "@workspace-tasks/page-parts/route.ts";
import type { ViewProps } from "@workspace-tasks/page-parts/shell.tsx";
import { polled, useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatDuration, formatRelative, plural } from "@workspace-tasks/page-parts/text.ts";
import { Absent, Total } from "@workspace-tasks/page-parts/values.tsx";
import type { ErrorList, EventSummary, Overview } from "@workspace-tasks/receiver-kit/parts";
import { api } from "./api.ts";
import { keyOfGroup } from "./errors.tsx";
import { Ago, EventLink, NextAttempt, states, TaskLink, tenantOf } from "./parts.tsx";

const tones = {
  done: "good",
  stale: "calm",
  pending: "wait",
  running: "run",
  failing: "bad",
  quarantined: "bad",
  dead: "bad",
} as const;

export function OverviewView({ overview }: ViewProps<Overview>) {
  const nowMs = useNowMs();
  const errors = useResource("errors", polled, api.errors) ?? undefined;
  const waiting = useResource("failing", polled, () => api.events({ state: "failing" }));
  if (!overview) return <Absent />;
  const failing = waiting?.data ?? [];
  return (
    <>
      <div class="title-bar">
        <h2>Overview</h2>
      </div>
      <Verdict findings={findingsOf(overview, failing.length)} />
      <div class="panels tiles">
        <Waiting overview={overview} failing={failing.length} />
        <section class="panel">
          <h3>Received{overview.activity.isPartial && ", the newest events"}</h3>
          <Histogram view="events" field="state" tones={tones} texts={states} counts={overview.activity} />
        </section>
        <section class="panel">
          <h3>For a person to replay or discard</h3>
          <div class="numbers">
            <Unhandled overview={overview} state="dead" />
            <Unhandled overview={overview} state="quarantined" />
          </div>
        </section>
      </div>
      <div class="panels half-panels">
        <Errors errors={errors} />
        <Due events={failing} />
        <Sources sources={overview.sources} />
        <Processes processes={overview.processes} nowMs={nowMs} />
        <Reconciling overview={overview} />
      </div>
    </>
  );
}

interface Props {
  readonly overview: Overview;
}

/** Counting ends here. */
const countedMax = 1_000;

const counted = (count: number) => (count < countedMax ? count : `${countedMax}+`);

function Waiting({ overview, failing }: Props & { readonly failing: number }) {
  const { rows, oldestPendingMs } = overview;
  return (
    <section class="panel">
      <h3>Waiting</h3>
      <Total count={counted(rows.waiting)} view="events" filter={{ state: "pending,running" }} />
      <p class={failing > 0 ? "toned tone-bad" : "muted"}>{failing} of them failing</p>
      <p class="muted">
        {oldestPendingMs === null
          ? "None is due."
          : `The oldest is due for ${formatDuration(oldestPendingMs)}.`}
      </p>
    </section>
  );
}

const Unhandled = ({ overview, state }: Props & { readonly state: "dead" | "quarantined" }) => (
  <div>
    <Total count={counted(overview.rows[state])} view="events" filter={{ state }} /> {state}
  </div>
);

interface Finding {
  readonly text: string;
  readonly view: string;
  readonly filter?: Filter;
}

/** What needs attention, or that nothing does. */
function Verdict({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0)
    return <Notice tone="good">Everything is all right: nothing is dead, failing or late.</Notice>;
  return (
    <section class="notice tone-bad" aria-label="Needs attention">
      <ul class="findings">
        {findings.map(({ text, view, filter }) => (
          <li key={text}>
            <a href={hashOf(view, null, filter)}>{text}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A due event that waits for longer is late. */
const lateMs = 60_000;

function findingsOf(
  { rows, oldestPendingMs, receiver, processes }: Overview,
  failing: number,
): readonly Finding[] {
  const events = (text: string, state: string) => ({ text, view: "events", filter: { state } });
  const here = (text: string) => ({ text, view: "overview" });
  const { storingForMs = null, claimingForMs = null, reconcile } = receiver ?? {};
  const gone = processes.filter(({ endsInMs }) => endsInMs < 0).length;
  const all = [
    rows.dead > 0 && events(`${counted(rows.dead)} dead`, "dead"),
    rows.quarantined > 0 && events(`${counted(rows.quarantined)} quarantined`, "quarantined"),
    failing > 0 && events(`${failing} failing`, "failing"),
    (oldestPendingMs ?? 0) > lateMs &&
      events(`due for ${formatDuration(oldestPendingMs ?? 0)}: no process takes them`, "pending"),
    gone > 0 && here(`${plural(gone, "process", "processes")} gone`),
    storingForMs !== null && here(`deliveries cannot be stored for ${formatDuration(storingForMs)}`),
    claimingForMs !== null && here(`events cannot be claimed for ${formatDuration(claimingForMs)}`),
    (reconcile?.failed ?? 0) > 0 && here(`${plural(reconcile?.failed ?? 0, "round")} of reconciling failed`),
  ];
  return all.filter((finding) => finding !== false);
}

const errorsListed = 5;

function Errors({ errors }: { readonly errors: ErrorList | undefined }) {
  const all = errors?.data ?? [];
  return (
    <ListPanel
      title="Errors, the last first"
      nothing={errors && "No event fails."}
      class="two-line-items"
      footer={all.length > errorsListed && <a href={hashOf("errors")}>All {all.length} errors</a>}
    >
      {all.slice(0, errorsListed).map((group) => (
        <li key={keyOfGroup(group)}>
          <div>
            <a href={hashOf("errors", keyOfGroup(group))}>{group.event ?? "no event"}</a>
            <span>{group.count} ×</span>
            <span class="at-end muted">
              since <Ago at={group.firstAt} />
            </span>
          </div>
          <p class="toned tone-bad">{group.message}</p>
        </li>
      ))}
    </ListPanel>
  );
}

const dueListed = 6;

function Due({ events }: { readonly events: readonly EventSummary[] }) {
  const next = events.toSorted((a, b) => Date.parse(a.dueAt) - Date.parse(b.dueAt)).slice(0, dueListed);
  return (
    <ListPanel title="Tried next" nothing="No event waits for another attempt.">
      {next.map((event) => (
        <li key={event.seq}>
          <EventLink event={event} />
          <TaskLink task={event.task} />
          <span class="at-end">
            <NextAttempt event={event} />
          </span>
        </li>
      ))}
    </ListPanel>
  );
}

function Sources({ sources }: Pick<Overview, "sources">) {
  const most = Math.max(1, ...sources.map(({ newest }) => newest));
  return (
    <ListPanel title="Tenants, of the newest events" nothing="No event yet." class="two-line-items">
      {sources.map(({ source, newest, waiting, failing, dead }) => (
        <li key={source}>
          <div>
            <a href={hashOf("events", null, { source })}>{tenantOf(source)}</a>
            <span class="at-end">{plural(newest, "event")}</span>
          </div>
          <meter aria-label={`events of ${tenantOf(source)}`} value={newest} max={most} />
          <p class={dead + failing > 0 ? "toned tone-bad" : "muted"}>
            {waiting} waiting, {dead} dead, {failing} failing or quarantined
          </p>
        </li>
      ))}
    </ListPanel>
  );
}

function Processes({ processes, nowMs }: Pick<Overview, "processes"> & { readonly nowMs: number }) {
  return (
    <ListPanel
      title="Processes with events"
      nothing="No process has claimed an event now."
      class="two-line-items"
    >
      {processes.map(({ worker, events, endsInMs }) => (
        <li key={worker}>
          <div>
            <span class={`badge tone-${endsInMs < 0 ? "bad" : "good"}`}>
              {endsInMs < 0 ? "gone" : "alive"}
            </span>
            <span class="mono one-line">{worker}</span>
          </div>
          <p class="muted">
            {plural(events, "event")}, lease {endsInMs < 0 ? "ended" : "ends"}{" "}
            {formatRelative(nowMs + endsInMs, nowMs)}
          </p>
        </li>
      ))}
    </ListPanel>
  );
}

function Reconciling({ overview: { receiver, reconciled } }: Props) {
  const agoMs = receiver?.reconcile.succeededAgoMs;
  return (
    <ListPanel
      title="Found by reconciling"
      nothing="The newest events were all delivered."
      class="two-line-items"
      footer={
        <p class="muted">
          {agoMs == null
            ? "This process does not reconcile."
            : `The last round succeeded ${formatDuration(agoMs)} ago.`}
        </p>
      }
    >
      {reconciled.map((event) => (
        <li key={event.seq}>
          <div>
            <EventLink event={event} />
            <TaskLink task={event.task} />
          </div>
          <p class="muted">
            {event.status} since <Ago at={event.receivedAt} />
          </p>
        </li>
      ))}
    </ListPanel>
  );
}
