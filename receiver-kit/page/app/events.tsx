import { ActionButton, Actions, CopyButton, Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn, usePages } from "@workspace-tasks/page-parts/lists.tsx";
import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import type { ViewProps } from "@workspace-tasks/page-parts/shell.tsx";
import { polled, useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { plural, shortId } from "@workspace-tasks/page-parts/text.ts";
import { Absent, BodyText, Copied, Facts } from "@workspace-tasks/page-parts/values.tsx";
import type { EventDetail as Detail, EventSummary, Overview } from "@workspace-tasks/receiver-kit/parts";
import { type ActionName, api } from "./api.ts";
import { Ago, BulkActions, EventBadge, keyOf, NextAttempt, states, tenantOf } from "./parts.tsx";

const columnsOf = (rows: readonly EventSummary[], nowMs: number): readonly Column<EventSummary>[] => [
  timeColumn("received", rows, ({ receivedAt }) => receivedAt, nowMs),
  column(
    "event, tenant",
    ["minmax(130px, 1fr)", "minmax(110px, 1fr)", "minmax(0, 1fr)"],
    ({ event, source }) => [event ?? "no event", tenantOf(source)],
    { value: ({ event, source }) => `${event} ${source}` },
  ),
  column("task", ["92px", "92px", "92px"], ({ task }) => <span class="mono">{task && shortId(task)}</span>, {
    class: "muted",
    value: ({ task }) => task ?? "",
  }),
  column(
    "state, next attempt",
    ["170px", "150px", "136px"],
    (event) => [<EventBadge event={event} />, <NextAttempt event={event} />],
    { value: ({ state, dueAt }) => `${state} ${dueAt}` },
  ),
  column("last error", ["minmax(140px, 2fr)", null, null], ({ lastError }) => lastError, { class: "muted" }),
];

const stateOptions = [
  { value: "pending,running", text: "waiting or running" },
  { value: "dead,quarantined", text: "dead or quarantined" },
  ...Object.entries(states).map(([value, { label }]) => ({ value, text: label ?? value })),
];

/** What an address names is a choice, too. */
const withChosen = (options: readonly string[], chosen = "") =>
  [...new Set([...options, chosen])].filter((option) => option !== "");

const eventNames = ["task.*", "subtask.*", "task.completed", "task.failed", "task.running"];

export function EventsView({ id, filter, overview }: ViewProps<Overview>) {
  const nowMs = useNowMs();
  const { sort, ...query } = filter;
  const list = usePages(`events ${JSON.stringify(query)}`, polled, ({ iterator = "" }) =>
    api.events({ ...query, iterator }),
  );
  const sources = overview?.sources.map(({ source }) => source) ?? [];
  return (
    <ListView
      view="events"
      id={id}
      filter={filter}
      fields={[
        { name: "error", label: "events whose last error contains", placeholder: "part of the last error" },
        { name: "state", label: "state", options: stateOptions },
        { name: "event", label: "event", options: withChosen(eventNames, filter["event"]) },
        {
          name: "source",
          label: "tenant",
          options: withChosen(sources, filter["source"]).map((value) => ({ value, text: tenantOf(value) })),
        },
      ]}
      actions={overview?.readOnly === false && <BulkActions filter={query} />}
      list={list}
      keyOf={keyOf}
      columns={columnsOf(list.rows, nowMs)}
      nothing="No event yet: the receiver has accepted no delivery."
      detail={(key) => <EventDetail key={key} id={key} readOnly={overview?.readOnly ?? true} />}
    />
  );
}

interface DetailProps {
  readonly id: string;
  readonly readOnly: boolean;
}

function EventDetail({ id: key, readOnly }: DetailProps) {
  const [source = "", ...rest] = key.split(" ");
  const id = rest.join(" ");
  const event = useResource(`event ${key}`, polled, () => api.event(source, id));
  if (!event)
    return (
      <Absent
        value={event}
        text="The inbox does not have this event: handled ones are removed after some days."
      />
    );
  const act = (name: ActionName) => () => api.act(name, { source, id });
  return (
    <section class="panel" aria-label="Event">
      <div class="title-bar">
        <h3>{event.event ?? "no event"}</h3>
        <EventBadge event={event} />
        <Actions>
          {!readOnly && canReplay(event) && (
            <ActionButton label="Replay" onRun={act("replay")} shortcut="r" class="primary" />
          )}
          {!readOnly && isUnhandled(event) && (
            <ActionButton label="Discard" onRun={act("discard")} asksFirst class="toned tone-bad" />
          )}
          <CopyButton label="Copy link" text={() => location.href} />
        </Actions>
      </div>
      {event.lastError && <Notice tone={event.state === "done" ? "calm" : "bad"}>{event.lastError}</Notice>}
      <EventFacts event={event} />
      {event.body !== null && <BodyText label="Body" text={event.body} />}
    </section>
  );
}

const isUnhandled = ({ state }: EventSummary) => state === "dead" || state === "quarantined";
const canReplay = ({ state, bodyBytes }: Detail) =>
  bodyBytes !== null && !["pending", "running", "inline"].includes(state);

function EventFacts({ event }: { readonly event: Detail }) {
  const { bodyBytes, replays, attempts } = event;
  return (
    <Facts
      values={{
        next: event.next,
        attempts: `${attempts}${replays > 0 ? `, after ${plural(replays, "replay")}` : ""}`,
        task: event.task && <Copied value={event.task} href={hashOf("tasks", event.task)} />,
        tenant: <a href={hashOf("events", null, { source: event.source })}>{tenantOf(event.source)}</a>,
        signed: event.channel === "webhook" && <Ago at={event.signedAt} />,
        occurred: event.occurredAt && <Ago at={event.occurredAt} />,
        received: <Ago at={event.receivedAt} />,
        died: event.diedAt && <Ago at={event.diedAt} />,
        "found by": event.channel === "reconcile" && "reconciling with the tasks API; it was not delivered",
        "webhook-id": <Copied value={event.id} />,
        secret: event.secretIndex === null ? null : `number ${event.secretIndex + 1}`,
        traceparent: event.traceparent && <Copied value={event.traceparent} />,
        body: bodyBytes === null ? "removed, it cannot be replayed" : plural(bodyBytes, "byte"),
      }}
    />
  );
}
