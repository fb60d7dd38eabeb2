import type { Resolvers } from "../../generated/resolvers.ts";
import { addUsersToWorkspace, createWorkspace } from "../../rules/workspaces/workspaces.ts";

export const workspaceResolvers: Resolvers = {
  Mutation: {
    createWorkspace: (_parent, { input }, { world, caller }) => createWorkspace(world, caller, input),
    addUsersToTheWorkspace: (_parent, input, { world, caller }) => addUsersToWorkspace(world, caller, input),
  },
};
