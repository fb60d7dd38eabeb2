import { useEffect, useState } from "preact/hooks";
import { formatRelative, formatTime } from "../format.ts";
import type { ClockView } from "../nouns.ts";
import { ask, useResource } from "../resource.ts";
import { useLive } from "../store.ts";
import { ActionButton, useAction } from "./action.tsx";

const steps = ["1m", "3m", "1h", "1d", "7d"];

export function Bar({ onHelp }: { readonly onHelp: () => void }) {
  const connection = useLive((state) => state.connection);
  return (
    <header class="bar">
      <h1>
        <span class={`dot ${connection === "live" ? "good" : "bad"}`} aria-hidden="true" />
        workspace-tasks mock
      </h1>
      <span class="muted" role="status">
        {connection === "live"
          ? "live"
          : connection === "lost"
            ? "connection lost, trying again"
            : "connecting"}
      </span>
      <ClockBar />
      <button type="button" onClick={onHelp} aria-label="Keys">
        ?
      </button>
    </header>
  );
}

function ClockBar() {
  const clock = useResource<ClockView>("/clock", ["clock", "delivery", "stage", "task"]);
  const nowMs = useNow(clock);
  const action = useAction();
  if (!clock) return <div class="clock" />;
  const nextMs = clock.nextTimerAt === null ? null : Date.parse(clock.nextTimerAt);
  const advance = (by: string | number) => () => ask("POST", "/clock/advance", { by });
  return (
    <div class="clock">
      <time class="mono" dateTime={new Date(nowMs).toISOString()}>
        {formatTime(nowMs)} UTC
      </time>
      <span class="mark">{clock.mode} clock</span>
      {clock.mode === "virtual" && (
        <>
          {steps.map((step) => (
            <ActionButton key={step} action={action} onRun={advance(step)} label={`advance ${step}`}>
              +{step}
            </ActionButton>
          ))}
          {nextMs !== null && (
            <ActionButton action={action} onRun={advance(Math.max(0, nextMs - nowMs))} class="primary">
              to next ({formatRelative(nextMs, nowMs)})
            </ActionButton>
          )}
        </>
      )}
      {action.notice}
    </div>
  );
}

/** The mock's time: a virtual clock stands still, a real one goes on between two readings. */
export function useNow(clock: ClockView | undefined): number {
  const [drift, setDrift] = useState(0);
  useEffect(() => {
    setDrift(0);
    if (clock?.mode !== "real") return;
    const startedAtMs = performance.now();
    const timer = setInterval(() => setDrift(performance.now() - startedAtMs), 500);
    return () => clearInterval(timer);
  }, [clock?.now, clock?.mode]);
  return clock ? Date.parse(clock.now) + drift : 0;
}
