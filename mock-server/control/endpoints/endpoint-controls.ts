import { addEndpoint, addSecret, changeEndpoint, removeEndpoint } from "../../rules/endpoints.ts";
import { found, notFound } from "../../rules/service-error.ts";
import type { SigningSecretRecord, WebhookEndpointRecord } from "../../state/records.ts";
import { isoTime, isoTimeOrNull } from "../../time/duration.ts";
import type { World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { EndpointDetail, EndpointSummary, endpointRoutes } from "./endpoint-routes.ts";

/** That of the API. */
const graceSecondsDefault = 86_400;

export function createEndpointControls(worlds: WorldHolder): ControlsOf<typeof endpointRoutes> {
  const find = (endpointId: string): WebhookEndpointRecord =>
    found(worlds.current.state.endpoints.get(endpointId), "Webhook endpoint not found");
  return {
    createEndpoint({ workspaceId = worlds.seedData.workspaceId, ...input }) {
      const world = worlds.current;
      if (!world.state.workspaces.has(workspaceId)) throw notFound("Workspace not found");
      return viewEndpoint(world, addEndpoint(world, workspaceId, input));
    },
    listEndpoints: () => ({
      data: [...worlds.current.state.endpoints.values()].map((endpoint): EndpointSummary => {
        const { signingSecret: _, secrets, ...fields } = viewEndpoint(worlds.current, endpoint);
        return { ...fields, secrets: secrets.map(({ state, expiresAt }) => ({ state, expiresAt })) };
      }),
    }),
    getEndpoint: (endpointId) => viewEndpoint(worlds.current, find(endpointId)),
    updateEndpoint: (endpointId, change = {}) =>
      viewEndpoint(worlds.current, changeEndpoint(worlds.current, find(endpointId), change)),
    deleteEndpoint(endpointId) {
      removeEndpoint(worlds.current, find(endpointId));
    },
    rotateEndpointSecret(endpointId, { gracePeriodSeconds = graceSecondsDefault } = {}) {
      const endpoint = find(endpointId);
      addSecret(worlds.current, endpoint, gracePeriodSeconds);
      return viewEndpoint(worlds.current, endpoint);
    },
  };
}

function viewEndpoint(
  { state, clock }: World,
  { secrets, createdAtMs, updatedAtMs, ...endpoint }: WebhookEndpointRecord,
): EndpointDetail {
  return {
    ...endpoint,
    workspace: state.workspaces.get(endpoint.workspaceId)?.name ?? "",
    createdAt: isoTime(createdAtMs),
    updatedAt: isoTime(updatedAtMs),
    signingSecret: secrets[0]?.secret ?? "",
    secrets: secrets.map((secret) => viewSecret(secret, clock.now())),
  };
}

function viewSecret({ secret, expiresAtMs }: SigningSecretRecord, nowMs: number) {
  const state = expiresAtMs === null ? "current" : expiresAtMs > nowMs ? "grace" : "expired";
  return { secret, state, expiresAt: isoTimeOrNull(expiresAtMs) } as const;
}
