import { z } from "zod";
import { id } from "./fields.ts";
import { defineRoute } from "./route.ts";

export const documentsSyncedBody = z.strictObject({
  connectionId: id,
  clientId: id
    .optional()
    .describe("Default: the first client of the connection's workspace; one is made up where there is none."),
  sourceExternalId: z.string().optional().describe("Folder or project. Default: the client's `externalId`."),
  documents: z
    .array(
      z.strictObject({
        fileName: z.string().min(1),
        mimeType: z.string().optional().describe("Default: by the file name."),
        externalId: z.string().optional().describe("Its id in the connected system. Default: the file name."),
      }),
    )
    .max(10_000),
  duplicateCount: z
    .int()
    .nonnegative()
    .optional()
    .describe("Files left out beside those found to be held already. Default: 0."),
});

export const catalogBody = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  version: z.string().optional(),
  status: z.string().optional(),
  taskTypes: z.array(z.string()).optional(),
  payloadSchema: z.record(z.string(), z.unknown()).optional(),
});

export const sendEventBody = z.strictObject({
  name: z.string().min(1),
  payload: z.record(z.string(), z.unknown()),
  workspaceId: id.optional().describe("Default: the first workspace."),
});

export const eventRoutes = [
  defineRoute({
    method: "POST",
    path: "/documents-synced",
    summary: "Pulls documents from a connected system, which says so with `documents.synced`.",
    body: documentsSyncedBody,
    status: 201,
    answer: z.object({ clientId: id, inputDocumentIds: z.array(id) }),
    run: (admin, { body }) => admin.syncDocuments(body),
  }),
  defineRoute({
    method: "POST",
    path: "/catalog",
    summary: "Adds an event of the future to the catalog.",
    body: catalogBody,
    status: 201,
    answer: z.object({ name: z.string() }),
    run: (admin, { body }) => admin.addToCatalog(body),
  }),
  defineRoute({
    method: "POST",
    path: "/events",
    summary: "Sends an event of the catalog with any payload.",
    body: sendEventBody,
    status: 201,
    answer: z.object({ eventId: id }),
    run: (admin, { body }) => admin.sendEvent(body),
  }),
];
