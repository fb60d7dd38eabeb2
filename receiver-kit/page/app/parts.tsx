import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { useNowMs } from "@workspace-tasks/page-parts/state.ts";
import { StatusBadge, type StatusTexts } from "@workspace-tasks/page-parts/status.tsx";
import { formatExact, formatRelative, shortId } from "@workspace-tasks/page-parts/text.ts";
import { Time } from "@workspace-tasks/page-parts/values.tsx";
import type { EventSummary } from "@workspace-tasks/receiver-kit/parts";

/** Those of events, in the words of the page; the help lists them. */
export const states: StatusTexts = {
  pending: { tone: "wait", label: "waiting", about: "accepted, and not handled yet" },
  failing: { tone: "bad", label: "failing", about: "its last attempt failed; it is tried again" },
  running: { tone: "run", label: "running", about: "a process has it" },
  inline: { tone: "run", label: "inline", about: "a request handles it itself" },
  done: { tone: "good", label: "handled", about: "its handlers have returned" },
  stale: { tone: "calm", label: "stale", about: "something newer of its task had been applied before" },
  dead: { tone: "bad", label: "dead", about: "its last attempt failed; it waits for a person" },
  quarantined: {
    tone: "bad",
    label: "quarantined",
    about: "its signature is valid, but it is no event that is known",
  },
  discarded: { tone: "calm", label: "discarded", about: "a person has dismissed it" },
};

interface EventProps {
  readonly event: EventSummary;
}

export const EventBadge = ({ event: { state, lastError } }: EventProps) => (
  <StatusBadge status={state === "pending" && lastError !== null ? "failing" : state} of={states} />
);

/** When a waiting event is tried next; nothing for another one. */
export function NextAttempt({ event: { state, attempts, dueAt } }: EventProps) {
  const nowMs = useNowMs();
  if (state !== "pending") return null;
  const dueMs = Date.parse(dueAt);
  return (
    <span class="muted" title={formatExact(dueAt)}>
      attempt {attempts + 1} {dueMs <= nowMs ? "is due" : formatRelative(dueMs, nowMs)}
    </span>
  );
}

/** `12:00:00, 5 min ago`. */
export function Ago({ at }: { readonly at: string }) {
  const nowMs = useNowMs();
  const awayMs = Math.trunc((Date.parse(at) - nowMs) / 1_000) * 1_000;
  return (
    <>
      <Time at={at} />, {formatRelative(nowMs + awayMs, nowMs)}
    </>
  );
}

/** The name of a row in an address. */
export const keyOf = ({ source, id }: Pick<EventSummary, "source" | "id">) => `${source} ${id}`;

export const EventLink = ({ event }: EventProps) => (
  <a href={hashOf("events", keyOf(event))}>{event.event ?? "no event"}</a>
);

export const TaskLink = ({ task }: { readonly task: string | null }) =>
  task === null ? (
    <span class="muted">–</span>
  ) : (
    <a class="mono" href={hashOf("tasks", task)} title={task}>
      {shortId(task)}
    </a>
  );

/** The tenant of a source, or the source where there are no tenants. */
export const tenantOf = (source: string) => source.slice(source.indexOf("/") + 1);
