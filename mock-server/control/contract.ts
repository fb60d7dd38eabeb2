// The calls of the control API and what serves them, by noun. Loaded at the first call, with zod: a mock starts without it.

import { createDeliveryControls, deliveryRoutes } from "./deliveries.ts";
import { createEndpointControls, endpointRoutes } from "./endpoints.ts";
import { createEventControls, eventRoutes } from "./events.ts";
import { createFaultControls, faultRoutes } from "./faults.ts";
import { createMockControls, type MockControlsOptions, mockRoutes } from "./mock.ts";
import { createOverrideControls, overrideRoutes } from "./overrides.ts";
import { createRequestControls, requestRoutes } from "./requests.ts";
import type { ControlsOf } from "./route.ts";
import { createSearchControls, searchRoutes } from "./search.ts";
import { createSettingsControls, settingsRoutes } from "./settings.ts";
import { createTaskControls, taskRoutes } from "./tasks.ts";
import { createUploadControls, uploadRoutes } from "./uploads.ts";
import { createKeyControls, createWorkspaceControls, keyRoutes, workspaceRoutes } from "./workspaces.ts";
import { createWorldControls, type WorldDirectory, worldRoutes } from "./worlds.ts";

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

/** The implementation of every call; the HTTP handler and `ControlApi` use the same one. */
export type Controls = ControlsOf<typeof contract>;

type ControlsOptions = MockControlsOptions & {
  /** The worlds of the mock; `null`: none can be reached. */
  readonly directory: WorldDirectory | null;
};

export function createControls(options: ControlsOptions): Controls {
  const { worlds, directory } = options;
  return {
    ...createMockControls(options),
    ...createWorldControls(directory),
    ...createSettingsControls(worlds),
    ...createWorkspaceControls(worlds),
    ...createKeyControls(worlds),
    ...createTaskControls(worlds),
    ...createEventControls(worlds),
    ...createEndpointControls(worlds),
    ...createDeliveryControls(worlds),
    ...createRequestControls(worlds),
    ...createSearchControls(worlds),
    ...createUploadControls(worlds),
    ...createFaultControls(worlds),
    ...createOverrideControls(worlds),
  };
}
