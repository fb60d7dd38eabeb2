import { LinkButton, Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn } from "@workspace-tasks/page-parts/lists.tsx";
import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import type { ViewProps } from "@workspace-tasks/page-parts/shell.tsx";
import { polled, useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { plural } from "@workspace-tasks/page-parts/text.ts";
import { Absent, Copied, Facts, Time } from "@workspace-tasks/page-parts/values.tsx";
import type { ErrorGroup, Overview } from "@workspace-tasks/receiver-kit/parts";
import { api } from "./api.ts";
import { Ago, BulkActions, keyOf, tenantOf } from "./parts.tsx";

const columnsOf = (rows: readonly ErrorGroup[], nowMs: number): readonly Column<ErrorGroup>[] => [
  timeColumn("last", rows, ({ lastAt }) => lastAt, nowMs),
  column(
    "error, event",
    ["minmax(220px, 3fr)", "minmax(160px, 2fr)", "minmax(0, 1fr)"],
    ({ message, event }) => [message, event ?? "no event"],
    { value: ({ message }) => message },
  ),
  column("since", ["110px", null, null], ({ firstAt }) => <Time at={firstAt} />, {
    class: "muted",
    value: ({ firstAt }) => firstAt,
  }),
  column("tenants", ["minmax(80px, 0.6fr)", null, null], ({ sources }) => sources.map(tenantOf).join(", "), {
    class: "muted",
  }),
  column("tasks", ["56px", "56px", null], ({ tasks }) => tasks.length, { class: "muted" }),
  column("events", ["110px", "110px", "104px"], (group) => <Counts group={group} />, {
    value: ({ count }) => count,
  }),
];

const Counts = ({ group: { count, dead, sample } }: { readonly group: ErrorGroup }) => (
  <span class="badge tone-bad">
    {[
      dead > 0 && `${dead} dead`,
      count > dead && `${count - dead} ${sample.state === "quarantined" ? "quarantined" : "failing"}`,
    ]
      .filter(Boolean)
      .join(", ")}
  </span>
);

export const keyOfGroup = ({ event, message }: ErrorGroup) => `${event} ${message}`;

/** Its events, and others with the same part of their error. */
const filterOf = ({ event, text }: ErrorGroup) => ({ ...(event && { event }), error: text });

export function ErrorsView({ id, filter, overview }: ViewProps<Overview>) {
  const nowMs = useNowMs();
  const read = useResource("errors", polled, api.errors);
  const rows = read?.data ?? [];
  const { event, text } = filter;
  const shown = rows.filter(
    (group) => (!event || group.event === event) && (!text || group.message.includes(text)),
  );
  return (
    <ListView
      view="errors"
      id={id}
      filter={filter}
      fields={[
        { name: "text", label: "errors that contain", placeholder: "part of an error" },
        { name: "event", label: "event", options: [...new Set(rows.flatMap((group) => group.event ?? []))] },
      ]}
      list={{ rows: shown, loading: read === undefined }}
      keyOf={keyOfGroup}
      columns={columnsOf(shown, nowMs)}
      actions={read?.isPartial && <span class="muted">of the newest failures</span>}
      nothing="No event is dead, quarantined or failing."
      detail={(key) => {
        const group = rows.find((each) => keyOfGroup(each) === key);
        if (group) return <Group key={key} group={group} readOnly={overview?.readOnly ?? true} />;
        return <Absent value={read && null} text="No event has this error now." />;
      }}
    />
  );
}

/** The server names no more. */
const tasksMax = 20;

function Group({ group, readOnly }: { readonly group: ErrorGroup; readonly readOnly: boolean }) {
  const { event, message, tasks, sources } = group;
  return (
    <section class="panel" aria-label="Error">
      <div class="title-bar">
        <h3>{event ?? "no event"}</h3>
        <LinkButton label="Its events" href={hashOf("events", null, filterOf(group))} />
        {!readOnly && <BulkActions filter={filterOf(group)} />}
      </div>
      <Notice tone="bad">{message}</Notice>
      <Facts
        values={{
          events: <Counts group={group} />,
          since: <Ago at={group.firstAt} />,
          last: <Ago at={group.lastAt} />,
          tenants: sources.map(tenantOf).join(", "),
          sample: <a href={hashOf("events", keyOf(group.sample))}>the newest event</a>,
        }}
      />
      <h4>
        {tasks.length === 0 ? "No task" : plural(tasks.length, "task")} affected
        {tasks.length === tasksMax && ", or more"}
      </h4>
      <ul class="items ids">
        {tasks.map((task) => (
          <li key={task}>
            <Copied value={task} href={hashOf("tasks", task)} />
          </li>
        ))}
      </ul>
    </section>
  );
}
