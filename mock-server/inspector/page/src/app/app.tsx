import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import type { Overview } from "../api-types.ts";
import { Bar, useClock, useNow } from "../parts/bar.tsx";
import { HelpDialog } from "../parts/help-dialog.tsx";
import { useKeys } from "../parts/keys.ts";
import { control, useResource } from "../resource.ts";
import { goTo, useRoute } from "../route.ts";
import type { ViewProps } from "../view.ts";
import { DeliveriesView } from "../views/deliveries.tsx";
import { EndpointsView } from "../views/endpoints.tsx";
import { FaultsView } from "../views/faults.tsx";
import { OverviewView } from "../views/overview.tsx";
import { RequestsView } from "../views/requests.tsx";
import { SignaturesView } from "../views/signatures.tsx";
import { TasksView } from "../views/tasks.tsx";
import "./app.css";

interface View {
  readonly name: string;
  readonly title: string;
  readonly Component: ComponentType<ViewProps>;
  /** Shown beside the title. */
  count?(overview: Overview): number;
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

const views: readonly View[] = [
  { name: "overview", title: "Overview", Component: OverviewView },
  { name: "tasks", title: "Tasks", Component: TasksView, count: ({ tasks }) => sum(tasks) },
  {
    name: "deliveries",
    title: "Deliveries",
    Component: DeliveriesView,
    count: ({ deliveries }) => sum(deliveries),
  },
  { name: "signatures", title: "Signatures", Component: SignaturesView },
  { name: "endpoints", title: "Endpoints", Component: EndpointsView, count: ({ endpoints }) => endpoints },
  { name: "requests", title: "Requests", Component: RequestsView },
  { name: "faults", title: "Faults", Component: FaultsView },
];

const overviewTopics = ["task", "delivery", "endpoint", "client", "clock", "event"];

export function App() {
  const { view: name, id, filter } = useRoute();
  const [help, setHelp] = useState(false);
  const overview = useResource("overview", overviewTopics, () => control.getOverview()) ?? undefined;
  const nowMs = useNow(useClock());
  const view = views.find((candidate) => candidate.name === name) ?? (views[0] as View);
  useKeys({
    ...Object.fromEntries(views.map(({ name }, index) => [index + 1, () => goTo(name)])),
    "?": () => setHelp(true),
    "/": () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
  });
  useEffect(() => {
    document.title = `${view.title} · workspace-tasks mock`;
    // On a narrow screen the views are a strip that scrolls.
    document.querySelector(".views [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [view]);
  return (
    <div class="shell">
      <Bar onHelp={() => setHelp(true)} />
      <nav class="views" aria-label="Views">
        {views.map(({ name, title, count }) => (
          <a key={name} href={hashOf(name)} aria-current={view.name === name ? "page" : undefined}>
            {title}
            {count && overview && <span class="count">{count(overview)}</span>}
          </a>
        ))}
      </nav>
      <main class="view">
        <view.Component key={view.name} id={id} filter={filter} overview={overview} nowMs={nowMs} />
      </main>
      <HelpDialog open={help} views={views.map(({ title }) => title)} onClose={() => setHelp(false)} />
    </div>
  );
}
