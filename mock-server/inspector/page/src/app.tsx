import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Bar } from "./parts/bar.tsx";
import { HelpDialog } from "./parts/help-dialog.tsx";
import { goTo, hashOf, useRoute } from "./route.ts";
import { DeliveriesView } from "./views/deliveries.tsx";
import { EndpointsView } from "./views/endpoints.tsx";
import { FaultsView } from "./views/faults.tsx";
import { OverviewView } from "./views/overview.tsx";
import { RequestsView } from "./views/requests.tsx";
import { SignaturesView } from "./views/signatures.tsx";
import { TasksView } from "./views/tasks.tsx";

export type ViewProps = { readonly id: string | null };

const places: readonly { name: string; title: string; View: ComponentType<ViewProps> }[] = [
  { name: "overview", title: "Overview", View: OverviewView },
  { name: "tasks", title: "Tasks", View: TasksView },
  { name: "deliveries", title: "Deliveries", View: DeliveriesView },
  { name: "signatures", title: "Signatures", View: SignaturesView },
  { name: "endpoints", title: "Endpoints", View: EndpointsView },
  { name: "requests", title: "Requests", View: RequestsView },
  { name: "faults", title: "Faults", View: FaultsView },
];

export function App() {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const place = places.find(({ name }) => name === route.place) ?? places[0];

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const numbered = places[Number(event.key) - 1];
      if (numbered) goTo(numbered.name);
      else if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-filter]")?.focus();
      }
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);

  if (!place) return null;
  return (
    <div class="shell">
      <Bar onHelp={() => setHelp(true)} />
      <nav class="places" aria-label="Views">
        {places.map(({ name, title }) => (
          <a key={name} href={hashOf(name)} aria-current={place.name === name ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <main class="view">
        <place.View id={route.id} key={place.name} />
      </main>
      <HelpDialog open={help} places={places.map(({ title }) => title)} onClose={() => setHelp(false)} />
    </div>
  );
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
