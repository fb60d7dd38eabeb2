import type { FaultPlan } from "../state/fault.ts";

/**
 * Everything the interface permits a delivery to do, and nothing else: it may arrive more than once, late, out of
 * order, or need a retry. A handler that survives this profile is correct.
 * @see interface §6, "Delivery headers and verification", points 3 to 5
 */
export const contractProfile: FaultPlan = {
  deliveries: [
    {
      chances: [
        { probability: 0.2, fault: { kind: "duplicate", copies: 1 } },
        { probability: 0.05, fault: { kind: "duplicate", copies: 3 } },
        { probability: 0.2, fault: { kind: "reorder" } },
        { probability: 0.15, fault: { kind: "delay", delayMs: 1_000 } },
        { probability: 0.05, fault: { kind: "delay", delayMs: 120_000 } },
        { probability: 0.1, fault: { kind: "drop" } },
      ],
    },
  ],
};
