import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import * as graphql from "graphql";
import { MockServerError, type MockServerIssue } from "../errors.ts";
import { describeUnknownEvent } from "../rules/events.ts";
import type { FaultPlan, Router } from "../state/fault.ts";
import type { OverrideOptions } from "../state/override.ts";
import type { OverrideResponse } from "../world/override-store.ts";
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
 * Checks what is known before a request: that the operation, the key and the workspace exist, and that the data has no
 * value that the schema does not allow. Fields that a request selects and the data lacks are found later.
 * @throws MockServerError BODY_INVALID
 */
export function checkOverride(
  world: World,
  operation: string,
  response: OverrideResponse,
  { router, keyId, workspaceId, invalid = false }: OverrideOptions,
): void {
  const { schema, field } = knownOperation(operation, router);
  const wrongKey = keyId === undefined ? undefined : describeUnknownKey(world, keyId);
  if (wrongKey !== undefined) throw invalidBody(`keyId: ${wrongKey}`);
  const wrongWorkspace = workspaceId === undefined ? undefined : describeUnknownWorkspace(world, workspaceId);
  if (wrongWorkspace !== undefined) throw invalidBody(`workspaceId: ${wrongWorkspace}`);
  if (invalid || response.data === undefined || response.data === null) return;
  try {
    checkData(schema, field.type, response.data, "data");
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw invalidBody(`${error.message}; invalid: true sends it all the same`);
  }
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

interface KnownOperation {
  readonly schema: graphql.GraphQLSchema;
  readonly field: graphql.GraphQLField<unknown, unknown>;
}

/**
 * The top-level field of this name.
 * @param router absent: either router
 * @throws MockServerError BODY_INVALID for a name that no schema has
 */
export function knownOperation(operation: string, router: Router | undefined): KnownOperation {
  const served = routersOf(router).map((each) => ({ schema: routerSchema(each), fields: rootFields(each) }));
  const found = served.find(({ fields }) => Object.hasOwn(fields, operation));
  const field = found?.fields[operation];
  if (found && field) return { schema: found.schema, field };
  const known = served.flatMap(({ fields }) => Object.keys(fields));
  throw new MockServerError("BODY_INVALID", `operation: ${describeUnknown(operation, router, known)}`);
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
    const known = routersOf(router).flatMap((each) => Object.keys(rootFields(each)));
    if (known.includes(operation)) continue;
    const message = describeUnknown(operation, router, [...known, ...uploadOperations]);
    return { path: `api.${index}.operation`, message };
  }
  return undefined;
}

const routersOf = (router: Router | undefined): readonly Router[] =>
  router === undefined ? ["base", "gateway"] : [router];

function rootFields(router: Router) {
  const schema = routerSchema(router);
  return { ...schema.getQueryType()?.getFields(), ...schema.getMutationType()?.getFields() };
}

function describeUnknown(operation: string, router: Router | undefined, known: readonly string[]): string {
  const where = router ? ` of the ${router} router` : "";
  return `unknown operation ${operation}${where}${didYouMean(operation, known)}`;
}

// Data of an override, compared with the schema: a test that responds with what the service can never send proves
// nothing, unless it says so.

/** Data that the schema does not allow; the message begins with its path. */
export class DataError extends Error {}

const mismatch = (path: string, expected: string, got: unknown) =>
  new DataError(`${path}: expected ${expected}, got ${describeValue(got)}`);

/**
 * Checks every field that the data has: which of them a request selects is not known yet.
 * @throws DataError for a value that the schema does not allow, and for a field that it does not have
 */
function checkData(
  schema: graphql.GraphQLSchema,
  type: graphql.GraphQLOutputType,
  value: unknown,
  path: string,
): void {
  if (graphql.isNonNullType(type)) {
    if (value === null) throw mismatch(path, `${type.ofType}, and not null`, value);
    checkData(schema, type.ofType, value, path);
  } else if (value === null || value === undefined) return;
  else if (graphql.isListType(type)) {
    if (!Array.isArray(value)) throw mismatch(path, "a list", value);
    for (const [index, item] of value.entries()) checkData(schema, type.ofType, item, `${path}.${index}`);
  } else if (graphql.isLeafType(type)) checkLeaf(type, value, path);
  else if (isPlainObject(value)) checkObject(schema, type, value, path);
  else throw mismatch(path, "an object", value);
}

function checkLeaf(type: graphql.GraphQLLeafType, value: unknown, path: string): void {
  try {
    type.serialize(value);
  } catch {
    const names = graphql.isEnumType(type)
      ? type.getValues().map(({ name }) => JSON.stringify(name))
      : [type.name];
    throw mismatch(path, names.join(", "), value);
  }
}

function checkObject(
  schema: graphql.GraphQLSchema,
  type: graphql.GraphQLOutputType,
  value: Record<string, unknown>,
  path: string,
): void {
  const name = value["__typename"];
  // A member of a union that is not named is checked when a request selects it.
  const types = graphql.isAbstractType(type) ? schema.getPossibleTypes(type) : [];
  if (graphql.isAbstractType(type) && name === undefined) return;
  const objectType = graphql.isObjectType(type) ? type : types.find((each) => each.name === name);
  if (!objectType) throw mismatch(`${path}.__typename`, types.map((each) => each.name).join(" or "), name);
  const fields = objectType.getFields();
  for (const [field, inner] of Object.entries(value)) {
    if (field === "__typename") continue;
    const definition = fields[field];
    if (definition) checkData(schema, definition.type, inner, `${path}.${field}`);
    else {
      const hint = didYouMean(field, Object.keys(fields));
      throw new DataError(`${path}: unknown field ${field} of ${objectType.name}${hint}`);
    }
  }
}
