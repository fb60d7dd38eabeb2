import { useClock, useNowMs } from "../state/clock.ts";
import { control } from "../state/resource.ts";
import { useLive } from "../state/store.ts";
import { worldName } from "../state/worlds.ts";
import { formatRelative, formatTime } from "../text/format.ts";
import { ActionButton, Actions } from "./controls/action.tsx";
import { Search } from "./controls/search.tsx";
import { Help } from "./help.tsx";
import "./controls/toggles.css";
import "./bar.css";

const steps = ["1m", "3m", "1h", "1d", "7d"];

const connections = {
  connecting: { label: "connecting", tone: "calm" },
  live: { label: "live", tone: "good" },
  lost: { label: "no mock", tone: "bad" },
  paused: { label: "paused", tone: "calm" },
} as const;

/** @param props.views titles, in the order of their keys */
export function Bar({ views }: { readonly views: readonly string[] }) {
  const { label, tone } = connections[useLive((state) => state.connection)];
  return (
    <header class="bar">
      <h1>
        <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
          <rect x="1" y="1" width="18" height="18" rx="5" fill="var(--accent)" />
          <path d="M5.5 10.5l3 3 6-7" fill="none" stroke="var(--accent-text)" stroke-width="2" />
        </svg>
        <span class="product">workspace-tasks</span> <span class="muted">{worldName ?? "mock"}</span>
      </h1>
      <span class={`badge tone-${tone}`} role="status">
        {label}
      </span>
      <Search />
      <ClockBar />
      <Help views={views} />
    </header>
  );
}

/** What changes its width is left of the buttons, so that none of them moves under the mouse. */
function ClockBar() {
  const clock = useClock();
  const nowMs = useNowMs();
  if (!clock) return <div class="clock" />;
  const nextMs = clock.nextTimerAt === null ? null : Date.parse(clock.nextTimerAt);
  const advance = (by: string | number) => () => control.advanceClock({ by });
  return (
    <Actions class="clock">
      <time class="mono" dateTime={new Date(nowMs).toISOString()}>
        <span class="year">{formatTime(nowMs).slice(0, 5)}</span>
        {formatTime(nowMs).slice(5)} <span class="muted">UTC</span>
      </time>
      {clock.mode === "real" && <span class="badge tone-calm">real clock</span>}
      {clock.mode === "virtual" && (
        <>
          <ActionButton
            label={
              <>
                To next{" "}
                <span class="when">{nextMs === null ? "(none)" : `(${formatRelative(nextMs, nowMs)})`}</span>
              </>
            }
            onRun={advance(Math.max(0, (nextMs ?? 0) - nowMs))}
            shortcut="n"
            class="primary steady"
            disabled={nextMs === null}
          />
          <fieldset class="segments" aria-label="advance the clock">
            {steps.map((step) => (
              <ActionButton
                key={step}
                label={`+${step}`}
                onRun={advance(step)}
                name={`+${step}: advance the clock`}
              />
            ))}
          </fieldset>
        </>
      )}
    </Actions>
  );
}
