import { useEffect, useState } from "preact/hooks";
import { type Activity, addActivities, initialLiveState, type LiveState, setConnection } from "./live.ts";
import { type ActivitySource, transport } from "./transport.ts";

let state = initialLiveState;
const listeners = new Set<() => void>();

export function change(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export const currentState = (): LiveState => state;

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

/** The browser resumes a stream that broke off, but not one that the mock has rejected, as a world that was dropped. */
const reopenMs = 1_000;

/**
 * Reads the event stream while the page is visible. A browser has six connections to a host: streams of hidden tabs
 * would block every tab.
 */
export function startLive(url: string): void {
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
    const opened = transport.openStream(url);
    source = opened;
    opened.onopen = () => change(setConnection(state, "live"));
    opened.onerror = () => {
      change(setConnection(state, "lost"));
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
      source = null;
      setTimeout(followVisibility, reopenMs);
    };
    opened.onmessage = ({ data }) => {
      if (batch.push(JSON.parse(data as string) as Activity) === 1) requestAnimationFrame(flush);
    };
  };
  const followVisibility = () => {
    if (!document.hidden) return open();
    source?.close();
    source = null;
    change(setConnection(state, "paused"));
  };
  document.addEventListener("visibilitychange", followVisibility);
  followVisibility();
}
