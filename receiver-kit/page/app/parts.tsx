import {
  ActionButton,
  Actions,
  Button,
  Notice,
  useTemporary,
} from "@workspace-tasks/page-parts/controls.tsx";
import { type Filter, hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs } from "@workspace-tasks/page-parts/state.ts";
import { formatExact, formatRelative, plural, shortId } from "@workspace-tasks/page-parts/text.ts";
import { Facts, StatusBadge, type StatusTexts, Time } from "@workspace-tasks/page-parts/values.tsx";
import type { EventSummary, Preview } from "@workspace-tasks/receiver-kit/parts";
import { useRef, useState } from "preact/hooks";
import { type ActionName, api } from "./api.ts";

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

const titles: Readonly<Record<ActionName, string>> = { replay: "Replay", discard: "Discard" };

interface Asked {
  readonly action: ActionName;
  readonly preview: Preview;
}

/** Replays or discards all that a filter finds, after a question that says how many these are. */
export function BulkActions({ filter }: { readonly filter: Filter }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [done, setDone] = useTemporary<string>(6_000);
  const ask = (action: ActionName) => async () => {
    setAsked({ action, preview: await api.count(action, filter) });
    dialog.current?.showModal();
  };
  const close = () => dialog.current?.close();
  const run = async ({ action, preview: { beforeSeq } }: Asked) => {
    const { counts, isPartial } = await api.act(action, { filter, beforeSeq });
    close();
    const outcomes = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
    const rest = isPartial ? " Some are left: do the same once more." : "";
    setDone((outcomes.join(", ") || "Nothing was changed.") + rest);
  };
  return (
    <Actions>
      <ActionButton label="Replay these …" onRun={ask("replay")} />
      <ActionButton label="Discard these …" onRun={ask("discard")} class="toned tone-bad" />
      <dialog ref={dialog} aria-labelledby="bulk-title" onClose={() => setAsked(null)}>
        {asked && <Question asked={asked} onRun={() => run(asked)} onCancel={close} />}
      </dialog>
      {done && (
        <Notice tone="good" isAlert>
          {done}
        </Notice>
      )}
    </Actions>
  );
}

interface QuestionProps {
  readonly asked: Asked;
  readonly onRun: () => unknown;
  readonly onCancel: () => void;
}

function Question({ asked: { action, preview }, onRun, onCancel }: QuestionProps) {
  const { count, isPartial, firstAt, lastAt, events } = preview;
  const what = `${titles[action]} ${isPartial ? "more than " : ""}${plural(count, "event")}`;
  return (
    <>
      <div class="title-bar">
        <h2 id="bulk-title">{count === 0 ? "No event can be changed" : `${what}?`}</h2>
      </div>
      <Facts
        values={{
          events: Object.entries(events)
            .map(([name, number]) => `${number} ${name}`)
            .join(", "),
          from: firstAt && <Ago at={firstAt} />,
          to: lastAt && <Ago at={lastAt} />,
        }}
      />
      <p class="muted">
        {action === "replay"
          ? "Their handlers run again. What is older than the state of its task is not applied."
          : "They are handled no more, and removed with the other old events."}
      </p>
      <Actions>
        {count > 0 && <ActionButton label={what} class="primary" onRun={onRun} />}
        <Button label="Cancel" onClick={onCancel} />
      </Actions>
    </>
  );
}
