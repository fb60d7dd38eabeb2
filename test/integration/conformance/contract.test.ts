import { plainSchema } from "@workspace-tasks/mock-server/parts";
import {
  type ConstDirectiveNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
  isUnionType,
} from "graphql";
import { expect, it } from "vitest";

// What the interface's tables show (§2, §4), written by hand: schema.graphql, from which service, SDK and `compare` are
// made, could otherwise change in all of them at once. Assumed are `me` on the gateway (A-21), and that no result of a
// partner's operation is null (A-34).
const shown = `
  AccessTokens.userToken: String!
  AccessTokens.workspaceToken: String!

  Me = User | WorkspaceUser
  WorkspaceUser.id: ID!
  WorkspaceUser.role: WorkspaceRole!
  WorkspaceUser.createdAt: Date!
  WorkspaceUser.user: UserShortDetails!
  WorkspaceUser.workspace: Workspace!
  UserShortDetails.id: ID!
  UserShortDetails.name: String!
  UserShortDetails.email: String!
  UserShortDetails.emailHash: String
  UserShortDetails.novuHash: String
  WorkspaceRole = admin | l1 | l2 | l3

  Workspace.id: ID!
  Workspace.name: String
  Workspace.slug: String
  Workspace.displayName: String
  Workspace.status: String
  Workspace.workspaceType: String
  Workspace.webhookEndpoints(limit: Int = 20, iterator: String): WebhookEndpointPage!

  WebhookEndpoint.id: ID!
  WebhookEndpoint.url: String!
  WebhookEndpoint.description: String!
  WebhookEndpoint.enabled: Boolean!
  WebhookEndpoint.eventTypes: [String!]
  WebhookEndpoint.createdAt: Date!
  WebhookEndpoint.updatedAt: Date!
  WebhookEndpointPage.data: [WebhookEndpoint!]!
  WebhookEndpointPage.done: Boolean!
  WebhookEndpointPage.iterator: String
  WebhookEndpointSecret.endpoint: WebhookEndpoint!
  WebhookEndpointSecret.signingSecret: String!

  WebhookEventType.name: String!
  WebhookEventType.description: String!
  WebhookEventType.version: String!
  WebhookEventType.status: String!
  WebhookEventType.taskTypes: [String!]!
  WebhookEventType.payloadSchema: JSON!

  ProviderConnection.id: ID!
  ProviderConnection.workspaceId: ID!
  ProviderConnection.providerKey: String!
  ProviderConnection.status: String!
  ProviderConnection.displayName: String
  ProviderConnection.settings: JSON
  ProviderConnection.updatedAt: Date!

  ConnectionJob.id: ID!
  ConnectionJob.connectionId: ID!
  ConnectionJob.workspaceId: ID!
  ConnectionJob.name: String!
  ConnectionJob.status: String!
  ConnectionJob.createdAt: Date!
  ConnectionJob.updatedAt: Date!

  JobWork.id: ID!
  JobWork.createdAt: Date!
  JobWork.updatedAt: Date!
  JobWork.workspaceId: ID!
  JobWork.workId: ID!
  JobWork.connectionJobId: ID!

  CreateWebhookEndpointInput.url: String!
  CreateWebhookEndpointInput.description: String
  CreateWebhookEndpointInput.eventTypes: [String!]
  UpdateWebhookEndpointInput.endpointId: ID!
  UpdateWebhookEndpointInput.url: String
  UpdateWebhookEndpointInput.description: String
  UpdateWebhookEndpointInput.enabled: Boolean
  UpdateWebhookEndpointInput.eventTypes: [String!]
  RotateWebhookEndpointSecretInput.endpointId: ID!
  RotateWebhookEndpointSecretInput.gracePeriodSeconds: Int = 86400

  base Query.me: Me
  base Query.webhookEventCatalog: [WebhookEventType!]!
  base Mutation.exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: String!, expiresInSeconds: Int): AccessTokens
  base Mutation.createWebhookEndpoint(input: CreateWebhookEndpointInput!): WebhookEndpointSecret!
  base Mutation.updateWebhookEndpoint(input: UpdateWebhookEndpointInput!): WebhookEndpoint!
  base Mutation.deleteWebhookEndpoint(endpointId: ID!): Boolean!
  base Mutation.rotateWebhookEndpointSecret(input: RotateWebhookEndpointSecretInput!): WebhookEndpointSecret!
  gateway Query.me: Me
  gateway Mutation.createWorkspace(input: CreateWorkspaceInput!): Workspace!
  gateway Mutation.collectProviderConnection(connectionId: ID!, inputs: JSON): ProviderConnection!
  gateway Mutation.createConnectionJob(connectionId: ID!, jobName: String!): ConnectionJob!
  gateway Mutation.createJobWorks(connectionJobId: ID!, inputs: [CreateJobWorksInput!]!): [JobWork!]!
`;

/** Types of the marks themselves. */
const ofMarks = new Set(["BeyondInterfaceSource", "RouterName"]);

interface Marked {
  readonly astNode?: { readonly directives?: readonly ConstDirectiveNode[] | undefined } | null | undefined;
}

/** Whether `schema.graphql` marks it as not shown by the interface. */
const isShown = ({ astNode }: Marked) =>
  !astNode?.directives?.some(({ name }) => name.value === "beyondInterface");

function argument({ name, type, defaultValue }: GraphQLArgument): string {
  return `${name}: ${type}${defaultValue === undefined ? "" : ` = ${defaultValue}`}`;
}

function field({ name, args, type }: GraphQLField<unknown, unknown>): string {
  const list = args.filter(isShown).map(argument).join(", ");
  return `${name}${list && `(${list})`}: ${type}`;
}

function linesOf(type: GraphQLNamedType): readonly string[] {
  if (isUnionType(type)) return [`${type.name} = ${type.getTypes().map(String).toSorted().join(" | ")}`];
  if (isEnumType(type))
    return [
      `${type.name} = ${type
        .getValues()
        .map(({ name }) => name)
        .join(" | ")}`,
    ];
  const members = isObjectType(type)
    ? Object.values(type.getFields()).filter(isShown).map(field)
    : isInputObjectType(type)
      ? Object.values(type.getFields()).filter(isShown).map(argument)
      : [];
  return members.map((member) => `${type.name}.${member}`);
}

it("K10 what is not marked as beyond the interface has the names, types and defaults of its tables", () => {
  const lines = (["base", "gateway"] as const).flatMap((router) =>
    Object.values(plainSchema(router).getTypeMap())
      .filter((type) => !isIntrospectionType(type) && !ofMarks.has(type.name) && isShown(type))
      .flatMap(linesOf)
      .map((line) => (/^(Query|Mutation)\./.test(line) ? `${router} ${line}` : line)),
  );
  expect([...new Set(lines)].toSorted()).toEqual(shown.trim().split(/\n\s*/).toSorted());
});
