import { type Clock, createRealClock } from "../time/clock.ts";
import type { NumberedActivity } from "../world/world.ts";
import { createDeliveryControls, type DeliveryControls } from "./delivery-controls.ts";
import { createFaultControls, type FaultControls } from "./fault-controls.ts";
import { createInspectionControls, type InspectionControls } from "./inspection-controls.ts";
import { createKeyControls, type KeyControls } from "./key-controls.ts";
import type { ScenarioReport } from "./play-scenario.ts";
import type { ScenarioDocument } from "./scenario.ts";
import { createStateControls, type StateControls, type StateControlsOptions } from "./state-controls.ts";
import { createTaskControls, type TaskControls } from "./task-controls.ts";
import { createUploadControls, type UploadControls } from "./upload-controls.ts";

/**
 * The control API for callers in this process: the same calls, without HTTP. What cannot be done rejects
 * or throws with a `ControlError`, or a `ServiceError` where a rule of the service refuses it.
 */
export interface Admin
  extends KeyControls,
    TaskControls,
    DeliveryControls,
    FaultControls,
    UploadControls,
    StateControls,
    InspectionControls {
  /**
   * Checks a scenario and takes its steps; resolves when the last one is done.
   * @param variables names that its texts may refer to as `{{name}}`
   * @throws ScenarioError for a scenario that is wrong, or a step that did not go as it says
   */
  playScenario(
    scenario: ScenarioDocument,
    variables?: Readonly<Record<string, string>>,
  ): Promise<ScenarioReport>;
  /** Calls `listener` with everything that happens from now on, also over resets. Returns how to stop. */
  listen(listener: (activity: NumberedActivity) => void): () => void;
}

export type AdminOptions = StateControlsOptions & {
  /** Measures time limits of waiting. Default: the computer's clock. */
  readonly wallClock?: Clock;
};

export function createAdmin(options: AdminOptions): Admin {
  const { worlds, wallClock = createRealClock() } = options;
  const admin: Admin = {
    ...createKeyControls(worlds),
    ...createTaskControls(worlds),
    ...createDeliveryControls(worlds, wallClock),
    ...createFaultControls(worlds),
    ...createUploadControls(worlds),
    ...createStateControls(options),
    ...createInspectionControls(worlds),
    async playScenario(scenario, variables) {
      // Loaded when first needed, with the schemas of the whole control API.
      const { readScenario } = await import("./scenario.ts");
      const { playScenario } = await import("./play-scenario.ts");
      return playScenario(admin, readScenario(scenario), variables);
    },
    listen(listener) {
      let stop = worlds.current.subscribe(listener);
      const stopFollowing = worlds.onReplace((world) => {
        stop = world.subscribe(listener);
      });
      return () => {
        stop();
        stopFollowing();
      };
    },
  };
  return admin;
}
