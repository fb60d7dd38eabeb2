// An endpoint is enabled from its creation. `enabled: false` pauses it: pending deliveries wait. Deleting it also
// cancels pending retries. Its secrets are a list, newest first: the first is current, each other one verifies
// until its own grace period ends.

import { isHttpUrl, isReceiverUrl } from "../checks.ts";
import type {
  CreateWebhookEndpointInput,
  RequireFields,
  RotateWebhookEndpointSecretInput,
  UpdateWebhookEndpointInput,
  WorkspaceWebhookEndpointsArgs,
} from "../generated/resolvers.ts";
import { endpointsPerWorkspaceMax, secretsPerEndpointMax } from "../settings/settings.ts";
import type { WebhookEndpointRecord, WorkspaceRecord } from "../state/records.ts";
import type { World } from "../world/world.ts";
import { pauseDeliveries, resumeDeliveries } from "./deliveries.ts";
import { newSecret } from "./delivery-attempt.ts";
import { cancelDeliveries } from "./delivery-scheduler.ts";
import { isCatalogEvent } from "./events.ts";
import { type Caller, requireAdministrator } from "./identity.ts";
import { checkListLength, createdNow, decodeIterator, encodeIterator, touch } from "./records.ts";
import { badInput, conflict, notFound } from "./service-error.ts";

export interface EndpointWithSecret {
  endpoint: WebhookEndpointRecord;
  signingSecret: string;
}

/** @see interface §4 */
export function createEndpoint(
  world: World,
  caller: Caller,
  input: CreateWebhookEndpointInput,
): EndpointWithSecret {
  const endpoint = addEndpoint(world, requireAdministrator(caller).workspace.id, input);
  return { endpoint, signingSecret: endpoint.secrets[0]?.secret ?? "" };
}

/** Adds an endpoint without checking the caller. */
export function addEndpoint(
  world: World,
  workspaceId: string,
  input: CreateWebhookEndpointInput,
): WebhookEndpointRecord {
  const eventTypes = checkEndpoint(world, input);
  if (endpointsOf(world, workspaceId).length >= endpointsPerWorkspaceMax) {
    throw conflict("Webhook endpoint limit of the workspace is reached");
  }
  const secret = newSecret(world);
  const endpoint: WebhookEndpointRecord = {
    id: world.newId("endpoint"),
    workspaceId,
    url: input.url,
    description: input.description ?? "",
    enabled: true,
    eventTypes,
    secrets: [{ secret, expiresAtMs: null }],
    ...createdNow(world),
  };
  world.state.endpoints.set(endpoint.id, endpoint);
  world.emit({ type: "endpoint.created", endpointId: endpoint.id, workspaceId });
  return endpoint;
}

/** Checks the input of a new endpoint. @returns its event types, without repeats */
export function checkEndpoint(
  world: World,
  { url, eventTypes = null }: CreateWebhookEndpointInput,
): WebhookEndpointRecord["eventTypes"] {
  checkUrl(world, url);
  return checkEventTypes(world, eventTypes);
}

const patchFields = ["url", "description", "enabled", "eventTypes"] as const;

/** Applies a patch: an absent field differs from an explicit `null`. @see interface §4 */
export function updateEndpoint(
  world: World,
  caller: Caller,
  input: UpdateWebhookEndpointInput,
): WebhookEndpointRecord {
  const { workspace } = requireAdministrator(caller);
  checkChange(world, input);
  return applyChange(world, findEndpoint(world, workspace, input.endpointId), input);
}

type EndpointChange = Omit<UpdateWebhookEndpointInput, "endpointId">;

/** Applies a patch without checking the caller. */
export function changeEndpoint(
  world: World,
  endpoint: WebhookEndpointRecord,
  input: EndpointChange,
): WebhookEndpointRecord {
  checkChange(world, input);
  return applyChange(world, endpoint, input);
}

/** What the interface says of the input alone, whatever endpoint it names. @see interface §7 */
function checkChange(world: World, input: EndpointChange): void {
  if (!patchFields.some((field) => input[field] !== undefined)) {
    throw badInput("At least one endpoint field must be updated");
  }
  checkEventTypes(world, input.eventTypes ?? null);
}

function applyChange(
  world: World,
  endpoint: WebhookEndpointRecord,
  input: EndpointChange,
): WebhookEndpointRecord {
  const url = input.url ?? endpoint.url;
  if (url !== endpoint.url) checkUrl(world, url);
  const eventTypes =
    input.eventTypes === undefined ? endpoint.eventTypes : checkEventTypes(world, input.eventTypes);
  const enabled = input.enabled ?? endpoint.enabled;
  const switched = enabled !== endpoint.enabled;

  endpoint.url = url;
  endpoint.eventTypes = eventTypes;
  endpoint.enabled = enabled;
  if (input.description !== undefined) endpoint.description = input.description ?? "";
  touch(world, endpoint);
  world.emit({ type: "endpoint.updated", endpointId: endpoint.id, enabled });
  if (switched) (enabled ? resumeDeliveries : pauseDeliveries)(world, endpoint.id);
  return endpoint;
}

/** Stops delivery, pending retries included. @see interface §3 */
export function deleteEndpoint(world: World, caller: Caller, endpointId: string): true {
  const { workspace } = requireAdministrator(caller);
  removeEndpoint(world, findEndpoint(world, workspace, endpointId));
  return true;
}

/** Deletes an endpoint without checking the caller. */
export function removeEndpoint(world: World, endpoint: WebhookEndpointRecord): void {
  world.state.endpoints.delete(endpoint.id);
  cancelDeliveries(world, endpoint.id);
  world.emit({ type: "endpoint.deleted", endpointId: endpoint.id });
}

export type RotateSecretInput = RequireFields<RotateWebhookEndpointSecretInput, "gracePeriodSeconds">;

/** Issues a new secret; the old one verifies until the grace period ends. @see interface §4 */
export function rotateSecret(world: World, caller: Caller, input: RotateSecretInput): EndpointWithSecret {
  const { workspace } = requireAdministrator(caller);
  checkGracePeriod(world, input.gracePeriodSeconds);
  const endpoint = findEndpoint(world, workspace, input.endpointId);
  return { endpoint, signingSecret: addSecret(world, endpoint, input.gracePeriodSeconds) };
}

/** Issues a new secret without checking the caller. @returns the new secret */
export function addSecret(world: World, endpoint: WebhookEndpointRecord, gracePeriodSeconds: number): string {
  checkGracePeriod(world, gracePeriodSeconds);
  const nowMs = world.clock.now();
  const graceEndsAtMs = nowMs + gracePeriodSeconds * 1_000;
  const old = endpoint.secrets
    .map(({ secret, expiresAtMs }) => ({ secret, expiresAtMs: expiresAtMs ?? graceEndsAtMs }))
    .filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  if (old.length >= secretsPerEndpointMax) {
    throw conflict("Too many secrets of the webhook endpoint are in their grace period");
  }
  const signingSecret = newSecret(world);
  endpoint.secrets = [{ secret: signingSecret, expiresAtMs: null }, ...old];
  touch(world, endpoint);
  world.emit({ type: "endpoint.secret-rotated", endpointId: endpoint.id, graceEndsAtMs });
  return signingSecret;
}

function checkGracePeriod({ settings }: World, gracePeriodSeconds: number): void {
  const { secretGraceSecondsMax } = settings.bounds;
  if (gracePeriodSeconds < 0 || gracePeriodSeconds > secretGraceSecondsMax) {
    throw badInput(`Secret grace period must be between 0 and ${secretGraceSecondsMax} seconds`);
  }
}

export interface EndpointPage {
  data: WebhookEndpointRecord[];
  done: boolean;
  iterator: string | null;
}

/** Endpoints in order of creation. @see interface §8 */
export function listEndpoints(
  world: World,
  caller: Caller,
  { limit, iterator }: RequireFields<WorkspaceWebhookEndpointsArgs, "limit">,
): EndpointPage {
  const { workspace } = requireAdministrator(caller);
  const { endpointPageItemsMax } = world.settings.bounds;
  if (limit < 1 || limit > endpointPageItemsMax) {
    throw badInput(`Webhook endpoint limit must be between 1 and ${endpointPageItemsMax}`);
  }
  const after = iterator == null ? "" : decodeIterator(workspace.id, iterator);
  const rest = endpointsOf(world, workspace.id)
    .filter(({ id }) => id > after)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const data = rest.slice(0, limit);
  const last = rest.length > limit ? data.at(-1) : undefined;
  return { data, done: !last, iterator: last ? encodeIterator(workspace.id, last.id) : null };
}

export const endpointsOf = ({ state }: World, workspaceId: string): WebhookEndpointRecord[] =>
  [...state.endpoints.values()].filter((endpoint) => endpoint.workspaceId === workspaceId);

/** An endpoint of another workspace is as if it did not exist (W15). */
function findEndpoint(
  { state }: World,
  workspace: WorkspaceRecord,
  endpointId: string,
): WebhookEndpointRecord {
  const endpoint = state.endpoints.get(endpointId);
  if (endpoint?.workspaceId !== workspace.id) throw notFound("Webhook endpoint not found");
  return endpoint;
}

function checkUrl(world: World, url: string): void {
  if (isReceiverUrl(url, world.settings)) return;
  // In the log, the inspector and the control API: a receiver of a test often has no certificate.
  const advice = isHttpUrl(url)
    ? "the mock delivers plain HTTP to this computer alone; allow the host with the setting httpHostsAllowed or --allow-http-host"
    : undefined;
  throw badInput("Webhook endpoint url must be an HTTPS URL", advice);
}

/** The subscription to store: without duplicates, in order of first appearance; `null` is all. */
function checkEventTypes(world: World, eventTypes: readonly string[] | null): string[] | null {
  if (eventTypes === null) return null;
  if (eventTypes.length === 0) throw badInput("At least one webhook event type is required");
  checkListLength(world, "eventTypes", eventTypes);
  if (!eventTypes.every((name) => isCatalogEvent(world, name))) {
    throw badInput("Unsupported webhook event type");
  }
  return [...new Set(eventTypes)];
}
