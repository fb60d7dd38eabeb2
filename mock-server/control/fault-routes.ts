import { z } from "zod";
import { faultPlanSchema } from "../state/fault.ts";
import { time } from "./fields.ts";
import { defineRoute } from "./route.ts";

const firedView = z.object({
  sequence: z.int(),
  at: time,
  side: z.enum(["api", "delivery"]),
  rule: z.int().describe("Position of the rule in its list."),
  fault: z.looseObject({ kind: z.string() }),
  subject: z.string().describe("The operation, or the delivery's id."),
});

export const faultsView = z.object({
  plan: z.looseObject({}).describe("The plan with what is left of its instructions."),
  fired: z.array(firedView),
});

export const faultsBody = z.strictObject({
  ...faultPlanSchema.shape,
  profile: z
    .literal("contract")
    .optional()
    .describe("Adds everything the interface permits a delivery to do, and nothing else."),
});

export const faultRoutes = [
  defineRoute({
    method: "GET",
    path: "/faults",
    summary: "The fault plan and what has fired.",
    answer: faultsView,
    run: (admin) => admin.faults(),
  }),
  defineRoute({
    method: "PUT",
    path: "/faults",
    summary: "Replaces the fault plan; the log stays.",
    body: faultsBody,
    answer: faultsView,
    run: (admin, { body }) => admin.setFaults(body),
  }),
  defineRoute({
    method: "DELETE",
    path: "/faults",
    summary: "Ends all faults and empties the log.",
    run: (admin) => admin.clearFaults(),
  }),
];
