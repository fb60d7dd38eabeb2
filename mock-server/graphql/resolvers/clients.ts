import type { Resolvers } from "../../generated/resolvers.ts";
import { listClientTasks } from "../../rules/tasks/task-queries.ts";
import {
  addClientDocuments,
  clientOrNull,
  createClient,
  listClients,
  triggerTaxPrep,
} from "../../rules/workspaces/clients.ts";
import { isoTime } from "../../time/iso-time.ts";

export const clientResolvers: Resolvers = {
  Mutation: {
    createClient: (_parent, { input }, { world, caller }) => createClient(world, caller, input),
    addClientDocuments: (_parent, { input }, { world, caller }) => addClientDocuments(world, caller, input),
    triggerTaxPrep: (_parent, { input }, { world, caller }) => triggerTaxPrep(world, caller, input),
  },
  Workspace: {
    clients: (workspace, args, { world }) => listClients(world, workspace, args),
    client: (workspace, { id }, { world }) => clientOrNull(world, workspace, id),
  },
  Client: {
    createdAt: ({ createdAtMs }) => isoTime(createdAtMs),
    tasks: (client, args, { world }) => listClientTasks(world, client, args),
  },
};
