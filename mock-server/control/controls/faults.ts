import { contractProfile } from "../../faults/contract-profile.ts";
import { isoTime } from "../../time/iso-time.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { FaultsView, faultRoutes } from "../contract/faults.ts";
import type { ControlsOf } from "../contract/route.ts";

export type FaultControls = ControlsOf<typeof faultRoutes>;

export function createFaultControls(worlds: WorldHolder): FaultControls {
  const getFaults = (): FaultsView => {
    const { faults } = worlds.current;
    return {
      plan: faults.plan(),
      fired: faults.fired().map(({ atMs, ...entry }) => ({ ...entry, at: isoTime(atMs) })),
    };
  };
  return {
    getFaults,
    setFaults({ profile, api = [], deliveries = [] } = {}) {
      const permitted = profile === "contract" ? (contractProfile.deliveries ?? []) : [];
      worlds.current.faults.replace({ api, deliveries: [...permitted, ...deliveries] });
      worlds.current.emit({ type: "faults.changed" });
      return getFaults();
    },
    clearFaults() {
      worlds.current.faults.clear();
      worlds.current.emit({ type: "faults.changed" });
    },
  };
}
