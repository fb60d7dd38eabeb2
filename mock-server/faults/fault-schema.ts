import { z } from "zod";
import type { ApiFault, DeliveryFault, FaultPlan } from "../state/fault.ts";

// The fault plan as it comes from outside: a control API body, a scenario file, a snapshot.

const delayMs = z
  .number()
  .nonnegative()
  .max(86_400_000 * 7);
const httpStatus = z.int().min(200).max(599);

export const apiFaultSchema: z.ZodType<ApiFault> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("pass") }),
  z.strictObject({
    kind: z.literal("status"),
    status: httpStatus,
    retryAfterSeconds: z.int().nonnegative().optional(),
  }),
  z.strictObject({ kind: z.literal("graphql-error"), message: z.string(), code: z.string().optional() }),
  z.strictObject({ kind: z.literal("delay"), delayMs }),
  z.strictObject({ kind: z.literal("stall") }),
  z.strictObject({ kind: z.literal("reset-before-effect") }),
  z.strictObject({ kind: z.literal("reset-after-effect") }),
  z.strictObject({ kind: z.literal("truncate"), bytes: z.int().nonnegative().optional() }),
  z.strictObject({ kind: z.literal("html"), status: httpStatus.optional() }),
  z.strictObject({ kind: z.literal("expire-token") }),
  z.strictObject({ kind: z.literal("burn-quota"), requests: z.int().positive().optional() }),
]);

export const deliveryFaultSchema: z.ZodType<DeliveryFault> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("pass") }),
  z.strictObject({ kind: z.literal("duplicate"), copies: z.int().min(1).max(100).optional() }),
  z.strictObject({ kind: z.literal("reorder") }),
  z.strictObject({ kind: z.literal("delay"), delayMs }),
  z.strictObject({ kind: z.literal("drop") }),
  z.strictObject({ kind: z.literal("wrong-signature") }),
  z.strictObject({ kind: z.literal("stale-timestamp"), ageSeconds: z.int().optional() }),
  z.strictObject({ kind: z.literal("old-secret-only") }),
  z.strictObject({ kind: z.literal("altered-body") }),
  z.strictObject({ kind: z.literal("redirect") }),
]);

const chanceOf = <Fault extends z.ZodType>(fault: Fault) =>
  z.strictObject({ probability: z.number().min(0).max(1), fault });

const instructionsMax = 10_000;

export const faultPlanFields = {
  api: z
    .array(
      z.strictObject({
        keyId: z.string().optional(),
        router: z.enum(["base", "gateway"]).optional(),
        operation: z.string().optional(),
        instructions: z.array(apiFaultSchema).max(instructionsMax).optional(),
        chances: z.array(chanceOf(apiFaultSchema)).max(100).optional(),
      }),
    )
    .max(1_000)
    .optional(),
  deliveries: z
    .array(
      z.strictObject({
        endpointId: z.string().optional(),
        event: z.string().optional(),
        instructions: z.array(deliveryFaultSchema).max(instructionsMax).optional(),
        chances: z.array(chanceOf(deliveryFaultSchema)).max(100).optional(),
      }),
    )
    .max(1_000)
    .optional(),
};

export const faultPlanSchema: z.ZodType<FaultPlan> = z.strictObject(faultPlanFields);
