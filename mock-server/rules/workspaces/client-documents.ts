import type { ClientRecord, ConnectionRecord, DocumentRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { ServiceError } from "../service-error.ts";
import { type DocumentsPull, emitDocumentsSynced } from "../webhooks/events.ts";
import { addClient } from "./clients.ts";
import { guessMimeType } from "./mime-type.ts";

// A document of a connected system is held once per client: what the system offers again is left out of
// the pull and only counted.

export type PulledDocument = {
  readonly fileName: string;
  /** Default: by the file name. */
  readonly mimeType?: string | undefined;
  /** Its id in the connected system. Default: the file name. */
  readonly externalId?: string | undefined;
};

export type PullInput = {
  readonly connection: ConnectionRecord;
  readonly clientId: string;
  /** Folder or project in the connected system. */
  readonly sourceExternalId: string;
  readonly documents: readonly PulledDocument[];
  /** Files left out beside those found to be held already. Default: 0. */
  readonly duplicateCount?: number | undefined;
};

/**
 * Takes documents from a connected system into a client and says so with `documents.synced`, before
 * anything is done with them. @see interface §6
 */
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

export type SyncDocumentsInput = {
  readonly connectionId: string;
  /** Default: the first client of the connection's workspace; one is made up where there is none. */
  readonly clientId?: string | undefined;
  /** Default: the client's `externalId`. */
  readonly sourceExternalId?: string | undefined;
  readonly documents: readonly PulledDocument[];
  readonly duplicateCount?: number | undefined;
};

/**
 * A pull on command, as if the connected system had new documents.
 * @throws ServiceError `NOT_FOUND` for an unknown connection or client
 */
export function syncDocuments(world: World, input: SyncDocumentsInput): DocumentsPull {
  const connection = world.state.connections.get(input.connectionId);
  if (!connection) throw new ServiceError("NOT_FOUND", "Provider connection not found");
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
  for (const client of world.state.clients.values()) {
    if (client.workspaceId === workspaceId && client.id === (clientId ?? client.id)) return client;
  }
  if (clientId !== undefined) throw new ServiceError("NOT_FOUND", "Client not found");
  const taxYear = new Date(world.clock.now()).getUTCFullYear() - 1;
  return addClient(world, workspaceId, {
    name: "Client 1",
    externalId: "made-up-1",
    returnType: "F1040",
    taxYear,
  });
}

function heldExternalIds(world: World, connectionId: string, clientId: string): Set<string> {
  const held = new Set<string>();
  for (const document of world.state.documents.values()) {
    if (document.clientId === clientId && document.connectionId === connectionId)
      held.add(document.externalId);
  }
  return held;
}
