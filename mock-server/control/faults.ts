import * as z from "zod";
import { contractProfile } from "../faults.ts";
import { checkFaultPlan } from "../graphql/checks.ts";
import { notFound } from "../rules/service-error.ts";
import {
  type ApiFault,
  type DeliveryFault,
  type FaultPlan,
  faultPlanSchema,
  type Immutable,
} from "../state/fault.ts";
import type { World } from "../world/world.ts";
import { shown, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

const fired = z.object({
  sequence: z.int(),
  at: time,
  side: z.enum(["api", "delivery"]),
  rule: z.int().describe("Position of the rule in its list."),
  fault: z.looseObject({ kind: z.string() }) as unknown as z.ZodType<ApiFault | DeliveryFault>,
  subject: z.string().describe("The operation, or the delivery's id."),
});

const faults = z.object({
  plan: (z.looseObject({}) as unknown as z.ZodType<FaultPlan>).describe(
    "The plan with the instructions that are left.",
  ),
  rules: z
    .array(z.object({ id: z.int(), side: z.enum(["api", "deliveries"]), index: z.int() }))
    .describe("Ids of the plan's rules, each with its list and its position there."),
  fired: z.array(fired),
});

const newFaults = faultPlanSchema.extend({
  profile: z
    .literal("contract")
    .optional()
    .describe("Adds all that the interface permits a delivery to do, and nothing else."),
});

export type FaultsView = z.output<typeof faults>;
export type FiredFaultView = z.output<typeof fired>;

export const faultRoutes = {
  getFaults: defineRoute("GET /faults", {
    summary: "The fault plan and the faults that fired.",
    response: faults,
    run: ({ worlds }) => viewFaults(worlds.current),
  }),
  setFaults: defineRoute("PUT /faults", {
    summary: "Replaces the fault plan; the log of fired faults stays.",
    input: newFaults,
    response: faults,
    run({ worlds }, faults = {}) {
      worlds.current.faults.replace(planOf(worlds.current, faults));
      return changed(worlds.current);
    },
  }),
  addFaults: defineRoute("POST /faults", {
    summary: "Adds rules to the fault plan; those that are active stay as they are.",
    input: newFaults,
    response: faults,
    run({ worlds }, faults = {}) {
      worlds.current.faults.add(planOf(worlds.current, faults));
      return changed(worlds.current);
    },
  }),
  removeFault: defineRoute("DELETE /faults/{id}", {
    summary: "Ends one rule of the fault plan.",
    response: faults,
    run({ worlds }, id) {
      const removed = worlds.current.faults.remove(Number(id));
      if (!removed)
        throw notFound(`there is no fault rule with the id ${id}; it has been removed or replaced`);
      return changed(worlds.current);
    },
  }),
  clearFaults: defineRoute("DELETE /faults", {
    summary: "Ends all faults and empties the log.",
    run({ worlds }) {
      worlds.current.faults.clear();
      changed(worlds.current);
    },
  }),
};

const viewFaults = ({ faults }: World): FaultsView => ({
  plan: faults.plan(),
  rules: [...faults.rules()],
  fired: faults.fired().map(shown),
});

/** Reports that the plan has changed. */
function changed(world: World): FaultsView {
  world.emit({ type: "faults.changed" });
  return viewFaults(world);
}

type NewFaults = Immutable<z.output<typeof newFaults>>;

function planOf(world: World, { profile, api = [], deliveries = [] }: NewFaults): FaultPlan {
  const permitted = profile === "contract" ? (contractProfile.deliveries ?? []) : [];
  checkFaultPlan(world, { api, deliveries });
  return { api, deliveries: [...permitted, ...deliveries] };
}
