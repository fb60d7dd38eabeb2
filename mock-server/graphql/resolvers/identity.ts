import type { Resolvers } from "../../generated/resolvers.ts";
import { exchangeApiKey, loginPartner } from "../../rules/identity/api-keys.ts";
import { requireToken } from "../../rules/identity/caller.ts";
import { accountWorkspaces, userOf, workspaceOf } from "../../rules/workspaces/workspaces.ts";
import { formatDate } from "./format-date.ts";

export const identityResolvers: Resolvers = {
  Query: {
    me(_parent, _args, { caller }) {
      const known = requireToken(caller);
      return known.kind === "member" ? known.membership : known.user;
    },
  },
  Mutation: {
    exchangeSurfaceRefreshTokenForAccessTokens: (_parent, input, { world }) => exchangeApiKey(world, input),
    loginViaPersonalApiToken: (_parent, { token }, { world }) => loginPartner(world, token),
  },
  Me: {
    __resolveType: (record) => ("workspaceId" in record ? "WorkspaceUser" : "User"),
  },
  User: {
    workspaces: (user, _args, { world }) => accountWorkspaces(world, user),
  },
  WorkspaceShortDetails: {
    createdAt: ({ createdAtMs }) => formatDate(createdAtMs),
  },
  WorkspaceUser: {
    createdAt: ({ createdAtMs }) => formatDate(createdAtMs),
    user: (membership, _args, { world }) => userOf(world, membership),
    workspace: (membership, _args, { world }) => workspaceOf(world, membership),
  },
  UserShortDetails: {
    // They serve the vendor's own integrations, which the mock has none of.
    emailHash: () => null,
    novuHash: () => null,
  },
};
