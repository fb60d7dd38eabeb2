import { contractProfile } from "../../faults.ts";
import { checkFaultPlan } from "../../graphql/checks.ts";
import { notFound } from "../../rules/service-error.ts";
import type { FaultPlan } from "../../state/fault.ts";
import { isoTime } from "../../time/duration.ts";
import type { World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { FaultsView, faultRoutes } from "./fault-routes.ts";

type FaultControls = ControlsOf<typeof faultRoutes>;

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
      worlds.current.faults.replace(planOf(worlds.current, faults));
      return changed();
    },
    addFaults(faults = {}) {
      worlds.current.faults.add(planOf(worlds.current, faults));
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

type NewFaults = Parameters<FaultControls["setFaults"]>[0] & object;

function planOf(world: World, { profile, api = [], deliveries = [] }: NewFaults): FaultPlan {
  const permitted = profile === "contract" ? (contractProfile.deliveries ?? []) : [];
  checkFaultPlan(world, { api, deliveries });
  return { api, deliveries: [...permitted, ...deliveries] };
}
