import * as z from "zod";
import { id, listOf, time } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";
import { deliverySummary } from "../deliveries/delivery-routes.ts";
import { payloadSchema } from "./payload-schema.ts";

const documentsPull = z.strictObject({
  connectionId: id,
  clientId: id
    .optional()
    .describe("Default: the first client of the connection's workspace, or a new one if it has none."),
  sourceExternalId: z.string().optional().describe("Folder or project. Default: the client's `externalId`."),
  documents: z
    .array(
      z.strictObject({
        fileName: z.string().min(1),
        mimeType: z.string().optional().describe("Default: guessed from the file extension."),
        externalId: z.string().optional().describe("Its id in the connected system. Default: the file name."),
      }),
    )
    .max(10_000),
  duplicateCount: z
    .int()
    .nonnegative()
    .optional()
    .describe("Files left out in addition to those that are already held. Default: 0."),
});

const newCatalogEvent = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  version: z.string().optional(),
  status: z.string().optional(),
  taskTypes: z.array(z.string()).optional(),
  payloadSchema: payloadSchema.optional().describe("JSON Schema (Draft 7)."),
});

const eventToSend = z.strictObject({
  name: z.string().min(1),
  payload: z.record(z.string(), z.unknown()),
  workspaceId: id.optional().describe("Default: that of the endpoint, or the first workspace."),
  endpointId: id
    .optional()
    .describe("Sends it to this endpoint alone, whatever its subscription. Default: to all that subscribe."),
});

const catalogEvent = z.object({
  name: z.string(),
  description: z.string(),
  version: z.string(),
  example: z.record(z.string(), z.unknown()).describe("A payload that `sendEvent` accepts."),
});

export const eventSummary = z.object({ eventId: id, name: z.string(), occurredAt: time });

export const eventRoutes = {
  syncDocuments: defineRoute("POST /documents-synced", {
    summary: "Pulls documents from a connected system and sends `documents.synced`.",
    input: documentsPull,
    status: 201,
    response: z.object({
      clientId: id,
      inputDocumentIds: z.array(id).describe("Documents already held are left out."),
    }),
  }),
  listCatalog: defineRoute("GET /catalog", {
    summary: "Every event that the mock can send, with an example of its payload.",
    response: listOf(catalogEvent),
  }),
  addCatalogEvent: defineRoute("POST /catalog", {
    summary: "Adds a future event to the catalog.",
    input: newCatalogEvent,
    status: 201,
    response: z.object({ name: z.string() }),
  }),
  sendEvent: defineRoute("POST /events", {
    summary: "Sends an event of the catalog with any payload.",
    input: eventToSend,
    status: 201,
    response: z.object({ eventId: id }),
  }),
  getEvent: defineRoute("GET /events/{id}", {
    summary:
      "One event with its exact body and its deliveries; only events that an endpoint subscribes to are kept.",
    response: eventSummary.extend({
      workspaceId: id,
      body: z.string().describe("The exact text that is signed and sent."),
      deliveries: z.array(deliverySummary),
    }),
  }),
};
