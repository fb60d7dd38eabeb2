import { readFileSync } from "node:fs";
import { type ASTNode, type DirectiveNode, Kind, parse, print, visit } from "graphql";
import { expect, it } from "vitest";

// What the interface's tables show (§2, §4), written by hand: schema.graphql, from which service, SDK and `compare` are
// made, could otherwise change in all of them at once. Assumed are `me` on the gateway, and that no result of a
// partner's operation is null.
const shown = `
  schema { query: Query mutation: Mutation }
  scalar Date
  scalar JSON

  type Query {
    me: Me @router(names: [BASE, GATEWAY])
    webhookEventCatalog: [WebhookEventType!]! @public @router(names: [BASE])
  }
  type Mutation {
    exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: String!, expiresInSeconds: Int): AccessTokens
      @public @router(names: [BASE])
    createWebhookEndpoint(input: CreateWebhookEndpointInput!): WebhookEndpointSecret! @router(names: [BASE])
    updateWebhookEndpoint(input: UpdateWebhookEndpointInput!): WebhookEndpoint! @router(names: [BASE])
    deleteWebhookEndpoint(endpointId: ID!): Boolean! @router(names: [BASE])
    rotateWebhookEndpointSecret(input: RotateWebhookEndpointSecretInput!): WebhookEndpointSecret! @router(names: [BASE])
    createWorkspace(input: CreateWorkspaceInput!): Workspace! @router(names: [GATEWAY])
    collectProviderConnection(connectionId: ID!, inputs: JSON): ProviderConnection! @router(names: [GATEWAY])
    createConnectionJob(connectionId: ID!, jobName: String!): ConnectionJob! @router(names: [GATEWAY])
    createJobWorks(connectionJobId: ID!, inputs: [CreateJobWorksInput!]!): [JobWork!]! @router(names: [GATEWAY])
  }

  type AccessTokens { userToken: String! workspaceToken: String! }
  union Me = User | WorkspaceUser
  type WorkspaceUser { id: ID! role: WorkspaceRole! createdAt: Date! user: UserShortDetails! workspace: Workspace! }
  type UserShortDetails { id: ID! name: String! email: String! emailHash: String novuHash: String }
  enum WorkspaceRole { admin l1 l2 l3 }
  type Workspace {
    id: ID! name: String slug: String displayName: String status: String workspaceType: String
    webhookEndpoints(limit: Int = 20, iterator: String): WebhookEndpointPage! @router(names: [BASE])
  }

  type WebhookEndpoint {
    id: ID! url: String! description: String! enabled: Boolean! eventTypes: [String!]
    createdAt: Date! updatedAt: Date!
  }
  type WebhookEndpointPage { data: [WebhookEndpoint!]! done: Boolean! iterator: String }
  type WebhookEndpointSecret { endpoint: WebhookEndpoint! signingSecret: String! }
  input CreateWebhookEndpointInput { url: String! description: String eventTypes: [String!] }
  input UpdateWebhookEndpointInput {
    endpointId: ID! url: String description: String enabled: Boolean eventTypes: [String!]
  }
  input RotateWebhookEndpointSecretInput { endpointId: ID! gracePeriodSeconds: Int = 86400 }
  type WebhookEventType {
    name: String! description: String! version: String! status: String! taskTypes: [String!]! payloadSchema: JSON!
  }

  input CreateWorkspaceInput
  type ProviderConnection {
    id: ID! workspaceId: ID! providerKey: String! status: String! displayName: String settings: JSON updatedAt: Date!
  }
  type ConnectionJob {
    id: ID! connectionId: ID! workspaceId: ID! name: String! status: String! createdAt: Date! updatedAt: Date!
  }
  input CreateJobWorksInput
  type JobWork { id: ID! createdAt: Date! updatedAt: Date! workspaceId: ID! workId: ID! connectionJobId: ID! }
`;

const isMarked = (node: ASTNode) =>
  "directives" in node &&
  node.directives?.some((each: DirectiveNode) => each.name.value === "beyondInterface") === true;

/** Whether it defines the marks themselves. */
const definesMarks = (node: ASTNode) =>
  node.kind === Kind.DIRECTIVE_DEFINITION ||
  (node.kind === Kind.ENUM_TYPE_DEFINITION &&
    ["BeyondInterfaceSource", "RouterName"].includes(node.name.value));

it("K10 what is not marked as beyond the interface has the names, types and defaults of its tables", () => {
  const contract = parse(readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8"));
  const unmarked = visit(contract, {
    enter(node) {
      if (isMarked(node) || definesMarks(node)) return null;
      return "description" in node && node.description ? { ...node, description: undefined } : undefined;
    },
  });
  const words = (text: string) => text.trim().split(/\s+/);
  expect(words(print(unmarked))).toEqual(words(shown));
});
