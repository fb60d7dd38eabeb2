import { contractProfile } from "../../faults/contract-profile.ts";
import { checkFaultOperations } from "../../graphql/check-operation.ts";
import { notFound } from "../../rules/service-error.ts";
import type { FaultPlan } from "../../state/fault.ts";
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
      rules: [...faults.rules()],
      fired: faults.fired().map(({ atMs, ...entry }) => ({ ...entry, at: isoTime(atMs) })),
    };
  };
  const changed = (): FaultsView => {
    worlds.current.emit({ type: "faults.changed" });
    return getFaults();
  };
  return {
    getFaults,
    setFaults(faults = {}) {
      worlds.current.faults.replace(planOf(faults));
      return changed();
    },
    addFaults(faults = {}) {
      worlds.current.faults.add(planOf(faults));
      return changed();
    },
    removeFault(id) {
      if (worlds.current.faults.remove(Number(id))) return changed();
      throw notFound(`there is no fault rule with the id ${id}; it has been removed or replaced`);
    },
    clearFaults() {
      worlds.current.faults.clear();
      changed();
    },
  };
}

function planOf({
  profile,
  api = [],
  deliveries = [],
}: Parameters<FaultControls["setFaults"]>[0] & object): FaultPlan {
  const permitted = profile === "contract" ? (contractProfile.deliveries ?? []) : [];
  const plan = { api, deliveries: [...permitted, ...deliveries] };
  checkFaultOperations(plan);
  return plan;
}
