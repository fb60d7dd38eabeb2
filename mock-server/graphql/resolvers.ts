import type { Resolvers } from "../generated/resolvers.ts";
import { exchangeApiKey, loginPartner } from "../rules/identity/api-keys.ts";
import { type Caller, requireToken } from "../rules/identity/caller.ts";
import { createArtifacts } from "../rules/partner/artifacts.ts";
import { collectConnection, startConnection } from "../rules/partner/connections.ts";
import { createJob, initiateImport } from "../rules/partner/jobs.ts";
import { createJobWorks } from "../rules/partner/works.ts";
import { listClientTasks, listWorkspaceTasks } from "../rules/tasks/task-queries.ts";
import { listCatalog, payloadSchemaOf } from "../rules/webhooks/catalog.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  type RotateSecretInput,
  rotateSecret,
  updateEndpoint,
} from "../rules/webhooks/endpoints.ts";
import {
  addClientDocuments,
  clientOrNull,
  createClient,
  listClients,
  triggerTaxPrep,
} from "../rules/workspaces/clients.ts";
import {
  accountWorkspaces,
  addUsersToWorkspace,
  createWorkspace,
  userOf,
  workspaceOf,
} from "../rules/workspaces/workspaces.ts";
import type { World } from "../world/world.ts";

/** Argument of every resolver of one request. */
export interface ResolverContext {
  readonly world: World;
  readonly caller: Caller;
}

type Rule<Input, Result> = (world: World, caller: Caller, input: Input) => Result;

/** Calls a rule with the arguments of the field. */
const call =
  <Args, Result>(rule: Rule<Args, Result>) =>
  (_parent: unknown, args: Args, { world, caller }: ResolverContext) =>
    rule(world, caller, args);

/** Calls a rule with the field's only argument, `input`. */
const callWithInput =
  <Input, Result>(rule: Rule<Input, Result>) =>
  (_parent: unknown, { input }: { readonly input: Input }, { world, caller }: ResolverContext) =>
    rule(world, caller, input);

/** A field without a resolver is a property of its record; a time such as `createdAt` is its `createdAtMs`. */
export const resolvers: Resolvers<ResolverContext> = {
  Query: {
    me(_parent, _args, { caller }) {
      const authenticated = requireToken(caller);
      return authenticated.kind === "member" ? authenticated.membership : authenticated.user;
    },
    webhookEventCatalog: (_parent, _args, { world }) =>
      listCatalog(world).map((entry) => ({
        ...entry,
        payloadSchema: () => payloadSchemaOf(world, entry.name),
      })),
  },
  Mutation: {
    exchangeSurfaceRefreshTokenForAccessTokens: (_parent, input, { world }) => exchangeApiKey(world, input),
    loginViaPersonalApiToken: (_parent, { token }, { world }) => loginPartner(world, token),
    createWorkspace: callWithInput(createWorkspace),
    addUsersToTheWorkspace: call(addUsersToWorkspace),
    createWebhookEndpoint: callWithInput(createEndpoint),
    updateWebhookEndpoint: callWithInput(updateEndpoint),
    deleteWebhookEndpoint: (_parent, { endpointId }, { world, caller }) =>
      deleteEndpoint(world, caller, endpointId),
    rotateWebhookEndpointSecret: (_parent, { input }, { world, caller }) =>
      rotateSecret(world, caller, input as RotateSecretInput),
    createClient: callWithInput(createClient),
    addClientDocuments: callWithInput(addClientDocuments),
    triggerTaxPrep: callWithInput(triggerTaxPrep),
    startProviderConnection: call(startConnection),
    collectProviderConnection: call(collectConnection),
    createConnectionJob: call(createJob),
    createJobWorks: call(createJobWorks),
    createJobWorkArtifacts: call(createArtifacts),
    initiateTaxPrepsImport: (_parent, { connectionJobId }, { world, caller }) =>
      initiateImport(world, caller, connectionJobId),
  },
  Me: {
    __resolveType: (record) => ("workspaceId" in record ? "WorkspaceUser" : "User"),
  },
  User: {
    workspaces: (user, _args, { world }) => accountWorkspaces(world, user),
  },
  WorkspaceUser: {
    user: (membership, _args, { world }) => userOf(world, membership),
    workspace: (membership, _args, { world }) => workspaceOf(world, membership),
  },
  Workspace: {
    clients: (workspace, args, { world }) => listClients(world, workspace, args),
    client: (workspace, { id }, { world }) => clientOrNull(world, workspace, id),
    tasks: (workspace, args, { world }) => listWorkspaceTasks(world, workspace, args),
    webhookEndpoints: (_workspace, args, { world, caller }) => listEndpoints(world, caller, args),
  },
  Client: {
    tasks: (client, args, { world }) => listClientTasks(world, client, args),
  },
  Task: {
    subTasks: ({ stages }) => stages,
    result: ({ result, type }) => result ?? { taskType: type },
    client: ({ clientId }, _args, { world }) => world.state.clients.get(clientId) ?? null,
    triggeredBy: ({ triggeredByUserId }, _args, { world }) =>
      (triggeredByUserId && world.state.users.get(triggeredByUserId)) || null,
  },
  TaskResult: {
    __resolveType: (result) => ("taskType" in result ? "TaskUnknownResult" : "TaskTaxPrepResult"),
  },
  ProviderConnection: {
    // The next step: only a connection whose credentials have not been checked has one.
    action: ({ status }) => (status === "pending" ? "collect" : null),
  },
  JobWork: { connectionJobId: ({ jobId }) => jobId },
  JobArtifact: {
    connectionJobId: ({ jobId }) => jobId,
    workArtifact: (artifact) => artifact,
  },
  WorkArtifact: {
    id: ({ artifactId }) => artifactId,
    uploadedUrl: ({ url }) => url,
  },
};
