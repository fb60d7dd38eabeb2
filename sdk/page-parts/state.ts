import { createContext } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import {
  type Activity,
  addActivities,
  initialLiveState,
  type LiveState,
  setConnection,
  setReadProblem,
  versionOf,
} from "./live.ts";

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
    [isBusy, isDirty] = [true, false];
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
  /** Of the error. */
  readonly code: string;
}

/** There was no response. */
const lost = "NETWORK_FAILED";

/** The same read can succeed later. */
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
