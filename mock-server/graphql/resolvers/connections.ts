import type { Resolvers } from "../../generated/resolvers.ts";
import { collectConnection, startConnection } from "../../rules/partner/connections.ts";
import { formatDate } from "./format-date.ts";

export const connectionResolvers: Resolvers = {
  Mutation: {
    startProviderConnection: (_parent, input, { world, caller }) => startConnection(world, caller, input),
    collectProviderConnection: (_parent, input, { world, caller }) => collectConnection(world, caller, input),
  },
  ProviderConnection: {
    // The next step to take: only a connection that still has to prove itself has one.
    action: ({ status }) => (status === "pending" ? "collect" : null),
    createdAt: ({ createdAtMs }) => formatDate(createdAtMs),
    updatedAt: ({ updatedAtMs }) => formatDate(updatedAtMs),
  },
};
