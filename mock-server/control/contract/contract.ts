import { deliveryRoutes } from "./deliveries.ts";
import { endpointRoutes } from "./endpoints.ts";
import { eventRoutes } from "./events.ts";
import { faultRoutes } from "./faults.ts";
import { keyRoutes } from "./keys.ts";
import { mockRoutes } from "./mock.ts";
import { overrideRoutes } from "./overrides.ts";
import { requestRoutes } from "./requests.ts";
import { scenarioRoutes } from "./scenarios.ts";
import { searchRoutes } from "./search.ts";
import { settingsRoutes } from "./settings.ts";
import { taskRoutes } from "./tasks.ts";
import { uploadRoutes } from "./uploads.ts";
import { workspaceRoutes } from "./workspaces.ts";
import { worldRoutes } from "./worlds.ts";

/** Every call of the control API by the name of its method; only the event stream is not among them. */
export const contract = {
  ...mockRoutes,
  ...worldRoutes,
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
  ...scenarioRoutes,
};
