import type { Overview, SearchHit } from "@workspace-tasks/mock-server/control";
import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { ActionButton, Actions } from "@workspace-tasks/page-parts/controls.tsx";
import { Clock, type SearchLink, Shell } from "@workspace-tasks/page-parts/shell.tsx";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatRelative } from "@workspace-tasks/page-parts/text.ts";
import { deliveryStatuses } from "../parts/delivery-state.tsx";
import { ClockContext, control, useClock, useReadClock, worldName } from "../state/mock.ts";
import { views } from "./views.ts";
import "../inspector.css";

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
  const { clock, nowMs } = useReadClock();
  const overview =
    useResource(
      "overview",
      overviewTopics,
      () => control.getOverview(),
      // No activity says that an attempt starts.
      (read) => (read?.upcoming.some((due) => isDueNow(due, nowMs)) ? Math.floor(nowMs / 1_000) : 0),
    ) ?? undefined;
  return (
    <ClockContext.Provider value={clock}>
      <Shell
        views={views}
        overview={overview}
        server="mock"
        name={worldName}
        nowMs={nowMs}
        search={{ placeholder: "Search ids, clients, URLs, bodies …  /", find }}
        clock={<ClockBar />}
        help={{ keys: helpKeys, statusesOf: "deliveries", statuses: deliveryStatuses }}
        banner={<ActiveFaults count={overview?.activeFaults ?? 0} />}
      />
    </ClockContext.Provider>
  );
}

const helpKeys = [
  ["n", "advance the clock to the next timer"],
  ["r", "replay the selected delivery"],
] as const;

const isDueNow = ({ state, at }: Overview["upcoming"][number], nowMs: number): boolean =>
  state === "scheduled" && at !== null && Date.parse(at) <= nowMs;

const addressOf = ({ kind, id }: SearchHit): string =>
  ({
    task: hashOf("tasks", id),
    client: hashOf("tasks", null, { text: id }),
    delivery: hashOf("deliveries", id),
    endpoint: hashOf("endpoints", id),
    request: hashOf("requests", id),
  })[kind];

/** The lists that can show everything that contains the text. */
const lists = ["tasks", "deliveries", "requests"];

async function find(text: string): Promise<readonly SearchLink[]> {
  const { data } = await control.search({ text: text.slice(0, 500) }).catch(() => ({ data: [] }));
  const all = lists.map((list) => ({
    kind: "list",
    href: hashOf(list, null, { text }),
    title: `All ${list} that contain it`,
  }));
  return [...data.map((hit) => ({ ...hit, href: addressOf(hit) })), ...all];
}

const steps = ["1m", "3m", "1h", "1d", "7d"];

function ClockBar() {
  const clock = useClock();
  const nowMs = useNowMs();
  const nextMs = clock?.nextTimerAt == null ? null : Date.parse(clock.nextTimerAt);
  const advance = (by: string | number) => () => control.advanceClock({ by });
  return (
    <Clock>
      {clock?.mode === "real" && <span class="badge tone-calm">real clock</span>}
      {clock?.mode === "virtual" && (
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
    </Clock>
  );
}

/** Faults that the mock injects change everything else on the page. */
function ActiveFaults({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <aside class="banner tone-wait" aria-label="Active faults">
      <a href={hashOf("faults")}>
        {count} {count === 1 ? "fault is" : "faults are"} active
      </a>
      <span class="more">Calls or deliveries fail because the mock was told to.</span>
      <Actions>
        <ActionButton label="End all" onRun={() => control.clearFaults()} class="quiet" />
      </Actions>
    </aside>
  );
}
