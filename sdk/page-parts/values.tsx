import { type ComponentChildren, type ComponentType, Fragment } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import { Button, CopyButton, Notice, Toggles, type Tone } from "./controls.tsx";
import { type Filter, hashOf } from "./route.ts";
import { readProblemOf, ServerContext, useLive, useNowMs } from "./state.ts";
import { countBytes, formatExact, formatHex, formatTimeNear, indentJson, plural } from "./text.ts";

interface StatusText {
  readonly tone: Tone;
  /** The word on the page. Default: its name in the API. */
  readonly label?: string;
  /** What it means, where the word is not enough. */
  readonly about?: string;
}

/** The texts of one kind of record, by status. */
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

/** Stands for what has not been read yet. Most reads are quicker than an eye: the words appear after a moment. */
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

/** A view, or a part of one, whose module is loaded when it is first shown. @param name of its component there */
export function lazyView<Name extends string, Props extends object>(
  load: () => Promise<Readonly<Record<Name, ComponentType<Props>>>>,
  name: Name,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function LazyView(props) {
    const server = useContext(ServerContext);
    const [View, setView] = useState(() => loaded);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (View) return;
      load().then(
        (module) => {
          loaded = module[name];
          setView(() => loaded);
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

/** A time of the server, with its date on another day than now; the pointer shows it with milliseconds. */
export const Time = ({ at }: { readonly at: string }) => (
  <time title={formatExact(at)}>{formatTimeNear(at, useNowMs())}</time>
);

interface TotalProps {
  /** `undefined`: not read yet. */
  readonly count: number | string | undefined;
  /** What is counted, and the list of it. */
  readonly view: string;
  readonly filter?: Filter;
}

/** A large number, with a link to what it counts. */
export const Total = ({ count, view, filter }: TotalProps) => (
  <a class="total" href={hashOf(view, null, filter)} aria-label={`${count ?? "all"} ${view}`}>
    {count ?? "–"}
  </a>
);

interface FactsProps {
  readonly values: Readonly<Record<string, ComponentChildren>>;
  /** How a name is shown. Default: as it is. */
  readonly label?: (name: string) => ComponentChildren;
}

/** Names with values; one without a value is left out. */
export const Facts = ({ values, label = (name) => name }: FactsProps) => (
  <dl class="facts">
    {Object.entries(values).map(
      ([name, value]) =>
        value && (
          <Fragment key={name}>
            <dt>{label(name)}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
);

interface CopiedProps {
  readonly value: string;
  /** What the value is called. Default: itself. */
  readonly name?: string | undefined;
  readonly href?: string | undefined;
}

/** A whole id, key or URL with a button that copies it. */
export const Copied = ({ value, name, href }: CopiedProps) => (
  <>
    <span class="mono">{href ? <a href={href}>{value}</a> : value}</span>{" "}
    <CopyButton label="Copy" name={`Copy ${name ?? value}`} text={value} class="quiet" />
  </>
);

const formats = ["Exact", "Indented", "Hex"] as const;

/** A body as it was sent, indented, or as a hex dump. */
export function BodyText({ label, text }: { readonly label: string; readonly text: string }) {
  const [format, setFormat] = useState<(typeof formats)[number]>("Indented");
  const bytes = useMemo(() => countBytes(text), [text]);
  const indented = useMemo(() => indentJson(text), [text]);
  return (
    <section class="body-text" aria-label={label}>
      <div class="title-bar">
        <h4>
          {label} <span class="muted">{plural(bytes, "byte")}</span>
        </h4>
        <Toggles label={`${label} as`} names={formats} pressed={format} onPress={setFormat} />
        <CopyButton label="Copy" text={text} />
      </div>
      {format === "Hex" ? (
        <TextBlock hex text={formatHex(text)} />
      ) : (
        <TextBlock
          text={format === "Exact" ? text : (indented ?? text)}
          syntax={indented === null ? undefined : "json"}
        />
      )}
    </section>
  );
}

export const Truncated = () => (
  <p class="muted">The response was longer: only its start, up to here, was kept.</p>
);

/** What is coloured; the name of a group is the class of its text. */
const syntaxes = {
  json: /(?<key>"[^"\\]*(?:\\.[^"\\]*)*"(?=\s*:))|(?<string>"[^"\\]*(?:\\.[^"\\]*)*"?)|(?<word>[^\s{}[\],:"]+)/gs,
  headers: /^(?<muted>[^:\n]+:)/gm,
};

interface TextBlockProps {
  readonly text: string;
  /** The prefix is in front of the text, and marked. */
  readonly prefix?: string;
  readonly hex?: boolean;
  readonly syntax?: keyof typeof syntaxes | undefined;
}

/** Characters that are drawn at once: a browser needs seconds for a line of megabytes. */
const charsMax = 50_000;

/** Preformatted text that scrolls when it is long. */
export function TextBlock({ text, prefix, hex = false, syntax }: TextBlockProps) {
  const [shownMax, setShownMax] = useState(charsMax);
  const hidden = text.length - shownMax;
  const shown = hidden > 0 ? text.slice(0, shownMax) : text;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must do so from the keyboard too. */}
      <pre class={hex ? "hex" : undefined} tabIndex={0}>
        {prefix && <mark class="tone-wait">{prefix}</mark>}
        {syntax ? coloured(shown, syntaxes[syntax]) : shown}
      </pre>
      {hidden > 0 && (
        <div class="tools">
          <span class="muted">{plural(hidden, "character")} more.</span>
          <Button label="Show more" onClick={() => setShownMax(shownMax * 4)} />
        </div>
      )}
    </>
  );
}

function coloured(text: string, syntax: RegExp): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const { 0: token, index, groups = {} } of text.matchAll(syntax)) {
    const name = Object.keys(groups).find((group) => groups[group] !== undefined);
    parts.push(text.slice(end, index), <span class={name}>{token}</span>);
    end = index + token.length;
  }
  return [...parts, text.slice(end)];
}

export type HttpHeaders = Readonly<Record<string, string>>;

/** HTTP headers, one per line. */
export const linesOf = (headers: HttpHeaders): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

export const Headers = ({ headers }: { readonly headers: HttpHeaders }) => (
  <TextBlock syntax="headers" text={linesOf(headers) || "none"} />
);
