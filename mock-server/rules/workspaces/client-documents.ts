// A client holds each document of a connected system once: one that the system offers again is not pulled, only
// counted.

import type { ClientRecord, ConnectionRecord, DocumentRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { findRecord } from "../find-record.ts";
import { documentsOfClient } from "../record-groups.ts";
import { found, notFound } from "../service-error.ts";
import { type DocumentsPull, emitDocumentsSynced } from "../webhooks/events.ts";
import { addClient } from "./clients.ts";
import { guessMimeType } from "./mime-type.ts";

export interface PulledDocument {
  readonly fileName: string;
  /** Default: by the file name. */
  readonly mimeType?: string | undefined;
  /** Its id in the connected system. Default: the file name. */
  readonly externalId?: string | undefined;
}

export interface PullInput {
  readonly connection: ConnectionRecord;
  readonly clientId: string;
  /** Folder or project in the connected system. */
  readonly sourceExternalId: string;
  readonly documents: readonly PulledDocument[];
  /** Duplicates besides those that the client is found to hold. Default: 0. */
  readonly duplicateCount?: number | undefined;
}

/** Adds documents of a connected system to a client and emits `documents.synced`. @see interface §6 */
export function pullDocuments(world: World, input: PullInput): DocumentsPull {
  const { connection, clientId, sourceExternalId } = input;
  const held = heldExternalIds(world, connection.id, clientId);
  const fresh: DocumentRecord[] = [];
  for (const { fileName, mimeType = guessMimeType(fileName), externalId = fileName } of input.documents) {
    if (held.has(externalId)) continue;
    held.add(externalId);
    fresh.push({
      id: world.newId("document"),
      workspaceId: connection.workspaceId,
      clientId,
      fileName,
      mimeType,
      connectionId: connection.id,
      externalId,
      createdAtMs: world.clock.now(),
    });
  }
  const duplicateCount = (input.duplicateCount ?? 0) + input.documents.length - fresh.length;
  for (const document of fresh) world.state.documents.set(document.id, document);
  const pull: DocumentsPull = {
    pullId: world.newId("pull"),
    workspaceId: connection.workspaceId,
    clientId,
    connectionId: connection.id,
    providerKey: connection.providerKey,
    sourceExternalId,
    documents: fresh.map(({ id, fileName, mimeType }) => ({ inputDocumentId: id, fileName, mimeType })),
    duplicateCount,
  };
  emitDocumentsSynced(world, pull);
  return pull;
}

export interface SyncDocumentsInput {
  readonly connectionId: string;
  /** Default: the first client of the connection's workspace; one is generated without any. */
  readonly clientId?: string | undefined;
  /** Default: the client's `externalId`. */
  readonly sourceExternalId?: string | undefined;
  readonly documents: readonly PulledDocument[];
  readonly duplicateCount?: number | undefined;
}

/**
 * Pulls documents as if the connected system had offered them.
 * @throws ServiceError `NOT_FOUND` for an unknown connection or client
 */
export function syncDocuments(world: World, input: SyncDocumentsInput): DocumentsPull {
  const connection = found(world.state.connections.get(input.connectionId), "Provider connection not found");
  const client = clientOf(world, connection.workspaceId, input.clientId);
  return pullDocuments(world, {
    connection,
    clientId: client.id,
    sourceExternalId: input.sourceExternalId ?? client.externalId,
    documents: input.documents,
    duplicateCount: input.duplicateCount,
  });
}

function clientOf(world: World, workspaceId: string, clientId: string | undefined): ClientRecord {
  const isMeant = (client: ClientRecord) =>
    client.workspaceId === workspaceId && client.id === (clientId ?? client.id);
  const client = findRecord(world.state.clients, isMeant);
  if (client) return client;
  if (clientId !== undefined) throw notFound("Client not found");
  return addClient(world, workspaceId, { name: "Client 1", externalId: "generated-1" });
}

function heldExternalIds(world: World, connectionId: string, clientId: string): Set<string> {
  const held = documentsOfClient(world, clientId).filter((each) => each.connectionId === connectionId);
  return new Set(held.map(({ externalId }) => externalId));
}
