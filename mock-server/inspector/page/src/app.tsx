import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Filter, hashOf } from "./address.ts";
import type { Overview } from "./nouns.ts";
import { Bar, useClock, useNow } from "./parts/bar.tsx";
import { HelpDialog } from "./parts/help-dialog.tsx";
import { isTyping } from "./parts/keys.ts";
import { useResource } from "./resource.ts";
import { goTo, useRoute } from "./route.ts";
import { DeliveriesView } from "./views/deliveries.tsx";
import { EndpointsView } from "./views/endpoints.tsx";
import { FaultsView } from "./views/faults.tsx";
import { OverviewView } from "./views/overview.tsx";
import { RequestsView } from "./views/requests.tsx";
import { SignaturesView } from "./views/signatures.tsx";
import { TasksView } from "./views/tasks.tsx";

export type ViewProps = {
  readonly id: string | null;
  readonly filter: Filter;
  readonly overview: Overview | undefined;
  /** The mock's time. */
  readonly nowMs: number;
};

type Place = {
  readonly name: string;
  readonly title: string;
  readonly View: ComponentType<ViewProps>;
  /** Shown beside the title. */
  count?(overview: Overview): number;
};

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

const places: readonly Place[] = [
  { name: "overview", title: "Overview", View: OverviewView },
  { name: "tasks", title: "Tasks", View: TasksView, count: ({ tasks }) => sum(tasks) },
  { name: "deliveries", title: "Deliveries", View: DeliveriesView, count: (all) => sum(all.deliveries) },
  { name: "signatures", title: "Signatures", View: SignaturesView },
  { name: "endpoints", title: "Endpoints", View: EndpointsView, count: ({ endpoints }) => endpoints },
  { name: "requests", title: "Requests", View: RequestsView },
  { name: "faults", title: "Faults", View: FaultsView },
];

const overviewNouns = ["task", "delivery", "endpoint", "client", "clock", "event"];

export function App() {
  const { place: name, id, filter } = useRoute();
  const [help, setHelp] = useState(false);
  const overview = useResource<Overview>("/overview", overviewNouns) ?? undefined;
  const nowMs = useNow(useClock());
  const place = places.find((candidate) => candidate.name === name) ?? (places[0] as Place);
  usePageKeys(() => setHelp(true));
  useEffect(() => {
    document.title = `${place.title} · workspace-tasks mock`;
    // On a narrow screen the places are a strip that scrolls.
    document.querySelector(".places [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [place]);
  return (
    <div class="shell">
      <Bar onHelp={() => setHelp(true)} />
      <nav class="places" aria-label="Views">
        {places.map(({ name, title, count }) => (
          <a key={name} href={hashOf(name)} aria-current={place.name === name ? "page" : undefined}>
            {title}
            {count && overview && <span class="count">{count(overview)}</span>}
          </a>
        ))}
      </nav>
      <main class="view">
        <place.View key={place.name} id={id} filter={filter} overview={overview} nowMs={nowMs} />
      </main>
      <HelpDialog open={help} places={places.map(({ title }) => title)} onClose={() => setHelp(false)} />
    </div>
  );
}

function usePageKeys(openHelp: () => void) {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const numbered = places[Number(event.key) - 1];
      if (numbered) goTo(numbered.name);
      else if (event.key === "?") openHelp();
      else if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-filter]")?.focus();
      }
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
