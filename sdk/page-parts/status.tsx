import type { ComponentType } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { Button, Notice, type Tone } from "./controls.tsx";
import { readProblemOf } from "./live.ts";
import { ServerContext, useLive } from "./state.ts";

interface StatusText {
  readonly tone: Tone;
  /** Default: its name in the API. */
  readonly label?: string;
  /** What it means, where the word is not enough. */
  readonly about?: string;
}

/** Of one kind of record, by status. */
export type StatusTexts = Readonly<Record<string, StatusText>>;

interface StatusBadgeProps {
  readonly status: string;
  readonly tone?: Tone | undefined;
  readonly of: StatusTexts;
}

/** A status in its colour. The word is always visible; the colour only repeats it. */
export function StatusBadge({ status, tone, of }: StatusBadgeProps) {
  const { label = status, about, tone: usual = "calm" } = of[status] ?? {};
  return (
    <span class={`badge tone-${tone ?? usual}`} title={about}>
      {label}
    </span>
  );
}

/** In place of what has not been read yet. Most reads are quicker than an eye: the words appear after a moment. */
export function Waiting() {
  const server = useContext(ServerContext);
  const connection = useLive((state) => state.connection);
  const problem = useLive(readProblemOf);
  if (connection === "lost") return <>Not read yet: the {server} does not respond.</>;
  return problem ? <>Not read.</> : <span class="waiting">Loading …</span>;
}

interface AbsentProps {
  /** `undefined`: not read yet; `null`: the server does not have it. */
  readonly value?: null | undefined;
  readonly text?: string;
}

/** The panel in place of something. */
export const Absent = ({ value, text }: AbsentProps) => (
  <div class="panel nothing">{value === undefined ? <Waiting /> : text}</div>
);

/** A view, or a part of one, that is loaded when it is first shown. */
export function lazyView<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function LazyView(props) {
    const server = useContext(ServerContext);
    const [View, setView] = useState(() => loaded);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (View) return;
      load().then(
        (view) => {
          loaded = view;
          setView(() => view);
        },
        () => setFailed(true),
      );
    }, []);
    if (View) return <View {...props} />;
    if (!hasFailed) {
      return (
        <div class="nothing">
          <Waiting />
        </div>
      );
    }
    return (
      <Notice tone="bad" isAlert>
        This view could not be loaded. The {server} was stopped, or replaced by another version.{" "}
        <Button label="Load the page again" onClick={() => location.reload()} />
      </Notice>
    );
  };
}
