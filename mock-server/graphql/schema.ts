// Two schemas over one store: `@router` in `schema.graphql` says which router has a field; the other one does
// not. Each schema is built once per process, for all mocks.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import * as graphql from "graphql";
import type { Resolvers, ResolversParentTypes } from "../generated/resolvers.ts";
import { schemaText } from "../generated/schema-text.ts";
import * as clients from "../rules/clients.ts";
import * as endpoints from "../rules/endpoints.ts";
import { listCatalog, payloadSchemaOf } from "../rules/events.ts";
import { type Caller, exchangeApiKey, loginPartner, requireToken } from "../rules/identity.ts";
import {
  collectConnection,
  createArtifacts,
  createJob,
  createJobWorks,
  initiateImport,
  startConnection,
} from "../rules/partner.ts";
import { listClientTasks, listWorkspaceTasks } from "../rules/tasks.ts";
import * as workspaces from "../rules/workspaces.ts";
import type { Router } from "../state/fault.ts";
import { isoTime, isoTimeOrNull } from "../time/duration.ts";
import type { World } from "../world/world.ts";

const schemas = new Map<Router, graphql.GraphQLSchema>();
const plainSchemas = new Map<Router, graphql.GraphQLSchema>();

export const routerSchema = (router: Router): graphql.GraphQLSchema =>
  getOrCreate(schemas, router, () => {
    const schema = buildSchema(router);
    attachResolvers(schema);
    return schema;
  });

/** Returns the schema without resolvers: its fields are those of the data that it is given. */
export const plainSchema = (router: Router): graphql.GraphQLSchema =>
  getOrCreate(plainSchemas, router, buildSchema);

const buildSchema = (router: Router) =>
  graphql.buildASTSchema(fieldsServedBy(router, contract()), { assumeValid: true });

let parsed: graphql.DocumentNode | undefined;

function contract(): graphql.DocumentNode {
  parsed ??= graphql.parse(schemaText, { noLocation: true });
  return parsed;
}

function fieldsServedBy(router: Router, document: graphql.DocumentNode): graphql.DocumentNode {
  const definitions = document.definitions.map((definition) =>
    definition.kind === graphql.Kind.OBJECT_TYPE_DEFINITION && definition.fields
      ? { ...definition, fields: definition.fields.filter((field) => isServedBy(router, field)) }
      : definition,
  );
  return { ...document, definitions };
}

function isServedBy(router: Router, field: graphql.FieldDefinitionNode): boolean {
  const directive = field.directives?.find(({ name }) => name.value === "router");
  const names = directive?.arguments?.find(({ name }) => name.value === "names")?.value;
  if (names?.kind !== graphql.Kind.LIST) return true;
  return names.values.some(
    (value) => value.kind === graphql.Kind.ENUM && value.value === router.toUpperCase(),
  );
}

function attachResolvers(schema: graphql.GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    const typeResolvers = resolvers[type.name as keyof Resolvers] ?? {};
    if (type instanceof graphql.GraphQLUnionType && "__resolveType" in typeResolvers) {
      type.resolveType = typeResolvers.__resolveType as (value: unknown) => string;
    } else if (graphql.isObjectType(type)) {
      for (const field of Object.values(type.getFields())) {
        const resolve = resolverOf(field, typeResolvers as TypeResolvers);
        if (resolve) field.resolve = resolve;
      }
    }
  }
}

type Resolver = graphql.GraphQLFieldResolver<unknown, ResolverContext>;
type TypeResolvers = Readonly<Record<string, Resolver>>;

function resolverOf(field: graphql.GraphQLField<unknown, ResolverContext>, typeResolvers: TypeResolvers) {
  const resolve = typeResolvers[field.name];
  if (!resolve || field.args.length === 0) return resolve;
  const withDefaults: Resolver = (source, args, context, info) => {
    applyDefaults(field.args, args);
    return resolve(source, args, context, info);
  };
  return withDefaults;
}

type Input = graphql.GraphQLArgument | graphql.GraphQLInputField;

/** Replaces each explicit `null` by the schema's default: graphql-js applies it to omitted values only. */
function applyDefaults(inputs: readonly Input[], values: Record<string, unknown>): void {
  for (const { name, type, defaultValue } of inputs) {
    const value = values[name];
    if (value === null && defaultValue !== undefined) values[name] = defaultValue;
    const inputType = graphql.getNullableType(type);
    if (graphql.isInputObjectType(inputType) && isPlainObject(value)) {
      applyDefaults(Object.values(inputType.getFields()), value);
    }
  }
}

/** Argument of every resolver of one request. */
interface ResolverContext {
  readonly world: World;
  readonly caller: Caller;
}

type Rule<Input, Result> = (world: World, caller: Caller, input: Input) => Result;

/** Calls a rule with the arguments of the field. */
const call =
  <Args, Result>(rule: Rule<Args, Result>) =>
  (_parent: unknown, args: Args, { world, caller }: ResolverContext) =>
    rule(world, caller, args);

/** Calls a rule with the field's only argument, `input`. */
const callWithInput =
  <Input, Result>(rule: Rule<Input, Result>) =>
  (_parent: unknown, { input }: { readonly input: Input }, { world, caller }: ResolverContext) =>
    rule(world, caller, input);

// Records have times in milliseconds.
const createdAt = (record: { readonly createdAtMs: number }) => isoTime(record.createdAtMs);
const updatedAt = (record: { readonly updatedAtMs: number }) => isoTime(record.updatedAtMs);
const startedAt = (record: { readonly startedAtMs: number }) => isoTime(record.startedAtMs);
const completedAt = (record: { readonly completedAtMs: number | null }) =>
  isoTimeOrNull(record.completedAtMs);

const served = {
  Query: {
    me(_parent, _args, { caller }) {
      const authenticated = requireToken(caller);
      return authenticated.kind === "member" ? authenticated.membership : authenticated.user;
    },
    webhookEventCatalog: (_parent, _args, { world }) =>
      listCatalog(world).map((entry) => ({
        ...entry,
        payloadSchema: () => payloadSchemaOf(world, entry.name),
      })),
  },
  Mutation: {
    exchangeSurfaceRefreshTokenForAccessTokens: (_parent, input, { world }) => exchangeApiKey(world, input),
    loginViaPersonalApiToken: (_parent, { token }, { world }) => loginPartner(world, token),
    createWorkspace: callWithInput(workspaces.createWorkspace),
    addUsersToTheWorkspace: call(workspaces.addUsersToWorkspace),
    createWebhookEndpoint: callWithInput(endpoints.createEndpoint),
    updateWebhookEndpoint: callWithInput(endpoints.updateEndpoint),
    deleteWebhookEndpoint: (_parent, { endpointId }, { world, caller }) =>
      endpoints.deleteEndpoint(world, caller, endpointId),
    rotateWebhookEndpointSecret: (_parent, { input }, { world, caller }) =>
      endpoints.rotateSecret(world, caller, input as endpoints.RotateSecretInput),
    createClient: callWithInput(clients.createClient),
    addClientDocuments: callWithInput(clients.addClientDocuments),
    triggerTaxPrep: callWithInput(clients.triggerTaxPrep),
    startProviderConnection: call(startConnection),
    collectProviderConnection: call(collectConnection),
    createConnectionJob: call(createJob),
    createJobWorks: call(createJobWorks),
    createJobWorkArtifacts: call(createArtifacts),
    initiateTaxPrepsImport: (_parent, { connectionJobId }, { world, caller }) =>
      initiateImport(world, caller, connectionJobId),
  },
  Me: {
    __resolveType: (record) => ("workspaceId" in record ? "WorkspaceUser" : "User"),
  },
  User: {
    workspaces: (user, _args, { world }) => workspaces.accountWorkspaces(world, user),
  },
  // They belong to integrations of the vendor, which the mock does not have.
  UserShortDetails: { emailHash: () => null, novuHash: () => null },
  WorkspaceShortDetails: { createdAt },
  WorkspaceUser: {
    createdAt,
    user: (membership, _args, { world }) => workspaces.userOf(world, membership),
    workspace: (membership, _args, { world }) => workspaces.workspaceOf(world, membership),
  },
  Workspace: {
    clients: (workspace, args, { world }) => clients.listClients(world, workspace, args),
    client: (workspace, { id }, { world }) => clients.clientOrNull(world, workspace, id),
    tasks: (workspace, args, { world }) => listWorkspaceTasks(world, workspace, args),
    webhookEndpoints: (_workspace, args, { world, caller }) => endpoints.listEndpoints(world, caller, args),
  },
  WebhookEndpoint: { createdAt, updatedAt },
  Client: {
    createdAt,
    tasks: (client, args, { world }) => listClientTasks(world, client, args),
  },
  Task: {
    startedAt,
    completedAt,
    subTasks: ({ stages }) => stages,
    result: ({ result, type }) => result ?? { taskType: type },
    client: ({ clientId }, _args, { world }) => world.state.clients.get(clientId) ?? null,
    triggeredBy: ({ triggeredByUserId }, _args, { world }) =>
      (triggeredByUserId && world.state.users.get(triggeredByUserId)) || null,
  },
  SubTask: { startedAt, completedAt },
  TaskResult: {
    __resolveType: (result) => ("taskType" in result ? "TaskUnknownResult" : "TaskTaxPrepResult"),
  },
  ProviderConnection: {
    createdAt,
    updatedAt,
    // The next step: only a connection whose credentials have not been checked has one.
    action: ({ status }) => (status === "pending" ? "collect" : null),
  },
  ConnectionJob: { createdAt, updatedAt },
  JobWork: { createdAt, updatedAt, connectionJobId: ({ jobId }) => jobId },
  JobArtifact: {
    createdAt,
    updatedAt,
    connectionJobId: ({ jobId }) => jobId,
    workArtifact: (artifact) => artifact,
  },
  WorkArtifact: {
    id: ({ artifactId }) => artifactId,
    uploadedUrl: ({ url }) => url,
  },
} satisfies Resolvers<ResolverContext>;

type ServedType = keyof Resolvers & keyof ResolversParentTypes;

/**
 * The fields of the schema that neither a resolver nor a property of the record gives, such as `"Task.dueAt"`. GraphQL
 * would serve them as `null`.
 */
export type MissingFields<Given> = {
  [Type in ServedType]: `${Type}.${MissingIn<Type, Given> & string}`;
}[ServedType];

type MissingIn<Type extends ServedType, Given> =
  NonNullable<Resolvers[Type]> extends graphql.GraphQLScalarType
    ? never
    : Exclude<
        keyof NonNullable<Resolvers[Type]>,
        | NamedKey<ResolversParentTypes[Type]>
        | (Type extends keyof Given ? keyof Given[Type] : never)
        | "__isTypeOf"
        | "__resolveType"
      >;

/** Without the index signature of a loose record, and of `Query` and `Mutation`, which have no record. */
type NamedKey<Parent> = keyof {
  [Key in keyof Parent as string extends Key ? never : symbol extends Key ? never : Key]: true;
};

/** A field without a resolver is a property of its record: the compiler names each that the record lacks. */
export const resolvers: Resolvers<ResolverContext> & {
  readonly [Field in MissingFields<typeof served>]: "has neither a resolver nor a property of the record";
} = served;
