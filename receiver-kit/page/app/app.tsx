import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import { Clock, type SearchLink, Shell, type View } from "@workspace-tasks/page-parts/shell.tsx";
import { polled, startPolling, useAdvancing, useResource } from "@workspace-tasks/page-parts/state.ts";
import type { Overview } from "@workspace-tasks/receiver-kit/parts";
import { api } from "./api.ts";
import { ErrorsView } from "./errors.tsx";
import { EventsView } from "./events.tsx";
import { OverviewView } from "./overview.tsx";
import { states } from "./parts.tsx";
import { TasksView } from "./tasks.tsx";
import "./page.css";
import { render } from "preact";

const views: readonly View<Overview>[] = [
  { name: "overview", Component: OverviewView },
  {
    name: "events",
    Component: EventsView,
    alert: { tone: "wait", word: "waiting", count: ({ rows }) => rows.waiting },
  },
  {
    name: "errors",
    Component: ErrorsView,
    alert: { tone: "bad", word: "dead or quarantined", count: ({ rows }) => rows.dead + rows.quarantined },
  },
  { name: "tasks", Component: TasksView },
];

export function App() {
  const overview = useResource("overview", polled, api.overview) ?? undefined;
  return (
    <Shell
      views={views}
      overview={overview}
      server="inbox"
      nowMs={useAdvancing(overview?.now, true)}
      search={{ placeholder: "Id, task, client or error …  /", find }}
      clock={
        <Clock>
          {overview?.actor && <span class="muted">{overview.actor}</span>}
          {overview?.readOnly && <span class="badge tone-calm">read only</span>}
        </Clock>
      }
      help={{ keys: [["r", "replay the selected event"]], statusesOf: "events", statuses: states }}
    />
  );
}

/** What a text can be; nothing is read before one of them is chosen. */
async function find(text: string): Promise<readonly SearchLink[]> {
  const isId = /^[\w.:…-]{6,}$/.test(text);
  const ofIds = [
    { kind: "task", href: hashOf("tasks", text), title: "All events of this task" },
    { kind: "client", href: hashOf("events", null, { client: text }), title: "Events of this client" },
  ];
  const error = {
    kind: "error",
    href: hashOf("events", null, { error: text }),
    title: "Events whose last error contains it",
  };
  return isId ? [...ofIds, error] : [error, ...ofIds];
}

/** How often what is shown is read again while the page is visible. */
const pollMs = 5_000;

const root = document.getElementById("page");
if (root) {
  startPolling(pollMs);
  render(<App />, root);
}
