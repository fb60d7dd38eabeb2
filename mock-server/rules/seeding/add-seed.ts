import type * as plan from "../../settings/seed-plan.ts";
import type { ClientRecord, ConnectionRecord, WorkspaceRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { findRecord } from "../find-record.ts";
import { createSeededKey } from "../identity/api-keys.ts";
import { addMember, addUser, membershipOf } from "../identity/members.ts";
import { addConnection } from "../partner/connections.ts";
import { addJob } from "../partner/jobs.ts";
import { addEndpoint, checkEndpoint, endpointsOf } from "../webhooks/endpoints.ts";
import { addClient, type NewClient } from "../workspaces/clients.ts";
import { addWorkspace, findUserByEmail, nameFromEmail } from "../workspaces/workspaces.ts";

export interface AddedSeed {
  readonly workspaceIds: readonly string[];
  /** The only copies (K8), in order of the members. */
  readonly apiKeys: readonly string[];
}

const exampleMember = { name: "Example Admin", email: "admin@example.com" };

/**
 * Adds the records, all or none. One whose name exists already is kept as it is; every member gets another key.
 * @throws ServiceError for an endpoint that the service would not accept
 */
export function addSeed(world: World, { workspaces }: plan.SeedPlan, partnerId: string | null): AddedSeed {
  for (const { endpoints = [] } of workspaces) {
    for (const endpoint of endpoints) checkEndpoint(world, endpoint);
  }
  const added = workspaces.map((seed) => addWorkspaceSeed(world, seed, partnerId));
  return { workspaceIds: added.map(({ id }) => id), apiKeys: added.flatMap(({ apiKeys }) => apiKeys) };
}

function addWorkspaceSeed(world: World, seed: plan.WorkspaceSeed, partnerId: string | null) {
  const { name: displayName, firmSize = null, clients = [], connections = [], endpoints = [] } = seed;
  const existing = findWorkspace(world, displayName);
  const { id } = existing ?? addWorkspace(world, { displayName, firmSize, partnerId });
  const members = seed.members ?? (existing ? [] : [exampleMember]);
  const apiKeys = members.map((member) => addMemberSeed(world, id, member));
  for (const client of clients) {
    if (!findClient(world, id, client.name)) addClient(world, id, newClient(client));
  }
  for (const connection of connections) addConnectionSeed(world, id, connection);
  for (const endpoint of endpoints) {
    if (!endpointsOf(world, id).some(({ url }) => url === endpoint.url)) addEndpoint(world, id, endpoint);
  }
  return { id, apiKeys };
}

const newClient = ({ name, externalId = name, returnType, taxYear }: plan.ClientSeed): NewClient => ({
  name,
  externalId,
  ...(returnType === undefined ? {} : { returnType }),
  ...(taxYear === undefined ? {} : { taxYear }),
});

/** @returns the member's new key */
function addMemberSeed(
  world: World,
  workspaceId: string,
  { email, name, role = "admin", access }: plan.MemberSeed,
): string {
  const address = email.toLowerCase();
  const user =
    findUserByEmail(world, address) ??
    addUser(world, { name: name ?? nameFromEmail(address), email: address });
  const ids = { userId: user.id, workspaceId };
  if (!membershipOf(world, ids)) addMember(world, { ...ids, role });
  return createSeededKey(world, { ...ids, access }).apiKey;
}

function addConnectionSeed(world: World, workspaceId: string, seed: plan.ConnectionSeed): void {
  const { name, providerKey = name, status = "active", settings = null, jobs = [] } = seed;
  const added = { workspaceId, providerKey, status, displayName: name, startInputs: null, settings };
  const connection = findConnection(world, workspaceId, name) ?? addConnection(world, added);
  for (const job of jobs) {
    if (!findJob(world, connection.id, job.name)) addJob(world, connection, job);
  }
}

export const findWorkspace = ({ state }: World, name: string): WorkspaceRecord | undefined =>
  findRecord(state.workspaces, ({ displayName }) => displayName === name);

export const findClient = ({ state }: World, workspaceId: string, name: string): ClientRecord | undefined =>
  findRecord(state.clients, (client) => client.workspaceId === workspaceId && client.name === name);

export const findConnection = (
  { state }: World,
  workspaceId: string,
  name: string,
): ConnectionRecord | undefined =>
  findRecord(state.connections, (each) => each.workspaceId === workspaceId && each.displayName === name);

export const findJob = ({ state }: World, connectionId: string, name: string) =>
  findRecord(state.jobs, (job) => job.connectionId === connectionId && job.name === name);
