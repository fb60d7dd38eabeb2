import type { ComponentType } from "preact";
import type { Overview } from "../api-types.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import type { Tone } from "../parts/status/status-badge.tsx";
import type { ViewProps } from "../view.ts";
import { DeliveriesView } from "../views/deliveries/deliveries.tsx";
import { OverviewView } from "../views/overview.tsx";
import { TasksView } from "../views/tasks/tasks.tsx";

export interface View {
  readonly name: string;
  readonly title: string;
  readonly Component: ComponentType<ViewProps>;
  /** Shown beside the title. */
  count?(overview: Overview): number;
  /** What needs attention, in words; shown when its number is not 0. */
  readonly alert?: { readonly tone: Tone; readonly word: string; count(overview: Overview): number };
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

export const views: readonly View[] = [
  { name: "overview", title: "Overview", Component: OverviewView },
  { name: "tasks", title: "Tasks", Component: TasksView, count: ({ tasks }) => sum(tasks) },
  {
    name: "deliveries",
    title: "Deliveries",
    Component: DeliveriesView,
    count: ({ deliveries }) => sum(deliveries),
    alert: { tone: "bad", word: "rejected", count: ({ rejectedDeliveries }) => rejectedDeliveries },
  },
  {
    name: "signatures",
    title: "Signatures",
    Component: lazyView(() =>
      import("../views/signatures/signatures.tsx").then((module) => module.SignaturesView),
    ),
  },
  {
    name: "endpoints",
    title: "Endpoints",
    Component: lazyView(() => import("../views/endpoints.tsx").then((module) => module.EndpointsView)),
    count: ({ endpoints }) => endpoints,
  },
  {
    name: "requests",
    title: "Requests",
    Component: lazyView(() => import("../views/requests.tsx").then((module) => module.RequestsView)),
    count: ({ requests }) => requests,
  },
  {
    name: "faults",
    title: "Faults",
    Component: lazyView(() => import("../views/faults.tsx").then((module) => module.FaultsView)),
    alert: { tone: "wait", word: "active", count: ({ activeFaults }) => activeFaults },
  },
  {
    name: "run",
    title: "Run",
    Component: lazyView(() => import("../views/run/run.tsx").then((module) => module.RunView)),
  },
  {
    name: "setup",
    title: "Setup",
    Component: lazyView(() => import("../views/setup.tsx").then((module) => module.SetupView)),
  },
];
