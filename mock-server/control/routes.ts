import { deliveryRoutes } from "./delivery-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { faultRoutes } from "./fault-routes.ts";
import { inspectionRoutes } from "./inspection-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { requestRoutes } from "./request-routes.ts";
import type { Route } from "./route.ts";
import { scenarioRoutes } from "./scenario-routes.ts";
import { stateRoutes } from "./state-routes.ts";
import { taskRoutes } from "./task-routes.ts";
import { uploadRoutes } from "./upload-routes.ts";

/** The whole control API but the event stream. */
export const routes: readonly Route[] = [
  ...stateRoutes,
  ...keyRoutes,
  ...taskRoutes,
  ...eventRoutes,
  ...deliveryRoutes,
  ...requestRoutes,
  ...uploadRoutes,
  ...faultRoutes,
  ...inspectionRoutes,
  ...scenarioRoutes,
];
