import { createContext } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";

// What a page knows of its server: a stream of events, or a poll, says what has changed, by topic; what is on the screen is
// then read again, at a rate that page and server can bear.

/** One activity of the stream; its type is `topic.verb`. */
export interface Activity {
  readonly type: string;
  readonly sequence: number;
  readonly at: string;
  readonly [field: string]: unknown;
}

export interface LiveState {
  /** `paused`: the tab is hidden. */
  readonly connection: "connecting" | "live" | "lost" | "paused";
  /** Newest first. */
  readonly recent: readonly Activity[];
  /** Number of changes per topic. */
  readonly changes: Readonly<Record<string, number>>;
  /**
   * Why a part of the page is missing or old, although the server is there: it rejected a read, did not respond in time,
   * or something else responded in its place. By reader, the latest last.
   */
  readonly problems: ReadonlyMap<object, string>;
}

/** A list of the newest has as many. */
export const recentMax = 10;

export const initialLiveState: LiveState = {
  connection: "connecting",
  recent: [],
  changes: {},
  problems: new Map(),
};

/** What the server is called in messages: `mock`. */
export const ServerContext = createContext("server");

/** The server's time; 0 before it has been read. */
export const NowContext = createContext(0);

export const useNowMs = () => useContext(NowContext);

/** A time that was read, and that advances until it is read again. @param now `undefined`: not read yet */
export function useAdvancing(now: string | undefined, isAdvancing: boolean): number {
  const [drift, setDrift] = useState(0);
  useEffect(() => {
    setDrift(0);
    if (now === undefined || !isAdvancing) return;
    const startedAtMs = performance.now();
    const timer = setInterval(() => setDrift(performance.now() - startedAtMs), 500);
    return () => clearInterval(timer);
  }, [now, isAdvancing]);
  return now === undefined ? 0 : Date.parse(now) + drift;
}

let state = initialLiveState;
const listeners = new Set<() => void>();

function change(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

/** The part of the live state that `select` picks; draws again only when that part changes. */
export function useLive<Part>(select: (state: LiveState) => Part): Part {
  const [part, setPart] = useState(() => select(state));
  useEffect(() => {
    const listener = () => setPart(() => select(state));
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return part;
}

/** Calls `open` while the page is visible, and `close` when it is hidden. */
function followVisibility(open: () => void, close: () => void): void {
  const follow = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", follow);
  follow();
}

export type ActivitySource = Pick<EventSource, "onopen" | "onmessage" | "onerror" | "readyState" | "close">;

/** The browser resumes a stream that broke off, but not one that the server has rejected. */
const reopenMs = 1_000;

/**
 * Reads the event stream while the page is visible. A browser has six connections to a host: streams of hidden tabs
 * would block every tab.
 */
export function startStream(openStream: () => ActivitySource): void {
  let batch: Activity[] = [];
  // The page draws once per frame, however many activities arrive.
  const flush = () => {
    const taken = batch;
    batch = [];
    change(addActivities(state, taken));
  };
  let source: ActivitySource | null = null;
  const open = () => {
    if (source) return;
    const opened = openStream();
    source = opened;
    opened.onopen = () => change(setConnection(state, "live"));
    opened.onerror = () => {
      change(setConnection(state, "lost"));
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
      source = null;
      setTimeout(() => document.hidden || open(), reopenMs);
    };
    opened.onmessage = ({ data }) => {
      if (batch.push(JSON.parse(data as string) as Activity) === 1) requestAnimationFrame(flush);
    };
  };
  followVisibility(open, () => {
    source?.close();
    source = null;
    change(setConnection(state, "paused"));
  });
}

/** The topic of what is read again at each poll. */
export const polled = ["poll"];

/**
 * Has everything with the topic of polls read again from time to time while the page is visible. What reads tell of the
 * connection is the state of the page.
 */
export function startPolling(everyMs: number): void {
  isPolling = true;
  let timer = 0;
  const open = () => {
    change(setConnection(state, "connecting"));
    pollNow();
    timer = window.setInterval(pollNow, everyMs);
  };
  followVisibility(open, () => {
    clearInterval(timer);
    change(setConnection(state, "paused"));
  });
}

let isPolling = false;

const pollNow = () => change(addActivities(state, [{ type: "poll.due", sequence: 0, at: "" }]));

/** What follows from an action comes a moment after it. */
const effectMs = 1_000;

/** After an action: what it changed is read at once, and again after a moment. */
export function pollAfterAction(): void {
  pollNow();
  setTimeout(pollNow, effectMs);
}

/** Reads start at least this far apart; a slow one delays the next, so that half of the time stays free. */
const pauseMsMin = 200;

/** After a failed read, whose cause may have passed. */
const retryMs = 3_000;

/**
 * A value of the server, read again when one of `topics` changes, or when `revision` does. A `null` key reads nothing.
 * `undefined` until the first response, `null` when the server does not have it: the error of `read` has the code
 * `NOT_FOUND`. When a read fails, the last value stays, the page says why, and it is read again.
 * @param revision can depend on the value itself
 */
export function useResource<Value>(
  key: string | null,
  topics: readonly string[],
  read: () => Promise<Value>,
  revision: (value: Value | null | undefined) => number = () => 0,
): Value | null | undefined {
  const [held, setHeld] = useState<{ key: string; value: Value | null } | undefined>();
  const version = useLive((state) => versionOf(state, topics)) + revision(held?.value);
  // One reader follows a key; a slow read of another key does not delay it.
  const reader = useMemo(() => createReader(key, read, setHeld), [key]);
  reader.read = read;
  useEffect(() => reader.schedule(0), [reader, version]);
  useEffect(() => reader.stop, [reader]);
  return held && held.key === key ? held.value : undefined;
}

function createReader<Value>(
  key: string | null,
  read: () => Promise<Value>,
  hold: (held: { key: string; value: Value | null }) => void,
) {
  let isBusy = false;
  let isDirty = false;
  let isStopped = key === null;
  let nextAtMs = 0;
  let timer = 0;
  const run = async () => {
    isBusy = true;
    isDirty = false;
    const startedAtMs = performance.now();
    const { value, problem, code } = await readOrNull(reader.read);
    if (isStopped) return;
    isBusy = false;
    const readMs = performance.now() - startedAtMs;
    nextAtMs = performance.now() + Math.max(pauseMsMin, readMs);
    if (isPolling && state.connection !== "paused")
      change(setConnection(state, code === lost ? "lost" : "live"));
    change(setReadProblem(state, reader, problem));
    if (value !== undefined) hold({ key: key ?? "", value });
    if (isDirty) reader.schedule(0);
    else if (passing.includes(code) && !["lost", "paused"].includes(state.connection))
      reader.schedule(retryMs);
  };
  const reader = {
    read,
    schedule(afterMs: number) {
      isDirty = true;
      if (isBusy || isStopped) return;
      clearTimeout(timer);
      timer = window.setTimeout(run, Math.max(afterMs, nextAtMs - performance.now()));
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
      change(setReadProblem(state, reader, null));
    },
  };
  return reader;
}

interface ReadResult<Value> {
  readonly value: Value | null | undefined;
  readonly problem: string | null;
  /** The code of the error. */
  readonly code: string;
}

/** There was no response. */
const lost = "NETWORK_FAILED";

/** Whether the same read can succeed later. */
const passing = [lost, "REQUEST_TIMEOUT", "RESPONSE_INVALID", "INTERNAL"];

async function readOrNull<Value>(read: () => Promise<Value>): Promise<ReadResult<Value>> {
  try {
    return { value: await read(), problem: null, code: "" };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "NOT_FOUND") return { value: null, problem: null, code };
    return { value: undefined, problem: error instanceof Error ? error.message : String(error), code };
  }
}

/** Adds a batch of activities, oldest first. */
export function addActivities(state: LiveState, batch: readonly Activity[]): LiveState {
  if (batch.length === 0) return state;
  const changes: Record<string, number> = { ...state.changes };
  for (const { type } of batch) {
    const topic = topicOf(type);
    changes[topic] = (changes[topic] ?? 0) + 1;
  }
  // Another state of the server has another time: what was before it would look later.
  const restart = batch.findLastIndex(({ type }) => topicOf(type) === "stream");
  const shown = batch
    .slice(restart + 1)
    .slice(-recentMax)
    .reverse();
  const recent = [...shown, ...(restart < 0 ? state.recent : [])].slice(0, recentMax);
  return { ...state, changes, recent };
}

/**
 * After a lost or paused connection the server may be another one, or may have dropped what was missed without
 * knowing this reader: everything counts as changed.
 */
export function setConnection(state: LiveState, connection: LiveState["connection"]): LiveState {
  if (state.connection === connection) return state;
  const changes =
    (state.connection === "lost" || state.connection === "paused") && connection === "live"
      ? { ...state.changes, stream: (state.changes["stream"] ?? 0) + 1 }
      : state.changes;
  return { ...state, connection, changes };
}

/** A number that changes with each of the topics, and when everything must be read again. */
export function versionOf(state: LiveState, topics: readonly string[]): number {
  return ["stream", ...topics].reduce((sum, topic) => sum + (state.changes[topic] ?? 0), 0);
}

/** @param problem `null`: the last read succeeded, or its reader left the page */
export function setReadProblem(state: LiveState, reader: object, problem: string | null): LiveState {
  if (problem === (state.problems.get(reader) ?? null)) return state;
  const problems = new Map(state.problems);
  if (problem === null) problems.delete(reader);
  else problems.set(reader, problem);
  return { ...state, problems };
}

/** The latest problem that still exists. */
export const readProblemOf = ({ problems }: LiveState): string | undefined => [...problems.values()].at(-1);

function topicOf(type: string): string {
  return type.slice(0, type.indexOf(".")) || type;
}
