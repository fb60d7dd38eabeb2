import type { Resolvers } from "../../generated/resolvers.ts";
import { exchangeApiKey, loginPartner } from "../../rules/identity/api-keys.ts";
import { requireToken } from "../../rules/identity/caller.ts";
import { accountWorkspaces, userOf, workspaceOf } from "../../rules/workspaces/workspaces.ts";
import { isoTime } from "../../time/iso-time.ts";

export const identityResolvers: Resolvers = {
  Query: {
    me(_parent, _args, { caller }) {
      const authenticated = requireToken(caller);
      return authenticated.kind === "member" ? authenticated.membership : authenticated.user;
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
    createdAt: ({ createdAtMs }) => isoTime(createdAtMs),
  },
  WorkspaceUser: {
    createdAt: ({ createdAtMs }) => isoTime(createdAtMs),
    user: (membership, _args, { world }) => userOf(world, membership),
    workspace: (membership, _args, { world }) => workspaceOf(world, membership),
  },
  UserShortDetails: {
    // For integrations of the vendor that the mock does not have.
    emailHash: () => null,
    novuHash: () => null,
  },
};
