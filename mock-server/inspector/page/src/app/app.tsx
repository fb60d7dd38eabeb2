import type { Overview } from "@workspace-tasks/mock-server/control";
import { useEffect } from "preact/hooks";
import { hashOf } from "../address.ts";
import { Bar } from "../parts/bar.tsx";
import { ActionButton, Actions } from "../parts/controls/action.tsx";
import { useKeys } from "../parts/controls/keys.ts";
import { goTo, useRoute } from "../route.ts";
import { ClockContext, useReadClock } from "../state/clock.ts";
import { readProblemOf } from "../state/live.ts";
import { control, useResource } from "../state/resource.ts";
import { useLive } from "../state/store.ts";
import { formatCount } from "../text/format.ts";
import { titleOf } from "../view.ts";
import { type View, views } from "./views.ts";
import "./app.css";

const overviewTopics = [
  "task",
  "delivery",
  "endpoint",
  "client",
  "clock",
  "event",
  "request",
  "fault",
  "faults",
];

export function App() {
  const { view: name, id, filter } = useRoute();
  const clock = useReadClock();
  const { nowMs } = clock;
  const overview =
    useResource(
      "overview",
      overviewTopics,
      () => control.getOverview(),
      // No activity says that an attempt starts.
      (read) => (read?.upcoming.some((due) => isDueNow(due, nowMs)) ? Math.floor(nowMs / 1_000) : 0),
    ) ?? undefined;
  const view = views.find((candidate) => candidate.name === name);
  useKeys({
    ...Object.fromEntries(views.map(({ name }, index) => [index + 1, () => goTo(name)])),
    f: () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
  });
  useEffect(() => {
    document.title = `${view ? titleOf(view.name) : "Unknown"} · workspace-tasks mock`;
  }, [view]);
  const hasCounts = overview !== undefined;
  useEffect(() => {
    // On a narrow screen the views are a strip that scrolls; counts make it longer.
    document.querySelector(".views [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [view, hasCounts]);
  return (
    <ClockContext.Provider value={clock}>
      <div class="shell">
        <Bar views={views.map(({ name }) => titleOf(name))} />
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
        <Banner overview={overview} />
      </div>
    </ClockContext.Provider>
  );
}

const isDueNow = ({ state, at }: Overview["upcoming"][number], nowMs: number): boolean =>
  state === "scheduled" && at !== null && Date.parse(at) <= nowMs;

interface LinkProps {
  readonly view: View;
  readonly isCurrent: boolean;
  readonly overview: Overview | undefined;
}

function ViewLink({ view: { name, count, alert }, isCurrent, overview }: LinkProps) {
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
 * What changes everything else on the page: no mock, values that are missing, or faults that the mock injects. It is
 * below the view, where it moves nothing when it appears.
 */
function Banner({ overview }: { readonly overview: Overview | undefined }) {
  const connection = useLive((state) => state.connection);
  const problem = useLive(readProblemOf);
  const faults = overview?.activeFaults ?? 0;
  const trouble =
    connection === "lost"
      ? "The mock does not respond. The page shows what it last read, and continues when a mock runs here again."
      : problem && `Not everything could be read: ${problem}`;
  if (trouble) {
    return (
      <aside class="banner tone-bad" aria-label="Problem">
        <span role="alert">{trouble}</span>
      </aside>
    );
  }
  if (faults === 0) return null;
  return (
    <aside class="banner tone-wait" aria-label="Active faults">
      <a href={hashOf("faults")}>
        {faults} {faults === 1 ? "fault is" : "faults are"} active
      </a>
      <span class="more">Calls or deliveries fail because the mock was told to.</span>
      <Actions>
        <ActionButton label="End all" onRun={() => control.clearFaults()} class="quiet" />
      </Actions>
    </aside>
  );
}
