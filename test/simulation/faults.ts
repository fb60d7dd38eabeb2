import type { ApiFault, DeliveryFault, FaultPlan } from "workspace-tasks/mock-server";
import type { SimulationSettings, Trouble } from "./settings.ts";

const apiFaults: readonly (readonly [Trouble, ApiFault])[] = [
  ["apiStatus", { kind: "status", status: 503, retryAfterSeconds: 2 }],
  [
    "apiGraphqlError",
    { kind: "graphql-error", message: "Internal server error", code: "INTERNAL_SERVER_ERROR" },
  ],
  ["apiCutBefore", { kind: "reset-before-effect" }],
  ["apiCutAfter", { kind: "reset-after-effect" }],
  ["apiTruncated", { kind: "truncate" }],
  ["apiHtml", { kind: "html" }],
  ["apiStalled", { kind: "stall" }],
  ["apiDelayed", { kind: "delay", delayMs: 4_000 }],
  ["apiTokenExpired", { kind: "expire-token" }],
  ["apiQuotaBurnt", { kind: "burn-quota", requests: 3 }],
];

const deliveryFaults: readonly (readonly [Trouble, DeliveryFault])[] = [
  ["deliveryDuplicated", { kind: "duplicate", copies: 2 }],
  ["deliveryReordered", { kind: "reorder" }],
  ["deliveryDelayed", { kind: "delay", delayMs: 20_000 }],
  ["deliveryDropped", { kind: "drop" }],
  ["deliveryForeignSecret", { kind: "wrong-signature" }],
  ["deliveryStale", { kind: "stale-timestamp" }],
  ["deliveryOldSecret", { kind: "old-secret-only" }],
  ["deliveryAltered", { kind: "altered-body" }],
  ["deliveryRedirected", { kind: "redirect" }],
];

/** The faults of the mock that these settings ask for. */
export function faultPlanOf({ probabilities }: SimulationSettings): FaultPlan {
  const chances = <Fault>(faults: readonly (readonly [Trouble, Fault])[]) =>
    faults
      .map(([trouble, fault]) => ({ probability: probabilities[trouble], fault }))
      .filter(({ probability }) => probability > 0);
  return {
    api: [{ chances: chances(apiFaults) }],
    deliveries: [{ chances: chances(deliveryFaults) }],
  };
}
