import { contractProfile } from "../faults/contract-profile.ts";
import type { FaultPlan } from "../state/fault.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import { type FiredFaultView, viewFiredFault } from "./views.ts";

export type FaultsView = {
  /** The plan with what is left of its instructions. */
  readonly plan: FaultPlan;
  readonly fired: FiredFaultView[];
};

/** What goes wrong on purpose. */
export interface FaultControls {
  faults(): FaultsView;
  /** Replaces the plan; the log stays. `profile: "contract"` adds all that the interface permits. */
  setFaults(plan: FaultPlan & { readonly profile?: "contract" | undefined }): FaultsView;
  /** Ends all faults and empties the log. */
  clearFaults(): void;
}

export function createFaultControls(worlds: WorldHolder): FaultControls {
  const faults = (): FaultsView => ({
    plan: worlds.current.faults.plan(),
    fired: worlds.current.faults.fired().map(viewFiredFault),
  });
  return {
    faults,
    setFaults({ profile, api = [], deliveries = [] }) {
      const permitted = profile === "contract" ? (contractProfile.deliveries ?? []) : [];
      worlds.current.faults.replace({ api, deliveries: [...permitted, ...deliveries] });
      worlds.current.emit({ type: "faults.changed" });
      return faults();
    },
    clearFaults() {
      worlds.current.faults.clear();
      worlds.current.emit({ type: "faults.changed" });
    },
  };
}
