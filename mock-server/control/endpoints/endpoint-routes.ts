import * as z from "zod";
import { id, listOf, time } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

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

const endpointFields = {
  id,
  workspaceId: id,
  workspace: z.string().describe("The workspace's name."),
  url: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  eventTypes: z.array(z.string()).nullable(),
  createdAt: time,
  updatedAt: time,
};

const endpointSummary = z.object({
  ...endpointFields,
  secrets: z.array(secretState).describe("Newest first."),
});

const endpointDetail = z.object({
  ...endpointFields,
  signingSecret: z.string().describe("The current secret."),
  secrets: z
    .array(secretState.extend({ secret: z.string() }))
    .describe("Newest first, expired ones included."),
});

export type EndpointSummary = z.output<typeof endpointSummary>;
export type EndpointDetail = z.output<typeof endpointDetail>;

export const endpointRoutes = {
  createEndpoint: defineRoute("POST /endpoints", {
    summary: "Creates a webhook endpoint.",
    input: newEndpoint,
    status: 201,
    response: endpointDetail,
  }),
  listEndpoints: defineRoute("GET /endpoints", {
    summary: "Webhook endpoints of all workspaces, without their secrets.",
    response: listOf(endpointSummary),
  }),
  updateEndpoint: defineRoute("PATCH /endpoints/{id}", {
    summary: "Changes a webhook endpoint, or pauses and resumes it.",
    input: endpointChange,
    response: endpointDetail,
  }),
  deleteEndpoint: defineRoute("DELETE /endpoints/{id}", {
    summary: "Deletes a webhook endpoint and cancels its pending deliveries.",
  }),
  rotateEndpointSecret: defineRoute("POST /endpoints/{id}/secrets", {
    summary: "Issues a new signing secret; the old one verifies until its grace period ends.",
    input: z.strictObject({
      gracePeriodSeconds: z.int().min(0).optional().describe("Default: 86400, a day."),
    }),
    status: 201,
    response: endpointDetail,
  }),
  getEndpoint: defineRoute("GET /endpoints/{id}", {
    summary: "One webhook endpoint with its signing secrets.",
    response: endpointDetail,
  }),
};
