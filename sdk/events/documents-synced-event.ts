import { z } from "zod";
import { occurredAtSchema } from "./occurred-at.ts";

export const syncedDocumentSchema = z.looseObject({
  inputDocumentId: z.string(),
  fileName: z.string(),
  mimeType: z.string(),
});

// The payload as the service sends it. The interface names the fields about the pull; the envelope and the name of the
// document list are beyond it, and may be absent.
export const documentsSyncedSchema = z.looseObject({
  event: z.literal("documents.synced"),
  id: z.string().optional(),
  version: z.string().optional(),
  occurredAt: occurredAtSchema.optional(),
  workspaceId: z.string().optional(),
  clientId: z.string().nullable().optional(),
  connectionId: z.string(),
  providerKey: z.string(),
  sourceExternalId: z.string().describe("Folder or project in the connected system."),
  documents: z.array(syncedDocumentSchema).default([]),
  duplicateCount: z
    .int()
    .nonnegative()
    .default(0)
    .describe("Files of the same pull that were already held and left out."),
});

export type SyncedDocument = z.infer<typeof syncedDocumentSchema>;
