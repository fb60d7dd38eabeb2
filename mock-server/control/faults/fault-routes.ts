import * as z from "zod";
import { type ApiFault, type DeliveryFault, type FaultPlan, faultPlanSchema } from "../../state/fault.ts";
import { time } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

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
  }),
  setFaults: defineRoute("PUT /faults", {
    summary: "Replaces the fault plan; the log of fired faults stays.",
    input: newFaults,
    response: faults,
  }),
  addFaults: defineRoute("POST /faults", {
    summary: "Adds rules to the fault plan; those that are active stay as they are.",
    input: newFaults,
    response: faults,
  }),
  removeFault: defineRoute("DELETE /faults/{id}", {
    summary: "Ends one rule of the fault plan.",
    response: faults,
  }),
  clearFaults: defineRoute("DELETE /faults", { summary: "Ends all faults and empties the log." }),
};
