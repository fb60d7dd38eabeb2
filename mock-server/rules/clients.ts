// Clients are not part of the interface. Any member whose key is `read_write` may change them.

import type {
  AddClientDocumentsInput,
  CreateClientInput,
  TriggerTaxPrepInput,
} from "../generated/resolvers.ts";
import type {
  ClientRecord,
  ConnectionRecord,
  DocumentRecord,
  UploadRecord,
  WorkspaceRecord,
} from "../state/records.ts";
import type { World } from "../world/world.ts";
import { type DocumentsPull, emitDocumentsSynced } from "./events.ts";
import { type Caller, requireWritingMember } from "./identity.ts";
import {
  checkListLength,
  checkSlice,
  clientsByExternalId,
  clientsOfWorkspace,
  documentsOfClient,
  findRecord,
  isBlank,
  newestFirst,
  type Slice,
} from "./records.ts";
import { badInput, conflict, found, notFound } from "./service-error.ts";
import { startTask } from "./tasks.ts";

/** With `uploadIds`, a `BINDER` task starts on those documents. */
export function createClient(
  world: World,
  caller: Caller,
  input: CreateClientInput,
): { client: ClientRecord; taskId: string | null } {
  const { workspace, user } = requireWritingMember(caller);
  for (const name of ["name", "externalId", "returnType"] as const) {
    if (isBlank(input[name])) throw badInput(`Client ${name} must not be empty`);
  }
  if (findClientByExternalId(world, workspace.id, input.externalId)) {
    throw conflict(`externalId "${input.externalId}" is already used in this workspace`);
  }
  const uploads = findUploads(world, workspace, input.uploadIds ?? []);
  const { name, externalId, returnType, taxYear } = input;
  const client = addClient(world, workspace.id, { name, externalId, returnType, taxYear });
  return { client, taskId: uploads.length > 0 ? startBinder(world, client, uploads, user.id) : null };
}

export function addClientDocuments(world: World, caller: Caller, input: AddClientDocumentsInput) {
  const { workspace, user } = requireWritingMember(caller);
  if (input.uploadIds.length === 0) throw badInput("At least one upload is required");
  const client = findClient(world, workspace, input.clientId);
  const uploads = findUploads(world, workspace, input.uploadIds);
  return { taskId: startBinder(world, client, uploads, user.id) };
}

export function triggerTaxPrep(world: World, caller: Caller, input: TriggerTaxPrepInput) {
  const { workspace, user } = requireWritingMember(caller);
  const client = findClient(world, workspace, input.clientId);
  if (input.returnType !== client.returnType) {
    throw badInput("returnType must equal the client's return type");
  }
  const task = startTask(world, {
    workspaceId: workspace.id,
    clientId: client.id,
    type: "TAX_PREP",
    triggeredByUserId: user.id,
  });
  return { taskId: task.id };
}

/** Default: an F1040 for last year. */
export type NewClient = Pick<ClientRecord, "name" | "externalId"> &
  Partial<Pick<ClientRecord, "returnType" | "taxYear">>;

/** Adds a client without checking the caller. */
export function addClient(world: World, workspaceId: string, input: NewClient): ClientRecord {
  const { name, externalId, returnType = "F1040", taxYear } = input;
  const client: ClientRecord = {
    id: world.newId("client"),
    workspaceId,
    name,
    externalId,
    returnType,
    taxYear: taxYear ?? new Date(world.clock.now()).getUTCFullYear() - 1,
    status: "active",
    createdAtMs: world.clock.now(),
  };
  world.state.clients.set(client.id, client);
  world.emit({ type: "client.created", clientId: client.id, workspaceId });
  return client;
}

export const findClientByExternalId = (
  world: World,
  workspaceId: string,
  externalId: string,
): ClientRecord | undefined => clientsByExternalId(world, `${workspaceId}/${externalId}`)[0];

/** Clients of a workspace, newest first. */
export function listClients(
  world: World,
  workspace: WorkspaceRecord,
  { offset, limit }: Slice,
): ClientRecord[] {
  checkSlice(world, { offset, limit });
  return newestFirst(clientsOfWorkspace(world, workspace.id), { offset, limit });
}

export function clientOrNull(
  world: World,
  workspace: WorkspaceRecord,
  clientId: string,
): ClientRecord | null {
  const client = world.state.clients.get(clientId);
  return client?.workspaceId === workspace.id ? client : null;
}

const findClient = (world: World, workspace: WorkspaceRecord, clientId: string): ClientRecord =>
  found(clientOrNull(world, workspace, clientId), "Client not found");

/** An upload that is named twice is one document. */
function findUploads(world: World, workspace: WorkspaceRecord, uploadIds: readonly string[]): UploadRecord[] {
  const ids = [...new Set(uploadIds)];
  checkListLength(world, "uploadIds", ids);
  return ids.map((id) => {
    const upload = world.state.uploads.get(id);
    if (upload?.workspaceId !== workspace.id) throw notFound(`Upload "${id}" not found`);
    if (upload.completedAtMs === null) throw conflict(`Upload "${id}" is not complete`);
    return upload;
  });
}

/** Starts a task on documents that are added by hand: no `documents.synced` follows (E5). */
function startBinder(
  world: World,
  { id: clientId, workspaceId }: ClientRecord,
  uploads: readonly UploadRecord[],
  triggeredByUserId: string,
): string {
  for (const { id: externalId, fileName, fileType: mimeType } of uploads) {
    const id = world.newId("document");
    const createdAtMs = world.clock.now();
    const held = { id, workspaceId, clientId, fileName, mimeType, externalId, createdAtMs };
    world.state.documents.set(id, { ...held, connectionId: null });
  }
  return startTask(world, { workspaceId, clientId, type: "BINDER", triggeredByUserId }).id;
}

// A client holds each document of a connected system once: one that the system offers again is not pulled, only
// counted.

export interface PulledDocument {
  readonly fileName: string;
  /** Default: by the file name. */
  readonly mimeType?: string | undefined;
  /** Its id in the connected system. Default: the file name. */
  readonly externalId?: string | undefined;
}

interface PullInput {
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

interface SyncDocumentsInput {
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

const mimeTypes: ReadonlyMap<string, string> = new Map([
  ["pdf", "application/pdf"],
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["csv", "text/csv"],
  ["txt", "text/plain"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
]);

/** Guessed from the file extension. */
export const guessMimeType = (fileName: string): string =>
  mimeTypes.get(fileName.split(".").at(-1)?.toLowerCase() ?? "") ?? "application/octet-stream";
