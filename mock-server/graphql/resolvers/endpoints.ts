import type { Resolvers } from "../../generated/resolvers.ts";
import { listCatalog, payloadSchemaOf } from "../../rules/webhooks/catalog.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  type RotateSecretInput,
  rotateSecret,
  updateEndpoint,
} from "../../rules/webhooks/endpoints.ts";
import { isoTime } from "../../time/iso-time.ts";

export const endpointResolvers: Resolvers = {
  Query: {
    webhookEventCatalog: (_parent, _args, { world }) =>
      listCatalog(world).map(({ taskTypes, ...entry }) => ({
        ...entry,
        taskTypes: [...taskTypes],
        payloadSchema: () => payloadSchemaOf(world, entry.name),
      })),
  },
  Mutation: {
    createWebhookEndpoint: (_parent, { input }, { world, caller }) => createEndpoint(world, caller, input),
    updateWebhookEndpoint: (_parent, { input }, { world, caller }) => updateEndpoint(world, caller, input),
    deleteWebhookEndpoint: (_parent, { endpointId }, { world, caller }) =>
      deleteEndpoint(world, caller, endpointId),
    rotateWebhookEndpointSecret: (_parent, { input }, { world, caller }) =>
      rotateSecret(world, caller, input as RotateSecretInput),
  },
  Workspace: {
    webhookEndpoints: (_workspace, args, { world, caller }) => listEndpoints(world, caller, args),
  },
  WebhookEndpoint: {
    createdAt: ({ createdAtMs }) => isoTime(createdAtMs),
    updatedAt: ({ updatedAtMs }) => isoTime(updatedAtMs),
  },
};
