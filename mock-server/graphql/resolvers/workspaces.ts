import { addUsersToWorkspace, createWorkspace } from "../../firm/workspaces.ts";
import type { Resolvers } from "../../generated/resolvers.ts";

export const workspaceResolvers: Resolvers = {
  Mutation: {
    createWorkspace: (_parent, { input }, { world, caller }) => createWorkspace(world, caller, input),
    addUsersToTheWorkspace: (_parent, input, { world, caller }) => addUsersToWorkspace(world, caller, input),
  },
};
