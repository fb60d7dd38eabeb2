import { didYouMean } from "../../check-options.ts";
import { MockServerError } from "../../errors.ts";
import { contractProfile } from "../../faults/contract-profile.ts";
import { checkFaultOperations } from "../../graphql/check-operation.ts";
import { notFound } from "../../rules/service-error.ts";
import { isCatalogEvent, listCatalog } from "../../rules/webhooks/catalog.ts";
import type { FaultPlan } from "../../state/fault.ts";
import { isoTime } from "../../time/iso-time.ts";
import type { World } from "../../world/world.ts";
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
  checkFaultOperations({ api });
  checkDeliveryRules(world, deliveries);
  return { api, deliveries: [...permitted, ...deliveries] };
}

/** A rule for an event or endpoint that the world does not have would never inject anything. */
function checkDeliveryRules(world: World, rules: NonNullable<FaultPlan["deliveries"]>): void {
  for (const [index, { event, endpointId }] of rules.entries()) {
    if (event !== undefined && !isCatalogEvent(world, event)) {
      const names = listCatalog(world).map(({ name }) => name);
      const hint = didYouMean(event, names) || "; add it to the catalog first, with addCatalogEvent";
      throw unknownTarget(`deliveries.${index}.event`, `unknown event ${event}${hint}`);
    }
    if (endpointId !== undefined && !world.state.endpoints.has(endpointId)) {
      const ids = [...world.state.endpoints.keys()];
      const hint = didYouMean(endpointId, ids) || `; the world has ${ids.join(", ") || "no endpoint"}`;
      throw unknownTarget(`deliveries.${index}.endpointId`, `unknown endpoint ${endpointId}${hint}`);
    }
  }
}

const unknownTarget = (path: string, message: string) =>
  new MockServerError("BODY_INVALID", `${path}: ${message}`, { issues: [{ path, message }] });
