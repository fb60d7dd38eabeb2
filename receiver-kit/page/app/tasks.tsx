import { LinkButton } from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn } from "@workspace-tasks/page-parts/lists.tsx";
import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import type { ViewProps } from "@workspace-tasks/page-parts/shell.tsx";
import { polled, useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { plural, shortId } from "@workspace-tasks/page-parts/text.ts";
import { Absent, Copied, Time } from "@workspace-tasks/page-parts/values.tsx";
import type { EventSummary, Overview, TaskEvent } from "@workspace-tasks/receiver-kit/parts";
import { api } from "./api.ts";
import { EventBadge, EventLink, NextAttempt, tenantOf } from "./parts.tsx";

/** A task with events that are not handled, by the newest of them. */
interface AffectedTask {
  readonly task: string;
  readonly events: readonly EventSummary[];
  readonly newest: EventSummary;
}

const columnsOf = (rows: readonly AffectedTask[], nowMs: number): readonly Column<AffectedTask>[] => [
  timeColumn("received", rows, ({ newest }) => newest.receivedAt, nowMs),
  column("task", ["92px", "92px", "92px"], ({ task }) => <span class="mono">{shortId(task)}</span>, {
    value: ({ task }) => task,
  }),
  column("tenant", ["minmax(80px, 0.5fr)", "minmax(70px, 0.5fr)", null], ({ newest }) =>
    tenantOf(newest.source),
  ),
  column("events", ["60px", "60px", null], ({ events }) => events.length, { class: "muted" }),
  column(
    "state, last error",
    ["minmax(180px, 2fr)", "minmax(130px, 1.5fr)", "minmax(0, 1fr)"],
    ({ newest }) => [<EventBadge event={newest} />, newest.lastError],
    { value: ({ newest }) => `${newest.state} ${newest.lastError}` },
  ),
];

/** The tasks of the newest events that are dead, quarantined or failing; each task by its id. */
export function TasksView({ id, filter }: ViewProps<Overview>) {
  const nowMs = useNowMs();
  const read = useResource("unhandled", polled, async () => {
    const pages = ["dead,quarantined", "failing"].map((state) => api.events({ state }));
    const events = (await Promise.all(pages)).flatMap(({ data }) => data);
    return events.sort((a, b) => b.seq - a.seq);
  });
  const rows = affectedTasks(read ?? []);
  return (
    <ListView
      view="tasks"
      id={id}
      filter={filter}
      fields={[]}
      list={{ rows, loading: read === undefined }}
      keyOf={({ task }) => task}
      columns={columnsOf(rows, nowMs)}
      nothing="No task has an event that is dead, quarantined or failing. The search above opens any task by its id."
      detail={(task) => <Task key={task} id={task} />}
    />
  );
}

function affectedTasks(events: readonly EventSummary[]): readonly AffectedTask[] {
  const byTask = new Map<string, EventSummary[]>();
  for (const event of events)
    if (event.task !== null) byTask.set(event.task, [...(byTask.get(event.task) ?? []), event]);
  return [...byTask].flatMap(([task, events]) => (events[0] ? [{ task, events, newest: events[0] }] : []));
}

function Task({ id }: { readonly id: string }) {
  const read = useResource(`task ${id}`, polled, () => api.task(id));
  if (!read || read.data.length === 0)
    return <Absent value={read && null} text="The inbox has no event of this task." />;
  const { data } = read;
  return (
    <section class="panel" aria-label="Task">
      <div class="title-bar">
        <h3>{plural(data.length, "event")} of a task</h3>
        <LinkButton label="In the list" href={hashOf("events", null, { task: id })} />
      </div>
      <p>
        <Copied value={id} /> <span class="muted">of {tenantOf(data[0]?.source ?? "")}</span>
      </p>
      <ol class="items two-line-items" aria-label="Events in their order">
        {data.map((event) => (
          <TaskLine key={`${event.source} ${event.id}`} event={event} />
        ))}
      </ol>
    </section>
  );
}

function TaskLine({ event }: { readonly event: TaskEvent }) {
  return (
    <li>
      <div>
        <span class="muted">
          <Time at={event.receivedAt} />
        </span>
        <EventLink event={event} />
        <span class="at-end">
          <NextAttempt event={event} /> <EventBadge event={event} />
        </span>
      </div>
      <p class={event.lastError && event.state !== "done" ? "toned tone-bad" : "muted"}>{event.note}</p>
    </li>
  );
}
