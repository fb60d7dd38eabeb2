import { MockServerError } from "../errors.ts";
import type * as plan from "../settings/seed-plan.ts";
import type { ClientRecord, ConnectionRecord, WorkspaceRecord } from "../state/records.ts";
import type { World } from "../world/world.ts";
import type { SeedData } from "../world/world-holder.ts";
import { addClient, type NewClient } from "./clients.ts";
import { addEndpoint, checkEndpoint, endpointsOf } from "./endpoints.ts";
import {
  addMember,
  addUser,
  createPartnerKey,
  createSeededKey,
  findApiKey,
  membershipOf,
} from "./identity.ts";
import { addConnection, addJob } from "./partner.ts";
import { findRecord } from "./records.ts";
import { ServiceError } from "./service-error.ts";
import { addWorkspace, findUserByEmail, nameFromEmail } from "./workspaces.ts";

/**
 * Every new world has a partner, the workspaces of `settings.seedData`, which the partner created, and a key of
 * each member.
 */
export function seedWorld(world: World): SeedData {
  const partner = addUser(world, { name: "Example Partner", email: "partner@example.com" });
  const { partnerApiKey } = createPartnerKey(world, { partnerId: partner.id });
  const { workspaceIds, apiKeys } = seed(world, partner.id);
  return { workspaceId: workspaceIds[0] ?? "", apiKey: apiKeys[0] ?? "", partnerApiKey, apiKeys };
}

function seed(world: World, partnerId: string) {
  try {
    return addSeed(world, world.settings.seedData, partnerId);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new MockServerError("CONFIGURATION_INVALID", `settings.seedData: ${error.message}`, {
      cause: error,
    });
  }
}

interface AddedSeed {
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

const findWorkspace = ({ state }: World, name: string): WorkspaceRecord | undefined =>
  findRecord(state.workspaces, ({ displayName }) => displayName === name);

const findClient = ({ state }: World, workspaceId: string, name: string): ClientRecord | undefined =>
  findRecord(state.clients, (client) => client.workspaceId === workspaceId && client.name === name);

const findConnection = ({ state }: World, workspaceId: string, name: string): ConnectionRecord | undefined =>
  findRecord(state.connections, (each) => each.workspaceId === workspaceId && each.displayName === name);

const findJob = ({ state }: World, connectionId: string, name: string) =>
  findRecord(state.jobs, (job) => job.connectionId === connectionId && job.name === name);

/**
 * The ids of the records that the plan names, as they are now; one that no longer exists is left out.
 * @param apiKeys keys in plain text, to be shown with their members
 */
export function viewSeed(world: World, { workspaces }: plan.SeedPlan, apiKeys: readonly string[]) {
  const keys = apiKeys.flatMap((apiKey) => {
    const record = findApiKey(world, apiKey);
    return record ? [{ apiKey, record }] : [];
  });
  const views = workspaces.flatMap(({ name, members, clients = [], connections = [], endpoints = [] }) => {
    const workspace = findWorkspace(world, name);
    if (!workspace) return [];
    const { id } = workspace;
    const ownKeys = keys.filter(({ record }) => record.workspaceId === id);
    const emails =
      members?.map(({ email }) => email) ?? ownKeys.map(({ record }) => emailOf(world, record.userId));
    const view = {
      id,
      members: byName(emails, (email) => {
        const user = findUserByEmail(world, email.toLowerCase());
        const membership = user && membershipOf(world, { userId: user.id, workspaceId: id });
        const key = ownKeys.find(({ record }) => record.userId === user?.id);
        return membership
          ? { userId: membership.userId, membershipId: membership.id, apiKey: key?.apiKey ?? null }
          : undefined;
      }),
      clients: byName(names(clients), (client) => idOf(findClient(world, id, client))),
      connections: byName(names(connections), (connectionName) => {
        const connection = findConnection(world, id, connectionName);
        const { jobs = [] } = connections.find((each) => each.name === connectionName) ?? {};
        return (
          connection && {
            id: connection.id,
            jobs: byName(names(jobs), (job) => idOf(findJob(world, connection.id, job))),
          }
        );
      }),
      endpoints: byName(
        endpoints.map(({ url }) => url),
        (url) => {
          const endpoint = endpointsOf(world, id).find((each) => each.url === url);
          return endpoint && { id: endpoint.id, signingSecret: endpoint.secrets[0]?.secret ?? "" };
        },
      ),
    };
    return [[name, view] as const];
  });
  return { workspaces: Object.fromEntries(views) };
}

const names = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

const idOf = (record: { readonly id: string } | undefined) => record && { id: record.id };

const emailOf = (world: World, userId: string) => world.state.users.get(userId)?.email ?? "";

function byName<View>(
  keys: readonly string[],
  view: (name: string) => View | undefined,
): Readonly<Record<string, View>> {
  const entries = keys.map((name) => [name, view(name)] as const);
  return Object.fromEntries(entries.filter((entry): entry is [string, View] => entry[1] !== undefined));
}
