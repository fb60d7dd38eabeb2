import { type Clock, createRealClock } from "../clock.ts";
import type { NumberedHappening } from "../world.ts";
import { createDeliveryControls, type DeliveryControls } from "./delivery-controls.ts";
import { createFaultControls, type FaultControls } from "./fault-controls.ts";
import { createInspectionControls, type InspectionControls } from "./inspection-controls.ts";
import { createKeyControls, type KeyControls } from "./key-controls.ts";
import { createStateControls, type StateControls, type StateControlsOptions } from "./state-controls.ts";
import { createTaskControls, type TaskControls } from "./task-controls.ts";

/**
 * The control API for callers in this process: the same calls, without HTTP. What cannot be done rejects
 * or throws with a `ControlError`, or a `ServiceError` where a rule of the service refuses it.
 */
export interface Admin
  extends KeyControls,
    TaskControls,
    DeliveryControls,
    FaultControls,
    StateControls,
    InspectionControls {
  /** Calls `listener` with everything that happens from now on, also over resets. Returns how to stop. */
  listen(listener: (happening: NumberedHappening) => void): () => void;
}

export type AdminOptions = StateControlsOptions & {
  /** Measures time limits of waiting. Default: the computer's clock. */
  readonly wallClock?: Clock;
};

export function createAdmin(options: AdminOptions): Admin {
  const { worlds, wallClock = createRealClock() } = options;
  return {
    ...createKeyControls(worlds),
    ...createTaskControls(worlds),
    ...createDeliveryControls(worlds, wallClock),
    ...createFaultControls(worlds),
    ...createStateControls(options),
    ...createInspectionControls(worlds),
    listen(listener) {
      let stop = worlds.current.listen(listener);
      const stopFollowing = worlds.follow((world) => {
        stop = world.listen(listener);
      });
      return () => {
        stop();
        stopFollowing();
      };
    },
  };
}
