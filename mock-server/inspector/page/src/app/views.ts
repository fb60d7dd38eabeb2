import type { ComponentType } from "preact";
import type { Overview } from "../api-types.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import type { Tone } from "../parts/status/status.tsx";
import type { ViewProps } from "../view.ts";
import { DeliveriesView } from "../views/deliveries/deliveries.tsx";
import { OverviewView } from "../views/overview.tsx";
import { TasksView } from "../views/tasks/tasks.tsx";

export interface View {
  /** In its address; its title begins with a capital letter. */
  readonly name: string;
  readonly Component: ComponentType<ViewProps>;
  /** Shown beside the title. */
  count?(overview: Overview): number;
  /** What needs attention, in words; shown when its number is not 0. */
  readonly alert?: { readonly tone: Tone; readonly word: string; count(overview: Overview): number };
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

export const views: readonly View[] = [
  { name: "overview", Component: OverviewView },
  { name: "tasks", Component: TasksView, count: ({ tasks }) => sum(tasks) },
  {
    name: "deliveries",
    Component: DeliveriesView,
    count: ({ deliveries }) => sum(deliveries),
    alert: { tone: "bad", word: "rejected", count: ({ rejectedDeliveries }) => rejectedDeliveries },
  },
  {
    name: "signatures",
    Component: lazyView(() => import("../views/signatures/signatures.tsx"), "SignaturesView"),
  },
  {
    name: "endpoints",
    Component: lazyView(() => import("../views/endpoints.tsx"), "EndpointsView"),
    count: ({ endpoints }) => endpoints,
  },
  {
    name: "requests",
    Component: lazyView(() => import("../views/requests.tsx"), "RequestsView"),
    count: ({ requests }) => requests,
  },
  {
    name: "faults",
    Component: lazyView(() => import("../views/faults.tsx"), "FaultsView"),
    alert: { tone: "wait", word: "active", count: ({ activeFaults }) => activeFaults },
  },
  { name: "run", Component: lazyView(() => import("../views/run/run.tsx"), "RunView") },
  { name: "setup", Component: lazyView(() => import("../views/setup.tsx"), "SetupView") },
];
