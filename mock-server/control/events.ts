import { isKnownEventName } from "@workspace-tasks/events/catalog";
import { exampleFields } from "@workspace-tasks/events/example";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import * as z from "zod";
import { checkSchema } from "../checks.ts";
import { syncDocuments } from "../rules/clients.ts";
import { deliveriesOfEvent } from "../rules/delivery-retention.ts";
import { addToCatalog, emitCustomEvent, isCatalogEvent, listCatalog } from "../rules/events.ts";
import { conflict, found, notFound } from "../rules/service-error.ts";
import type { EventRecord, WebhookEndpointRecord } from "../state/records.ts";
import { isoTime } from "../time/duration.ts";
import type { World } from "../world/world.ts";
import { deliverySummary, viewDeliverySummary } from "./deliveries.ts";
import { id, listOf, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

const schema: z.ZodType = z.lazy(() =>
  // `true` and `false` are schemas without keywords.
  z.preprocess((value) => (typeof value === "boolean" ? {} : value), keywords),
);
const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** Keywords whose values have the same schema. */
const each = (names: string, value: z.ZodType) =>
  Object.fromEntries(names.split(" ").map((name) => [name, value.optional()]));

const keywords = z.looseObject({
  ...each("$schema $id $ref title description format", z.string()),
  ...each("type", z.union([type, z.array(type).min(1)])),
  ...each("properties patternProperties definitions", z.record(z.string(), schema)),
  ...each("additionalProperties additionalItems propertyNames contains not if then else", schema),
  ...each("items", z.union([z.array(schema), schema])),
  ...each("allOf anyOf oneOf", z.array(schema).min(1)),
  ...each("enum", z.array(z.unknown())),
  ...each("required", z.array(z.string())),
  ...each("minLength maxLength minItems maxItems minProperties maxProperties", z.int().nonnegative()),
  ...each("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", z.number()),
  ...each("pattern", z.string().refine(isPattern, "expected a regular expression")),
});

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern) !== null;
  } catch {
    return false;
  }
}

export const isJsonSchema = (value: unknown): boolean => schema.safeParse(value).success;

/** The JSON Schema (Draft 7) of a payload: keywords that it knows have values that it permits. */
export const payloadSchema = z.record(z.string(), z.unknown()).superRefine((value, context) => {
  for (const { path, message } of checkSchema(schema, value).issues ?? [])
    context.addIssue({ code: "custom", path: path.split("."), message });
});

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
    run({ worlds }, input) {
      const { clientId, documents } = syncDocuments(worlds.current, input);
      return { clientId, inputDocumentIds: documents.map(({ inputDocumentId }) => inputDocumentId) };
    },
  }),
  listCatalog: defineRoute("GET /catalog", {
    summary: "Every event that the mock can send, with an example of its payload.",
    response: listOf(catalogEvent),
    run: ({ worlds }) => ({
      data: listCatalog(worlds.current).map(({ name, description, version }) => {
        const example = isKnownEventName(name) ? exampleFields(name) : {};
        return { name, description, version, example };
      }),
    }),
  }),
  addCatalogEvent: defineRoute("POST /catalog", {
    summary: "Adds a future event to the catalog.",
    input: newCatalogEvent,
    status: 201,
    response: z.object({ name: z.string() }),
    run: ({ worlds }, event) => ({ name: addToCatalog(worlds.current, event).name }),
  }),
  sendEvent: defineRoute("POST /events", {
    summary: "Sends an event of the catalog with any payload.",
    input: eventToSend,
    status: 201,
    response: z.object({ eventId: id }),
    run({ worlds }, { name, payload, endpointId, ...input }) {
      const world = worlds.current;
      const endpoint = endpointId === undefined ? undefined : findEnabledEndpoint(world, endpointId);
      const workspaceId = endpoint?.workspaceId ?? input.workspaceId ?? worlds.seedData.workspaceId;
      if (!isCatalogEvent(world, name)) {
        const names = listCatalog(world).map((entry) => entry.name);
        const hint = didYouMean(name, names) || "; add it with POST /catalog";
        throw notFound(`event "${name}" is not in the catalog${hint}`);
      }
      if (!world.state.workspaces.has(workspaceId)) throw notFound("Workspace not found");
      return { eventId: emitCustomEvent(world, { workspaceId, name, payload, endpointId }) };
    },
  }),
  getEvent: defineRoute("GET /events/{id}", {
    summary:
      "One event with its exact body and its deliveries; only events that an endpoint subscribes to are kept.",
    response: eventSummary.extend({
      workspaceId: id,
      body: z.string().describe("The exact text that is signed and sent."),
      deliveries: z.array(deliverySummary),
    }),
    run({ worlds }, eventId) {
      const event = found(worlds.current.state.events.get(eventId), `event "${eventId}" not found`);
      const { workspaceId, body } = event;
      return { ...viewEvent(worlds.current, event), workspaceId, body };
    },
  }),
};

function findEnabledEndpoint({ state }: World, endpointId: string): WebhookEndpointRecord {
  const endpoint = found(state.endpoints.get(endpointId), "Webhook endpoint not found");
  if (!endpoint.enabled) throw conflict("the endpoint is disabled; enable it first");
  return endpoint;
}

/** An event with its deliveries. */
export const viewEvent = (world: World, { id, name, occurredAtMs }: EventRecord) => ({
  eventId: id,
  name,
  occurredAt: isoTime(occurredAtMs),
  deliveries: deliveriesOfEvent(world, id).map((delivery) => viewDeliverySummary(world, delivery)),
});
