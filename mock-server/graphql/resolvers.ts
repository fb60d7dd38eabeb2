import type { Resolvers } from "../generated/resolvers.ts";
import { clientResolvers } from "./resolvers/clients.ts";
import { connectionResolvers } from "./resolvers/connections.ts";
import { endpointResolvers } from "./resolvers/endpoints.ts";
import { identityResolvers } from "./resolvers/identity.ts";
import { jobResolvers } from "./resolvers/jobs.ts";
import { taskResolvers } from "./resolvers/tasks.ts";
import { workspaceResolvers } from "./resolvers/workspaces.ts";

/** Resolvers by type; each calls one rule. A field without one is a property of its record. */
export const resolvers: Resolvers = mergeResolvers([
  identityResolvers,
  workspaceResolvers,
  endpointResolvers,
  clientResolvers,
  taskResolvers,
  connectionResolvers,
  jobResolvers,
]);

function mergeResolvers(parts: readonly Resolvers[]): Resolvers {
  const merged: Record<string, object> = {};
  for (const part of parts) {
    for (const [typeName, fields] of Object.entries(part)) {
      merged[typeName] = { ...merged[typeName], ...fields };
    }
  }
  return merged;
}
