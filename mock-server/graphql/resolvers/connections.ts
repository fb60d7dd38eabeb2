import type { Resolvers } from "../../generated/resolvers.ts";
import { collectConnection, startConnection } from "../../rules/partner/connections.ts";
import { isoTime } from "../../time/iso-time.ts";

export const connectionResolvers: Resolvers = {
  Mutation: {
    startProviderConnection: (_parent, input, { world, caller }) => startConnection(world, caller, input),
    collectProviderConnection: (_parent, input, { world, caller }) => collectConnection(world, caller, input),
  },
  ProviderConnection: {
    // The next step: only a connection whose credentials have not been checked has one.
    action: ({ status }) => (status === "pending" ? "collect" : null),
    createdAt: ({ createdAtMs }) => isoTime(createdAtMs),
    updatedAt: ({ updatedAtMs }) => isoTime(updatedAtMs),
  },
};
