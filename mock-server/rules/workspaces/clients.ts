// Clients are not part of the interface. Any member whose key is `read_write` may change them.

import type {
  AddClientDocumentsInput,
  CreateClientInput,
  TriggerTaxPrepInput,
} from "../../generated/resolvers.ts";
import type { ClientRecord, UploadRecord, WorkspaceRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { isBlank } from "../blank.ts";
import { type Caller, requireWritingMember } from "../identity/caller.ts";
import { checkListLength, checkSlice, type Slice } from "../list-bounds.ts";
import { clientsByExternalId, clientsOfWorkspace, newestFirst } from "../record-groups.ts";
import { badInput, conflict, found, notFound } from "../service-error.ts";
import { startTask } from "../tasks/tasks.ts";

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
