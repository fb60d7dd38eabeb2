import type { Filter } from "@workspace-tasks/page-parts/address.ts";
import {
  ActionButton,
  Actions,
  Button,
  Notice,
  useTemporary,
} from "@workspace-tasks/page-parts/controls.tsx";
import { plural } from "@workspace-tasks/page-parts/text.ts";
import { Facts } from "@workspace-tasks/page-parts/values.tsx";
import type { Preview } from "@workspace-tasks/receiver-kit/parts";
import { useRef, useState } from "preact/hooks";
import { type ActionName, api } from "./api.ts";
import { Ago } from "./parts.tsx";

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
