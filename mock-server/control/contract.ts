// The calls of the control API and what they do, by noun. Loaded at the first call, with zod: a mock starts without it.

import { deliveryRoutes } from "./deliveries.ts";
import { endpointRoutes } from "./endpoints.ts";
import { eventRoutes } from "./events.ts";
import { faultRoutes } from "./faults.ts";
import { mockRoutes } from "./mock.ts";
import { overrideRoutes } from "./overrides.ts";
import { requestRoutes } from "./requests.ts";
import { type ControlContext, type GivenCall, runRoute } from "./route.ts";
import { searchRoutes } from "./search.ts";
import { settingsRoutes } from "./settings.ts";
import { taskRoutes } from "./tasks.ts";
import { uploadRoutes } from "./uploads.ts";
import { keyRoutes, workspaceRoutes } from "./workspaces.ts";

/** Every call of the control API by the name of its method; only the event stream is not among them. */
export const contract = {
  ...mockRoutes,
  ...settingsRoutes,
  ...workspaceRoutes,
  ...keyRoutes,
  ...taskRoutes,
  ...eventRoutes,
  ...endpointRoutes,
  ...deliveryRoutes,
  ...requestRoutes,
  ...searchRoutes,
  ...uploadRoutes,
  ...faultRoutes,
  ...overrideRoutes,
};

export const runCall = (name: keyof typeof contract, context: ControlContext, given: GivenCall) =>
  runRoute(contract[name], context, given);
