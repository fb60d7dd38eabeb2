import type { Overview } from "@workspace-tasks/mock-server/control";
import type * as Parts from "@workspace-tasks/page-parts/shell.tsx";
import { lazyView } from "@workspace-tasks/page-parts/status.tsx";
import { DeliveriesView } from "../views/deliveries/deliveries.tsx";
import { OverviewView } from "../views/overview.tsx";
import { TasksView } from "../views/tasks/tasks.tsx";

export type ViewProps = Parts.ViewProps<Overview>;

// What the first view does not need. The editor of Run is most of the page's code.
const SignaturesView = lazyView(() =>
  import("../views/signatures/signatures.tsx").then((module) => module.SignaturesView),
);
const EndpointsView = lazyView(() => import("../views/endpoints.tsx").then((module) => module.EndpointsView));
const RequestsView = lazyView(() => import("../views/requests.tsx").then((module) => module.RequestsView));
const FaultsView = lazyView<ViewProps>(() =>
  import("../views/faults.tsx").then((module) => module.FaultsView),
);
const RunView = lazyView(() => import("../views/run/run.tsx").then((module) => module.RunView));
const SetupView = lazyView<ViewProps>(() => import("../views/setup.tsx").then((module) => module.SetupView));

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

export const views: readonly Parts.View<Overview>[] = [
  { name: "overview", Component: OverviewView },
  { name: "tasks", Component: TasksView, count: ({ tasks }) => sum(tasks) },
  {
    name: "deliveries",
    Component: DeliveriesView,
    count: ({ deliveries }) => sum(deliveries),
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
