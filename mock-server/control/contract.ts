import { deliveryRoutes } from "./deliveries/delivery-routes.ts";
import { endpointRoutes } from "./endpoints/endpoint-routes.ts";
import { eventRoutes } from "./events/event-routes.ts";
import { faultRoutes } from "./faults/fault-routes.ts";
import { keyRoutes } from "./keys/key-routes.ts";
import { mockRoutes } from "./mock/mock-routes.ts";
import { overrideRoutes } from "./overrides/override-routes.ts";
import { requestRoutes } from "./requests/request-routes.ts";
import { searchRoutes } from "./search/search-routes.ts";
import { settingsRoutes } from "./settings/settings-routes.ts";
import { taskRoutes } from "./tasks/task-routes.ts";
import { uploadRoutes } from "./uploads/upload-routes.ts";
import { workspaceRoutes } from "./workspaces/workspace-routes.ts";
import { worldRoutes } from "./worlds/world-routes.ts";

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
};
