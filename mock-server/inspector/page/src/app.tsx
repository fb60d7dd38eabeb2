import type { Overview, SearchHit } from "@workspace-tasks/mock-server/control";
import { ActionButton, Actions } from "@workspace-tasks/page-parts/controls.tsx";
import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import { Clock, type SearchLink, Shell, type View } from "@workspace-tasks/page-parts/shell.tsx";
import { startStream, useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatRelative, sum } from "@workspace-tasks/page-parts/text.ts";
import { lazyView } from "@workspace-tasks/page-parts/values.tsx";
import { render } from "preact";
import {
  ClockContext,
  control,
  transport,
  useClock,
  useReadClock,
  type ViewProps,
  worldName,
} from "./mock.ts";
import { deliveryStatuses } from "./parts.tsx";
import { DeliveriesView } from "./views/deliveries.tsx";
import { OverviewView } from "./views/overview.tsx";
import { TasksView } from "./views/tasks.tsx";
import "./inspector.css";

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

function App() {
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

// What the first view does not need. The editor of Run is most of the page's code.
const SignaturesView = lazyView(() => import("./views/signatures.tsx"), "SignaturesView");
const EndpointsView = lazyView(() => import("./views/endpoints.tsx"), "EndpointsView");
const RequestsView = lazyView(() => import("./views/requests.tsx"), "RequestsView");
const FaultsView = lazyView<"FaultsView", ViewProps>(() => import("./views/faults.tsx"), "FaultsView");
const RunView = lazyView(() => import("./views/run.tsx"), "RunView");
const SetupView = lazyView<"SetupView", ViewProps>(() => import("./views/setup.tsx"), "SetupView");

const views: readonly View<Overview>[] = [
  { name: "overview", Component: OverviewView },
  { name: "tasks", Component: TasksView, count: ({ tasks }) => sum(Object.values(tasks)) },
  {
    name: "deliveries",
    Component: DeliveriesView,
    count: ({ deliveries }) => sum(Object.values(deliveries)),
    alert: { tone: "bad", word: "rejected", count: ({ rejectedDeliveries }) => rejectedDeliveries },
  },
  { name: "signatures", Component: SignaturesView },
  { name: "endpoints", Component: EndpointsView, count: ({ endpoints }) => endpoints },
  { name: "requests", Component: RequestsView, count: ({ requests }) => requests },
  {
    name: "faults",
    Component: FaultsView,
    alert: { tone: "wait", word: "active", count: ({ activeFaults }) => activeFaults },
  },
  { name: "run", Component: RunView },
  { name: "setup", Component: SetupView },
];

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

const root = document.getElementById("page");
if (root) {
  startStream(() => transport.openStream("v1/stream"));
  render(<App />, root);
}
