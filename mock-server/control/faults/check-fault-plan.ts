import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import { MockServerError, type MockServerIssue } from "../../errors.ts";
import { describeUnknownKey } from "../../graphql/check-caller.ts";
import { wrongFaultOperation } from "../../graphql/check-operation.ts";
import { describeUnknownEvent } from "../../rules/webhooks/catalog.ts";
import type { FaultPlan } from "../../state/fault.ts";
import type { World } from "../../world/world.ts";

/**
 * A rule for an operation, event, endpoint or key that the world does not have would never inject anything.
 * @returns why the first such rule is wrong
 */
export function wrongFaultRule(world: World, plan: FaultPlan): MockServerIssue | undefined {
  return wrongFaultOperation(plan) ?? wrongKey(world, plan) ?? wrongDeliveryRule(world, plan);
}

/** @throws MockServerError BODY_INVALID */
export function checkFaultPlan(world: World, plan: FaultPlan): void {
  const issue = wrongFaultRule(world, plan);
  if (issue)
    throw new MockServerError("BODY_INVALID", `${issue.path}: ${issue.message}`, { issues: [issue] });
}

function wrongKey(world: World, { api = [] }: FaultPlan): MockServerIssue | undefined {
  for (const [index, { keyId }] of api.entries()) {
    const message = keyId === undefined ? undefined : describeUnknownKey(world, keyId);
    if (message !== undefined) return { path: `api.${index}.keyId`, message };
  }
  return undefined;
}

const idsShownMax = 5;

function wrongDeliveryRule(world: World, { deliveries = [] }: FaultPlan): MockServerIssue | undefined {
  for (const [index, { event, endpointId }] of deliveries.entries()) {
    const message = event === undefined ? undefined : describeUnknownEvent(world, event);
    if (message !== undefined) return { path: `deliveries.${index}.event`, message };
    if (endpointId !== undefined && !world.state.endpoints.has(endpointId)) {
      const ids = [...world.state.endpoints.keys()];
      const shown = ids.length > idsShownMax ? [...ids.slice(0, idsShownMax), "…"] : ids;
      const hint =
        didYouMean(endpointId, ids) ||
        `; the world has ${shown.join(", ") || "no endpoint"}: add a rule once its endpoint exists, with addFaults`;
      return { path: `deliveries.${index}.endpointId`, message: `unknown endpoint ${endpointId}${hint}` };
    }
  }
  return undefined;
}
