import type { ClockView } from "@workspace-tasks/mock-server/control";
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { control, useResource } from "./resource.ts";

interface Clock {
  /** `undefined`: not read yet. */
  readonly view: ClockView | undefined;
  /** The mock's time; 0 before it has been read. */
  readonly nowMs: number;
}

/** Provided by the app, which reads the clock once for all parts of the page. */
export const ClockContext = createContext<Clock>({ view: undefined, nowMs: 0 });

export const useClock = () => useContext(ClockContext).view;
export const useNowMs = () => useContext(ClockContext).nowMs;

/** These topics can set or cancel timers. */
const topics = ["clock", "task", "stage", "delivery", "task-plan", "job", "connection"];

/** Reads the clock. A real one advances between two reads. */
export function useReadClock(): Clock {
  const view = useResource("clock", topics, () => control.getClock()) ?? undefined;
  const [drift, setDrift] = useState(0);
  useEffect(() => {
    setDrift(0);
    if (view?.mode !== "real") return;
    const startedAtMs = performance.now();
    const timer = setInterval(() => setDrift(performance.now() - startedAtMs), 500);
    return () => clearInterval(timer);
  }, [view?.now, view?.mode]);
  return { view, nowMs: view ? Date.parse(view.now) + drift : 0 };
}
