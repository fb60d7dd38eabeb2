import { useEffect, useState } from "preact/hooks";
import {
  type Activity,
  addActivities,
  initialLiveState,
  type LiveState,
  setConnection,
  tickSecond,
} from "./live.ts";

let state = initialLiveState;
const listeners = new Set<(state: LiveState) => void>();

function change(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener(state);
}

/** A page in the background gets no frames; activities are then added this often. */
const backgroundFlushMs = 1_000;

/** Reads the event stream while the page is open; the browser resumes it by itself. */
export function startLive(url: string): void {
  let batch: Activity[] = [];
  let cancel: (() => void) | null = null;
  // The page draws once per frame, however many activities arrive.
  const flush = () => {
    cancel?.();
    cancel = null;
    const taken = batch;
    batch = [];
    change(addActivities(state, taken));
  };
  const source = new EventSource(url);
  source.onopen = () => change(setConnection(state, "live"));
  source.onerror = () => change(setConnection(state, "lost"));
  source.onmessage = ({ data }) => {
    batch.push(JSON.parse(data as string) as Activity);
    cancel ??= nextFrame(flush);
  };
  setInterval(() => change(tickSecond(state)), 1_000);
}

function nextFrame(run: () => void): () => void {
  const frame = requestAnimationFrame(run);
  const timer = setTimeout(run, backgroundFlushMs);
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/** The part of the live state that `select` picks; draws again only when that part changes. */
export function useLive<Part>(select: (state: LiveState) => Part): Part {
  const [part, setPart] = useState(() => select(state));
  useEffect(() => {
    const listener = (next: LiveState) => setPart(() => select(next));
    listeners.add(listener);
    listener(state);
    return () => void listeners.delete(listener);
  }, []);
  return part;
}
