import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import { MockServerError, type MockServerIssue } from "../errors.ts";
import { describeUnknownEvent } from "../rules/events.ts";
import type { FaultPlan, Router } from "../state/fault.ts";
import type { OverrideOptions } from "../state/override.ts";
import type { World } from "../world/world.ts";
import { redactText } from "./redaction.ts";
import { routerSchema } from "./schema.ts";

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

/**
 * Checks what is known before a request: that the operation, the key and the workspace exist. What the schema does not allow
 * in the data is found by the request that selects it.
 * @throws MockServerError BODY_INVALID
 */
export function checkOverride(
  world: World,
  operation: string,
  { router, keyId, workspaceId }: OverrideOptions,
): void {
  requireOperation(operation, router);
  const wrongKey = keyId === undefined ? undefined : describeUnknownKey(world, keyId);
  if (wrongKey !== undefined) throw invalidBody(`keyId: ${wrongKey}`);
  const wrongWorkspace = workspaceId === undefined ? undefined : describeUnknownWorkspace(world, workspaceId);
  if (wrongWorkspace !== undefined) throw invalidBody(`workspaceId: ${wrongWorkspace}`);
}

const invalidBody = (message: string) => new MockServerError("BODY_INVALID", message);

/** Why no request can have this API key or partner key, if none can. */
function describeUnknownKey({ state }: World, keyId: string): string | undefined {
  if (state.apiKeys.has(keyId) || state.partnerKeys.has(keyId)) return undefined;
  const ids = [...state.apiKeys.keys(), ...state.partnerKeys.keys()];
  const hint = didYouMean(keyId, ids) || "; listApiKeys and listPartnerKeys have the ids";
  // A key in place of its id.
  return `unknown key ${redactText(keyId)}${hint}`;
}

/** Why no token can be of this workspace, if none can. */
function describeUnknownWorkspace({ state }: World, workspaceId: string): string | undefined {
  if (state.workspaces.has(workspaceId)) return undefined;
  const hint = didYouMean(workspaceId, [...state.workspaces.keys()]) || "; listWorkspaces has the ids";
  return `unknown workspace ${redactText(workspaceId)}${hint}`;
}

/**
 * @param router absent: either router
 * @throws MockServerError BODY_INVALID for a name that no top-level field of the schema has
 */
export function requireOperation(operation: string, router: Router | undefined): void {
  const known = operationsOf(router);
  if (!known.includes(operation))
    throw invalidBody(`operation: ${describeUnknown(operation, router, known)}`);
}

/** A fault plan names the requests of an upload, too. @see upload-handler.ts */
const uploadOperations = ["post", "patch", "head", "delete"].map((method) => `upload.${method}`);

/**
 * A rule with a misspelt operation would never inject anything.
 * @returns why the first such rule is wrong
 */
function wrongFaultOperation({ api = [] }: FaultPlan): MockServerIssue | undefined {
  for (const [index, { operation, router }] of api.entries()) {
    if (operation === undefined || uploadOperations.includes(operation)) continue;
    const known = operationsOf(router);
    if (known.includes(operation)) continue;
    const message = describeUnknown(operation, router, [...known, ...uploadOperations]);
    return { path: `api.${index}.operation`, message };
  }
  return undefined;
}

/** The top-level fields of a router, or of both. */
const operationsOf = (router: Router | undefined): readonly string[] =>
  (router === undefined ? (["base", "gateway"] as const) : [router]).flatMap((each) => {
    const schema = routerSchema(each);
    return [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    );
  });

function describeUnknown(operation: string, router: Router | undefined, known: readonly string[]): string {
  const where = router ? ` of the ${router} router` : "";
  return `unknown operation ${operation}${where}${didYouMean(operation, known)}`;
}
