import * as z from "zod";
import { addEndpoint, addSecret, changeEndpoint, removeEndpoint } from "../rules/endpoints.ts";
import { found, notFound } from "../rules/service-error.ts";
import { type SigningSecretRecord, stateSchema, type WebhookEndpointRecord } from "../state/records.ts";
import { isoTimeOrNull } from "../time/duration.ts";
import type { World } from "../world/world.ts";
import { id, listOf, shown, shownSchema, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

const newEndpoint = z.strictObject({
  url: z.string(),
  description: z.string().optional(),
  eventTypes: z.array(z.string()).nullable().optional().describe("Default: `null`, every event."),
  workspaceId: id.optional().describe("Default: the first workspace."),
});

const endpointChange = z.strictObject({
  url: z.string().optional(),
  description: z.string().optional(),
  enabled: z.boolean().optional().describe("`false` pauses its deliveries."),
  eventTypes: z.array(z.string()).nullable().optional().describe("`null`: every event."),
});

const secretState = z.object({
  state: z.enum(["current", "grace", "expired"]),
  expiresAt: time.nullable(),
});

const endpoint = shownSchema(stateSchema.shape.endpoints.element).extend({
  workspace: z.string().describe("The workspace's name."),
});

const endpointSummary = endpoint.extend({ secrets: z.array(secretState).describe("Newest first.") });

const endpointDetail = endpoint.extend({
  signingSecret: z.string().describe("The current secret."),
  secrets: z
    .array(secretState.extend({ secret: z.string() }))
    .describe("Newest first, expired ones included."),
});

export type EndpointSummary = z.output<typeof endpointSummary>;
export type EndpointDetail = z.output<typeof endpointDetail>;

/** That of the API. */
const graceSecondsDefault = 86_400;

export const endpointRoutes = {
  createEndpoint: defineRoute("POST /endpoints", {
    summary: "Creates a webhook endpoint.",
    input: newEndpoint,
    status: 201,
    response: endpointDetail,
    run({ worlds }, { workspaceId = worlds.seedData.workspaceId, ...input }) {
      const world = worlds.current;
      if (!world.state.workspaces.has(workspaceId)) throw notFound("Workspace not found");
      return viewEndpoint(world, addEndpoint(world, workspaceId, input));
    },
  }),
  listEndpoints: defineRoute("GET /endpoints", {
    summary: "Webhook endpoints of all workspaces, without their secrets.",
    response: listOf(endpointSummary),
    run: ({ worlds }) => ({
      data: [...worlds.current.state.endpoints.values()].map((endpoint): EndpointSummary => {
        const { signingSecret: _, secrets, ...fields } = viewEndpoint(worlds.current, endpoint);
        return { ...fields, secrets: secrets.map(({ state, expiresAt }) => ({ state, expiresAt })) };
      }),
    }),
  }),
  updateEndpoint: defineRoute("PATCH /endpoints/{id}", {
    summary: "Changes a webhook endpoint, or pauses and resumes it.",
    input: endpointChange,
    response: endpointDetail,
    run: ({ worlds: { current } }, endpointId, change = {}) =>
      viewEndpoint(current, changeEndpoint(current, find(current, endpointId), change)),
  }),
  deleteEndpoint: defineRoute("DELETE /endpoints/{id}", {
    summary: "Deletes a webhook endpoint and cancels its pending deliveries.",
    run: ({ worlds: { current } }, endpointId) => removeEndpoint(current, find(current, endpointId)),
  }),
  rotateEndpointSecret: defineRoute("POST /endpoints/{id}/secrets", {
    summary: "Issues a new signing secret; the old one verifies until its grace period ends.",
    input: z.strictObject({
      gracePeriodSeconds: z.int().min(0).optional().describe(`Default: ${graceSecondsDefault}, a day.`),
    }),
    status: 201,
    response: endpointDetail,
    run({ worlds: { current } }, endpointId, input) {
      const endpoint = find(current, endpointId);
      addSecret(current, endpoint, input?.gracePeriodSeconds ?? graceSecondsDefault);
      return viewEndpoint(current, endpoint);
    },
  }),
  getEndpoint: defineRoute("GET /endpoints/{id}", {
    summary: "One webhook endpoint with its signing secrets.",
    response: endpointDetail,
    run: ({ worlds: { current } }, endpointId) => viewEndpoint(current, find(current, endpointId)),
  }),
};

const find = ({ state }: World, endpointId: string): WebhookEndpointRecord =>
  found(state.endpoints.get(endpointId), "Webhook endpoint not found");

function viewEndpoint({ state, clock }: World, endpoint: WebhookEndpointRecord): EndpointDetail {
  const { secrets, workspaceId } = endpoint;
  return {
    ...shown(endpoint),
    workspace: state.workspaces.get(workspaceId)?.name ?? "",
    signingSecret: secrets[0]?.secret ?? "",
    secrets: secrets.map((secret) => viewSecret(secret, clock.now())),
  };
}

function viewSecret({ secret, expiresAtMs }: SigningSecretRecord, nowMs: number) {
  const state = expiresAtMs === null ? "current" : expiresAtMs > nowMs ? "grace" : "expired";
  return { secret, state, expiresAt: isoTimeOrNull(expiresAtMs) } as const;
}
