import type { ComponentChildren, ComponentType } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Actions, Button, type Tone, useKeys } from "./controls.tsx";
import { type Filter, goTo, hashOf, titleOf, useRoute } from "./route.ts";
import { NowContext, readProblemOf, ServerContext, useLive, useNowMs } from "./state.ts";
import { formatCount, formatTime } from "./text.ts";
import { Facts, StatusBadge, type StatusTexts } from "./values.tsx";
import "./elements.css";
import "./layout.css";
import "./parts.css";

export interface ViewProps<Overview> {
  readonly id: string | null;
  readonly filter: Filter;
  readonly overview: Overview | undefined;
}

export interface View<Overview> {
  /** Its name in the address; its title begins with a capital letter. */
  readonly name: string;
  readonly Component: ComponentType<ViewProps<Overview>>;
  /** The count is shown beside the title. */
  count?(overview: Overview): number;
  /** What needs attention, in words; shown when its number is not 0. */
  readonly alert?: { readonly tone: Tone; readonly word: string; count(overview: Overview): number };
}

interface ShellProps<Overview> {
  readonly views: readonly View<Overview>[];
  readonly overview: Overview | undefined;
  /** What serves the page: `mock`. */
  readonly server: string;
  /** What is beside the name of the product. Default: the server. */
  readonly name?: string | undefined;
  /** 0: not read yet. */
  readonly nowMs: number;
  readonly search?: SearchProps | undefined;
  /** The clock of the bar. */
  readonly clock: ComponentChildren;
  readonly help: HelpProps;
  /** The banner is below the view, while nothing is wrong with the connection. */
  readonly banner?: ComponentChildren;
}

/** A page: a bar, its views with their counts, the view of the address, and what needs attention below it. */
export function Shell<Overview>({ views, overview, server, nowMs, ...props }: ShellProps<Overview>) {
  const { view: name, id, filter } = useRoute();
  const view = views.find((candidate) => candidate.name === name);
  useKeys({
    ...Object.fromEntries(views.map(({ name }, index) => [index + 1, () => goTo(name)])),
    f: () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
  });
  useEffect(() => {
    document.title = `${view ? titleOf(view.name) : "Unknown"} · workspace-tasks ${server}`;
  }, [view]);
  const hasCounts = overview !== undefined;
  useEffect(() => {
    // On a narrow screen the views are a strip that scrolls; counts make it longer.
    const link = document.querySelector<HTMLElement>(".views [aria-current]");
    // Not into view: that would also scroll a page that has this one in a frame.
    const strip = link?.closest(".views");
    if (!link || !strip) return;
    strip.scrollLeft = link.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
    strip.scrollTop = link.offsetTop - (strip.clientHeight - link.offsetHeight) / 2;
  }, [view, hasCounts]);
  return (
    <ServerContext.Provider value={server}>
      <NowContext.Provider value={nowMs}>
        <div class="shell">
          <header class="bar">
            <Product name={props.name ?? server} />
            <Connection />
            {props.search && <Search {...props.search} />}
            {props.clock}
            <Help views={views.map(({ name }) => titleOf(name))} {...props.help} />
          </header>
          <nav class="views" aria-label="Views">
            {views.map((each) => (
              <ViewLink key={each.name} view={each} isCurrent={each === view} overview={overview} />
            ))}
          </nav>
          <main class="view">
            {view ? (
              <view.Component key={view.name} id={id} filter={filter} overview={overview} />
            ) : (
              <div class="nothing">
                There is no view “{name}”. <a href={hashOf("overview")}>To the overview</a>
              </div>
            )}
          </main>
          <Banner>{props.banner}</Banner>
        </div>
      </NowContext.Provider>
    </ServerContext.Provider>
  );
}

const Product = ({ name }: { readonly name: string }) => (
  <h1>
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <rect x="1" y="1" width="18" height="18" rx="5" fill="var(--accent)" />
      <path d="M5.5 10.5l3 3 6-7" fill="none" stroke="var(--accent-text)" stroke-width="2" />
    </svg>
    <span class="product">workspace-tasks</span> <span class="muted">{name}</span>
  </h1>
);

function Connection() {
  const server = useContext(ServerContext);
  const connection = useLive((state) => state.connection);
  const tone = { connecting: "calm", live: "good", lost: "bad", paused: "calm" }[connection];
  return (
    <span class={`badge tone-${tone}`} role="status">
      {connection === "lost" ? `no ${server}` : connection}
    </span>
  );
}

interface ViewLinkProps<Overview> {
  readonly view: View<Overview>;
  readonly isCurrent: boolean;
  readonly overview: Overview | undefined;
}

function ViewLink<Overview>({ view: { name, count, alert }, isCurrent, overview }: ViewLinkProps<Overview>) {
  const alerts = overview ? (alert?.count(overview) ?? 0) : 0;
  return (
    <a href={hashOf(name)} aria-current={isCurrent ? "page" : undefined}>
      {titleOf(name)}
      {alert && alerts > 0 && (
        <span class={`badge tone-${alert.tone}`} title={`${alerts} ${alert.word}`}>
          {formatCount(alerts)}
          <span class="spoken"> {alert.word}</span>
        </span>
      )}
      {count && overview && <span class="count">{formatCount(count(overview))}</span>}
    </a>
  );
}

/**
 * What changes everything else on the page: no server, values that are missing, or `children`. It is below the view,
 * where it moves nothing when it appears.
 */
function Banner({ children }: { readonly children: ComponentChildren }) {
  const server = useContext(ServerContext);
  const connection = useLive((state) => state.connection);
  const problem = useLive(readProblemOf);
  const trouble =
    connection === "lost"
      ? `The ${server} does not respond. The page shows what it last read, and continues when a ${server} runs here again.`
      : problem && `Not everything could be read: ${problem}`;
  if (!trouble) return <>{children}</>;
  return (
    <aside class="banner tone-bad" aria-label="Problem">
      <span role="alert">{trouble}</span>
    </aside>
  );
}

/**
 * The server's time, and what changes it: what changes the width of the time is left of the buttons, so that none of
 * them moves under the mouse.
 */
export function Clock({ children }: { readonly children?: ComponentChildren }) {
  const nowMs = useNowMs();
  if (nowMs === 0) return <div class="clock" />;
  return (
    <Actions class="clock">
      <time class="mono" dateTime={new Date(nowMs).toISOString()}>
        <span class="year">{formatTime(nowMs).slice(0, 5)}</span>
        {formatTime(nowMs).slice(5)} <span class="muted">UTC</span>
      </time>
      {children}
    </Actions>
  );
}

export interface SearchLink {
  readonly kind: string;
  readonly href: string;
  readonly title: string;
  readonly detail?: string;
}

interface SearchProps {
  readonly placeholder: string;
  /** Links to what contains a text, the best first. */
  readonly find: (text: string) => Promise<readonly SearchLink[]>;
}

interface Found {
  readonly text: string;
  readonly links: readonly SearchLink[];
}

const nothing: Found = { text: "", links: [] };

/** A pause in typing after which the server searches. */
const pauseMs = 120;

/** One field for everything: an id opens its object, other text offers links to what contains it. */
function Search({ placeholder, find }: SearchProps) {
  const box = useRef<HTMLElement>(null);
  const [typed, setTyped] = useState("");
  const [found, setFound] = useState(nothing);
  const text = typed.trim();
  const search = async () => (text === "" ? nothing : { text, links: await find(text) });
  useEffect(() => {
    let isStale = false;
    const timer = setTimeout(() => void search().then((read) => isStale || setFound(read)), pauseMs);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [text]);
  const hadFocus = box.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    // The link that had the focus is not found any more.
    if (hadFocus && !box.current?.contains(document.activeElement))
      box.current?.querySelector("input")?.focus();
  });
  useKeys({ "/": () => box.current?.querySelector("input")?.select() });
  const close = () => (document.activeElement as HTMLElement | null)?.blur();
  const openFirst = async () => {
    // What was pasted just now has not been searched yet.
    const [first] = (found.text === text ? found : await search()).links;
    if (!first) return;
    location.hash = first.href;
    close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement) void openFirst();
    else if (step !== undefined) {
      const stops = [...(box.current?.querySelectorAll<HTMLElement>("input, a") ?? [])];
      stops[stops.indexOf(event.target as HTMLElement) + step]?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <search class="search" ref={box} onKeyDown={onKeyDown}>
      <input
        type="search"
        aria-label="Search everything"
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {found.text !== "" && (
        // A press of the mouse leaves the focus where it is, or the links would be gone before the click.
        <nav class="results" aria-label="Search results" onMouseDown={(event) => event.preventDefault()}>
          {found.links.map(({ kind, href, title, detail }) => (
            <a key={href} href={href} onClick={close}>
              <span class="muted">{kind}</span>
              <span>{title}</span>
              <span class="muted">{detail}</span>
            </a>
          ))}
        </nav>
      )}
    </search>
  );
}

interface HelpProps {
  /** What keys do, besides those of every page; names of keys are separated by a space. */
  readonly keys: readonly (readonly [names: string, effect: string])[];
  /** Words whose meaning is not clear, and their heading. */
  readonly statusesOf: string;
  readonly statuses: StatusTexts;
}

/** The button that shows the keys of the page. @param props.views titles, in the order of their keys */
function Help({ views, keys, statusesOf, statuses }: HelpProps & { readonly views: readonly string[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const show = () => dialog.current?.showModal();
  useKeys({ "?": show });
  const all = [
    ...views.map((title, index) => [`${index + 1}`, title] as const),
    ["j k", "next and previous row (also the arrow keys, Home, End)"],
    ["/", "search everything"],
    ["f", "to the filter of the view"],
    ...keys,
    ["Esc", "close the selected row"],
    ["?", "this list"],
  ] as const;
  return (
    <>
      <Button label="?" onClick={show} name="? Keys and words" />
      <dialog ref={dialog} aria-labelledby="help-title">
        <div class="title-bar">
          <h2 id="help-title">Keys and words</h2>
          <Button label="Close" onClick={() => dialog.current?.close()} />
        </div>
        <Facts
          values={Object.fromEntries(all)}
          label={(names) => names.split(" ").map((name) => <kbd key={name}>{name}</kbd>)}
        />
        <h3>States of {statusesOf}</h3>
        <Facts
          values={Object.fromEntries(Object.entries(statuses).map(([status, { about }]) => [status, about]))}
          label={(status) => <StatusBadge status={status} of={statuses} />}
        />
      </dialog>
    </>
  );
}
