/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
export type AddClientDocumentsInput = {
  readonly clientId: string;
  readonly uploadIds: ReadonlyArray<string>;
};

export type CreateClientInput = {
  readonly externalId: string;
  readonly name: string;
  readonly returnType: string;
  readonly taxYear: number;
  readonly uploadIds?: ReadonlyArray<string> | null | undefined;
};

export type CreateJobWorkArtifactsInput = {
  readonly externalId: string;
  readonly metadata?: unknown;
  readonly name: string;
  /** Free text: `w2`, `1099`, `receipt` … */
  readonly type: string;
  readonly url?: string | null | undefined;
};

export type CreateJobWorksInput = {
  /** The calling platform's client identifier; unique per connection. */
  readonly externalId: string;
  /** A label for the client's tax preparation. */
  readonly name: string;
};

export type CreateWebhookEndpointInput = {
  /** Omitted or `null` becomes an empty string. */
  readonly description?: string | null | undefined;
  /**
   * Omitted or `null`: all current and future events. An empty list is invalid, duplicates are removed,
   * each name must exist in the catalog.
   */
  readonly eventTypes?: ReadonlyArray<string> | null | undefined;
  /** HTTPS delivery URL. */
  readonly url: string;
};

export type CreateWorkspaceInput = {
  /** Name of the tax firm; must not be blank. */
  readonly displayName: string;
  /** `xs`, `sm`, `md`, `lg` or `xl`. */
  readonly firmSize?: string | null | undefined;
  /** An object with customer and partner references. */
  readonly metadata?: unknown;
};

export type RotateWebhookEndpointSecretInput = {
  readonly endpointId: string;
  /** Seconds during which the old and the new secret both verify: 0 to 604800. */
  readonly gracePeriodSeconds?: number | null | undefined;
};

/** Every given filter must match; within one filter any value does. */
export type TaskFilters = {
  readonly clientIds?: ReadonlyArray<string> | null | undefined;
  readonly ids?: ReadonlyArray<string> | null | undefined;
  readonly statuses?: ReadonlyArray<TaskStatus> | null | undefined;
  readonly types?: ReadonlyArray<string> | null | undefined;
};

export type TaskStatus =
  | 'COMPLETED'
  | 'FAILED'
  | 'RUNNING';

export type TriggerTaxPrepInput = {
  readonly clientId: string;
  readonly returnType: string;
};

/** At least one of the optional fields must be present. */
export type UpdateWebhookEndpointInput = {
  /** `null` or an empty string clears; omitted leaves it unchanged. */
  readonly description?: string | null | undefined;
  /** `true` enables, `false` pauses; omitted or `null` leaves it unchanged. */
  readonly enabled?: boolean | null | undefined;
  readonly endpointId: string;
  /** `null` resets to all current and future events; omitted leaves it unchanged; an empty list is invalid. */
  readonly eventTypes?: ReadonlyArray<string> | null | undefined;
  /** Omitted or `null` leaves it unchanged. */
  readonly url?: string | null | undefined;
};

export type WorkspaceRole =
  | 'admin'
  | 'l1'
  | 'l2'
  | 'l3';

export type ClientFieldsFragment = { readonly id: string, readonly name: string, readonly externalId: string, readonly status: string, readonly returnType: string, readonly taxYear: number, readonly createdAt: string };

export type ListClientsQueryVariables = Exact<{
  offset?: number | null | undefined;
  limit?: number | null | undefined;
}>;


export type ListClientsQuery = { readonly me:
    | { readonly __typename: 'User' }
    | { readonly __typename: 'WorkspaceUser', readonly workspace: { readonly clients: ReadonlyArray<{ readonly id: string, readonly name: string, readonly externalId: string, readonly status: string, readonly returnType: string, readonly taxYear: number, readonly createdAt: string }> } }
   | null };

export type GetClientQueryVariables = Exact<{
  id: string;
}>;


export type GetClientQuery = { readonly me:
    | { readonly __typename: 'User' }
    | { readonly __typename: 'WorkspaceUser', readonly workspace: { readonly client: { readonly id: string, readonly name: string, readonly externalId: string, readonly status: string, readonly returnType: string, readonly taxYear: number, readonly createdAt: string } | null } }
   | null };

export type ListClientTasksQueryVariables = Exact<{
  id: string;
  type?: string | null | undefined;
  status?: TaskStatus | null | undefined;
  triggeredBy?: string | null | undefined;
  limit?: number | null | undefined;
}>;


export type ListClientTasksQuery = { readonly me:
    | { readonly __typename: 'User' }
    | { readonly __typename: 'WorkspaceUser', readonly workspace: { readonly client: { readonly id: string, readonly tasks: ReadonlyArray<{ readonly id: string, readonly type: string, readonly status: TaskStatus, readonly startedAt: string, readonly completedAt: string | null, readonly errorMessage: string | null, readonly attributes: ReadonlyArray<{ readonly name: string, readonly value: string }>, readonly subTasks: ReadonlyArray<{ readonly id: string, readonly type: string, readonly status: TaskStatus, readonly startedAt: string, readonly completedAt: string | null, readonly errorMessage: string | null }>, readonly result:
              | { readonly __typename: 'TaskTaxPrepResult', readonly taxYear: number, readonly returnType: string, readonly summary: string, readonly documentCount: number, readonly extractedFormCount: number, readonly reviewItemCount: number, readonly reviewItems: ReadonlyArray<{ readonly severity: string, readonly category: string, readonly description: string }> }
              | { readonly __typename: 'TaskUnknownResult', readonly taskType: string }
            , readonly client: { readonly id: string, readonly name: string } | null, readonly triggeredBy: { readonly id: string, readonly name: string, readonly email: string } | null }> } | null } }
   | null };

export type CreateClientMutationVariables = Exact<{
  input: CreateClientInput;
}>;


export type CreateClientMutation = { readonly createClient: { readonly taskId: string | null, readonly client: { readonly id: string, readonly name: string, readonly externalId: string, readonly status: string, readonly returnType: string, readonly taxYear: number, readonly createdAt: string } } };

export type AddClientDocumentsMutationVariables = Exact<{
  input: AddClientDocumentsInput;
}>;


export type AddClientDocumentsMutation = { readonly addClientDocuments: { readonly taskId: string } };

export type TriggerTaxPrepMutationVariables = Exact<{
  input: TriggerTaxPrepInput;
}>;


export type TriggerTaxPrepMutation = { readonly triggerTaxPrep: { readonly taskId: string } };

export type ExchangeApiKeyMutationVariables = Exact<{
  refreshToken: string;
  expiresInSeconds?: number | null | undefined;
}>;


export type ExchangeApiKeyMutation = { readonly exchangeSurfaceRefreshTokenForAccessTokens: { readonly workspaceToken: string } | null };

export type LoginPartnerMutationVariables = Exact<{
  token: string;
}>;


export type LoginPartnerMutation = { readonly loginViaPersonalApiToken: { readonly accessToken: string } };

export type MeQueryVariables = Exact<{ [key: string]: never; }>;


export type MeQuery = { readonly me:
    | { readonly __typename: 'User', readonly id: string, readonly name: string, readonly email: string, readonly workspaces: ReadonlyArray<{ readonly id: string, readonly name: string, readonly createdAt: string | null, readonly status: string | null }> }
    | { readonly __typename: 'WorkspaceUser', readonly id: string, readonly role: WorkspaceRole, readonly createdAt: string, readonly user: { readonly id: string, readonly name: string, readonly email: string, readonly emailHash: string | null, readonly novuHash: string | null }, readonly workspace: { readonly id: string, readonly name: string | null, readonly slug: string | null, readonly displayName: string | null, readonly status: string | null, readonly workspaceType: string | null } }
   | null };

export type ProviderConnectionFieldsFragment = { readonly id: string, readonly workspaceId: string, readonly providerKey: string, readonly status: string, readonly displayName: string | null, readonly settings: unknown, readonly updatedAt: string, readonly action: string | null, readonly createdAt: string };

export type ConnectionJobFieldsFragment = { readonly id: string, readonly connectionId: string, readonly workspaceId: string, readonly name: string, readonly status: string, readonly createdAt: string, readonly updatedAt: string };

export type CreateWorkspaceMutationVariables = Exact<{
  input: CreateWorkspaceInput;
}>;


export type CreateWorkspaceMutation = { readonly createWorkspace: { readonly id: string, readonly slug: string | null, readonly displayName: string | null, readonly status: string | null, readonly workspaceType: string | null } };

export type AddUsersToTheWorkspaceMutationVariables = Exact<{
  workspaceId: string;
  userEmails: ReadonlyArray<string> | string;
}>;


export type AddUsersToTheWorkspaceMutation = { readonly addUsersToTheWorkspace: ReadonlyArray<{ readonly id: string, readonly email: string, readonly name: string | null, readonly role: string }> };

export type StartProviderConnectionMutationVariables = Exact<{
  workspaceId: string;
  providerKey: string;
  inputs?: unknown;
}>;


export type StartProviderConnectionMutation = { readonly startProviderConnection: { readonly id: string, readonly workspaceId: string, readonly providerKey: string, readonly status: string, readonly displayName: string | null, readonly settings: unknown, readonly updatedAt: string, readonly action: string | null, readonly createdAt: string } };

export type CollectProviderConnectionMutationVariables = Exact<{
  connectionId: string;
  inputs?: unknown;
}>;


export type CollectProviderConnectionMutation = { readonly collectProviderConnection: { readonly id: string, readonly workspaceId: string, readonly providerKey: string, readonly status: string, readonly displayName: string | null, readonly settings: unknown, readonly updatedAt: string, readonly action: string | null, readonly createdAt: string } };

export type CreateConnectionJobMutationVariables = Exact<{
  connectionId: string;
  jobName: string;
}>;


export type CreateConnectionJobMutation = { readonly createConnectionJob: { readonly id: string, readonly connectionId: string, readonly workspaceId: string, readonly name: string, readonly status: string, readonly createdAt: string, readonly updatedAt: string } };

export type CreateJobWorksMutationVariables = Exact<{
  connectionJobId: string;
  inputs: ReadonlyArray<CreateJobWorksInput> | CreateJobWorksInput;
}>;


export type CreateJobWorksMutation = { readonly createJobWorks: ReadonlyArray<{ readonly id: string, readonly createdAt: string, readonly updatedAt: string, readonly workspaceId: string, readonly workId: string, readonly connectionJobId: string }> };

export type CreateJobWorkArtifactsMutationVariables = Exact<{
  jobWorkId: string;
  inputs: ReadonlyArray<CreateJobWorkArtifactsInput> | CreateJobWorkArtifactsInput;
}>;


export type CreateJobWorkArtifactsMutation = { readonly createJobWorkArtifacts: ReadonlyArray<{ readonly id: string, readonly createdAt: string, readonly updatedAt: string, readonly workspaceId: string, readonly artifactId: string, readonly connectionJobId: string, readonly jobWorkId: string, readonly workArtifact: { readonly id: string, readonly externalId: string, readonly name: string, readonly type: string, readonly status: string, readonly uploadedUrl: string | null, readonly metadata: unknown } }> };

export type InitiateTaxPrepsImportMutationVariables = Exact<{
  connectionJobId: string;
}>;


export type InitiateTaxPrepsImportMutation = { readonly initiateTaxPrepsImport: { readonly id: string, readonly connectionId: string, readonly workspaceId: string, readonly name: string, readonly status: string, readonly createdAt: string, readonly updatedAt: string } };

export type TaskFieldsFragment = { readonly id: string, readonly type: string, readonly status: TaskStatus, readonly startedAt: string, readonly completedAt: string | null, readonly errorMessage: string | null, readonly attributes: ReadonlyArray<{ readonly name: string, readonly value: string }>, readonly subTasks: ReadonlyArray<{ readonly id: string, readonly type: string, readonly status: TaskStatus, readonly startedAt: string, readonly completedAt: string | null, readonly errorMessage: string | null }>, readonly result:
    | { readonly __typename: 'TaskTaxPrepResult', readonly taxYear: number, readonly returnType: string, readonly summary: string, readonly documentCount: number, readonly extractedFormCount: number, readonly reviewItemCount: number, readonly reviewItems: ReadonlyArray<{ readonly severity: string, readonly category: string, readonly description: string }> }
    | { readonly __typename: 'TaskUnknownResult', readonly taskType: string }
  , readonly client: { readonly id: string, readonly name: string } | null, readonly triggeredBy: { readonly id: string, readonly name: string, readonly email: string } | null };

export type ListTasksQueryVariables = Exact<{
  filters?: TaskFilters | null | undefined;
  offset?: number | null | undefined;
  limit?: number | null | undefined;
}>;


export type ListTasksQuery = { readonly me:
    | { readonly __typename: 'User' }
    | { readonly __typename: 'WorkspaceUser', readonly workspace: { readonly id: string, readonly tasks: ReadonlyArray<{ readonly id: string, readonly type: string, readonly status: TaskStatus, readonly startedAt: string, readonly completedAt: string | null, readonly errorMessage: string | null, readonly attributes: ReadonlyArray<{ readonly name: string, readonly value: string }>, readonly subTasks: ReadonlyArray<{ readonly id: string, readonly type: string, readonly status: TaskStatus, readonly startedAt: string, readonly completedAt: string | null, readonly errorMessage: string | null }>, readonly result:
            | { readonly __typename: 'TaskTaxPrepResult', readonly taxYear: number, readonly returnType: string, readonly summary: string, readonly documentCount: number, readonly extractedFormCount: number, readonly reviewItemCount: number, readonly reviewItems: ReadonlyArray<{ readonly severity: string, readonly category: string, readonly description: string }> }
            | { readonly __typename: 'TaskUnknownResult', readonly taskType: string }
          , readonly client: { readonly id: string, readonly name: string } | null, readonly triggeredBy: { readonly id: string, readonly name: string, readonly email: string } | null }> } }
   | null };

export type WebhookEndpointFieldsFragment = { readonly id: string, readonly url: string, readonly description: string, readonly enabled: boolean, readonly eventTypes: ReadonlyArray<string> | null, readonly createdAt: string, readonly updatedAt: string };

export type WebhookEventCatalogQueryVariables = Exact<{ [key: string]: never; }>;


export type WebhookEventCatalogQuery = { readonly webhookEventCatalog: ReadonlyArray<{ readonly name: string, readonly description: string, readonly version: string, readonly status: string, readonly taskTypes: ReadonlyArray<string>, readonly payloadSchema: unknown }> };

export type ListWebhookEndpointsQueryVariables = Exact<{
  limit?: number | null | undefined;
  iterator?: string | null | undefined;
}>;


export type ListWebhookEndpointsQuery = { readonly me:
    | { readonly __typename: 'User' }
    | { readonly __typename: 'WorkspaceUser', readonly workspace: { readonly webhookEndpoints: { readonly done: boolean, readonly iterator: string | null, readonly data: ReadonlyArray<{ readonly id: string, readonly url: string, readonly description: string, readonly enabled: boolean, readonly eventTypes: ReadonlyArray<string> | null, readonly createdAt: string, readonly updatedAt: string }> } } }
   | null };

export type CreateWebhookEndpointMutationVariables = Exact<{
  input: CreateWebhookEndpointInput;
}>;


export type CreateWebhookEndpointMutation = { readonly createWebhookEndpoint: { readonly signingSecret: string, readonly endpoint: { readonly id: string, readonly url: string, readonly description: string, readonly enabled: boolean, readonly eventTypes: ReadonlyArray<string> | null, readonly createdAt: string, readonly updatedAt: string } } };

export type UpdateWebhookEndpointMutationVariables = Exact<{
  input: UpdateWebhookEndpointInput;
}>;


export type UpdateWebhookEndpointMutation = { readonly updateWebhookEndpoint: { readonly id: string, readonly url: string, readonly description: string, readonly enabled: boolean, readonly eventTypes: ReadonlyArray<string> | null, readonly createdAt: string, readonly updatedAt: string } };

export type DeleteWebhookEndpointMutationVariables = Exact<{
  endpointId: string;
}>;


export type DeleteWebhookEndpointMutation = { readonly deleteWebhookEndpoint: boolean };

export type RotateWebhookEndpointSecretMutationVariables = Exact<{
  input: RotateWebhookEndpointSecretInput;
}>;


export type RotateWebhookEndpointSecretMutation = { readonly rotateWebhookEndpointSecret: { readonly signingSecret: string, readonly endpoint: { readonly id: string, readonly url: string, readonly description: string, readonly enabled: boolean, readonly eventTypes: ReadonlyArray<string> | null, readonly createdAt: string, readonly updatedAt: string } } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const ClientFieldsFragmentDoc = new TypedDocumentString(`
    fragment ClientFields on Client {
  id
  name
  externalId
  status
  returnType
  taxYear
  createdAt
}
    `, {"fragmentName":"ClientFields"}) as unknown as TypedDocumentString<ClientFieldsFragment, unknown>;
export const ProviderConnectionFieldsFragmentDoc = new TypedDocumentString(`
    fragment ProviderConnectionFields on ProviderConnection {
  id
  workspaceId
  providerKey
  status
  displayName
  settings
  updatedAt
  action
  createdAt
}
    `, {"fragmentName":"ProviderConnectionFields"}) as unknown as TypedDocumentString<ProviderConnectionFieldsFragment, unknown>;
export const ConnectionJobFieldsFragmentDoc = new TypedDocumentString(`
    fragment ConnectionJobFields on ConnectionJob {
  id
  connectionId
  workspaceId
  name
  status
  createdAt
  updatedAt
}
    `, {"fragmentName":"ConnectionJobFields"}) as unknown as TypedDocumentString<ConnectionJobFieldsFragment, unknown>;
export const TaskFieldsFragmentDoc = new TypedDocumentString(`
    fragment TaskFields on Task {
  id
  type
  status
  startedAt
  completedAt
  errorMessage
  attributes {
    name
    value
  }
  subTasks {
    id
    type
    status
    startedAt
    completedAt
    errorMessage
  }
  result {
    __typename
    ... on TaskTaxPrepResult {
      taxYear
      returnType
      summary
      documentCount
      extractedFormCount
      reviewItemCount
      reviewItems {
        severity
        category
        description
      }
    }
    ... on TaskUnknownResult {
      taskType
    }
  }
  client {
    id
    name
  }
  triggeredBy {
    id
    name
    email
  }
}
    `, {"fragmentName":"TaskFields"}) as unknown as TypedDocumentString<TaskFieldsFragment, unknown>;
export const WebhookEndpointFieldsFragmentDoc = new TypedDocumentString(`
    fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}
    `, {"fragmentName":"WebhookEndpointFields"}) as unknown as TypedDocumentString<WebhookEndpointFieldsFragment, unknown>;
export const ListClientsDocument = new TypedDocumentString(`
    query ListClients($offset: Int, $limit: Int) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        clients(offset: $offset, limit: $limit) {
          ...ClientFields
        }
      }
    }
  }
}
    fragment ClientFields on Client {
  id
  name
  externalId
  status
  returnType
  taxYear
  createdAt
}`) as unknown as TypedDocumentString<ListClientsQuery, ListClientsQueryVariables>;
export const GetClientDocument = new TypedDocumentString(`
    query GetClient($id: ID!) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        client(id: $id) {
          ...ClientFields
        }
      }
    }
  }
}
    fragment ClientFields on Client {
  id
  name
  externalId
  status
  returnType
  taxYear
  createdAt
}`) as unknown as TypedDocumentString<GetClientQuery, GetClientQueryVariables>;
export const ListClientTasksDocument = new TypedDocumentString(`
    query ListClientTasks($id: ID!, $type: String, $status: TaskStatus, $triggeredBy: ID, $limit: Int) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        client(id: $id) {
          id
          tasks(type: $type, status: $status, triggeredBy: $triggeredBy, limit: $limit) {
            ...TaskFields
          }
        }
      }
    }
  }
}
    fragment TaskFields on Task {
  id
  type
  status
  startedAt
  completedAt
  errorMessage
  attributes {
    name
    value
  }
  subTasks {
    id
    type
    status
    startedAt
    completedAt
    errorMessage
  }
  result {
    __typename
    ... on TaskTaxPrepResult {
      taxYear
      returnType
      summary
      documentCount
      extractedFormCount
      reviewItemCount
      reviewItems {
        severity
        category
        description
      }
    }
    ... on TaskUnknownResult {
      taskType
    }
  }
  client {
    id
    name
  }
  triggeredBy {
    id
    name
    email
  }
}`) as unknown as TypedDocumentString<ListClientTasksQuery, ListClientTasksQueryVariables>;
export const CreateClientDocument = new TypedDocumentString(`
    mutation CreateClient($input: CreateClientInput!) {
  createClient(input: $input) {
    client {
      ...ClientFields
    }
    taskId
  }
}
    fragment ClientFields on Client {
  id
  name
  externalId
  status
  returnType
  taxYear
  createdAt
}`) as unknown as TypedDocumentString<CreateClientMutation, CreateClientMutationVariables>;
export const AddClientDocumentsDocument = new TypedDocumentString(`
    mutation AddClientDocuments($input: AddClientDocumentsInput!) {
  addClientDocuments(input: $input) {
    taskId
  }
}
    `) as unknown as TypedDocumentString<AddClientDocumentsMutation, AddClientDocumentsMutationVariables>;
export const TriggerTaxPrepDocument = new TypedDocumentString(`
    mutation TriggerTaxPrep($input: TriggerTaxPrepInput!) {
  triggerTaxPrep(input: $input) {
    taskId
  }
}
    `) as unknown as TypedDocumentString<TriggerTaxPrepMutation, TriggerTaxPrepMutationVariables>;
export const ExchangeApiKeyDocument = new TypedDocumentString(`
    mutation ExchangeApiKey($refreshToken: String!, $expiresInSeconds: Int) {
  exchangeSurfaceRefreshTokenForAccessTokens(
    refreshToken: $refreshToken
    expiresInSeconds: $expiresInSeconds
  ) {
    workspaceToken
  }
}
    `) as unknown as TypedDocumentString<ExchangeApiKeyMutation, ExchangeApiKeyMutationVariables>;
export const LoginPartnerDocument = new TypedDocumentString(`
    mutation LoginPartner($token: String!) {
  loginViaPersonalApiToken(token: $token) {
    accessToken
  }
}
    `) as unknown as TypedDocumentString<LoginPartnerMutation, LoginPartnerMutationVariables>;
export const MeDocument = new TypedDocumentString(`
    query Me {
  me {
    __typename
    ... on WorkspaceUser {
      id
      role
      createdAt
      user {
        id
        name
        email
        emailHash
        novuHash
      }
      workspace {
        id
        name
        slug
        displayName
        status
        workspaceType
      }
    }
    ... on User {
      id
      name
      email
      workspaces {
        id
        name
        createdAt
        status
      }
    }
  }
}
    `) as unknown as TypedDocumentString<MeQuery, MeQueryVariables>;
export const CreateWorkspaceDocument = new TypedDocumentString(`
    mutation CreateWorkspace($input: CreateWorkspaceInput!) {
  createWorkspace(input: $input) {
    id
    slug
    displayName
    status
    workspaceType
  }
}
    `) as unknown as TypedDocumentString<CreateWorkspaceMutation, CreateWorkspaceMutationVariables>;
export const AddUsersToTheWorkspaceDocument = new TypedDocumentString(`
    mutation AddUsersToTheWorkspace($workspaceId: ID!, $userEmails: [String!]!) {
  addUsersToTheWorkspace(workspaceId: $workspaceId, userEmails: $userEmails) {
    id
    email
    name
    role
  }
}
    `) as unknown as TypedDocumentString<AddUsersToTheWorkspaceMutation, AddUsersToTheWorkspaceMutationVariables>;
export const StartProviderConnectionDocument = new TypedDocumentString(`
    mutation StartProviderConnection($workspaceId: ID!, $providerKey: String!, $inputs: JSON) {
  startProviderConnection(
    workspaceId: $workspaceId
    providerKey: $providerKey
    inputs: $inputs
  ) {
    ...ProviderConnectionFields
  }
}
    fragment ProviderConnectionFields on ProviderConnection {
  id
  workspaceId
  providerKey
  status
  displayName
  settings
  updatedAt
  action
  createdAt
}`) as unknown as TypedDocumentString<StartProviderConnectionMutation, StartProviderConnectionMutationVariables>;
export const CollectProviderConnectionDocument = new TypedDocumentString(`
    mutation CollectProviderConnection($connectionId: ID!, $inputs: JSON) {
  collectProviderConnection(connectionId: $connectionId, inputs: $inputs) {
    ...ProviderConnectionFields
  }
}
    fragment ProviderConnectionFields on ProviderConnection {
  id
  workspaceId
  providerKey
  status
  displayName
  settings
  updatedAt
  action
  createdAt
}`) as unknown as TypedDocumentString<CollectProviderConnectionMutation, CollectProviderConnectionMutationVariables>;
export const CreateConnectionJobDocument = new TypedDocumentString(`
    mutation CreateConnectionJob($connectionId: ID!, $jobName: String!) {
  createConnectionJob(connectionId: $connectionId, jobName: $jobName) {
    ...ConnectionJobFields
  }
}
    fragment ConnectionJobFields on ConnectionJob {
  id
  connectionId
  workspaceId
  name
  status
  createdAt
  updatedAt
}`) as unknown as TypedDocumentString<CreateConnectionJobMutation, CreateConnectionJobMutationVariables>;
export const CreateJobWorksDocument = new TypedDocumentString(`
    mutation CreateJobWorks($connectionJobId: ID!, $inputs: [CreateJobWorksInput!]!) {
  createJobWorks(connectionJobId: $connectionJobId, inputs: $inputs) {
    id
    createdAt
    updatedAt
    workspaceId
    workId
    connectionJobId
  }
}
    `) as unknown as TypedDocumentString<CreateJobWorksMutation, CreateJobWorksMutationVariables>;
export const CreateJobWorkArtifactsDocument = new TypedDocumentString(`
    mutation CreateJobWorkArtifacts($jobWorkId: ID!, $inputs: [CreateJobWorkArtifactsInput!]!) {
  createJobWorkArtifacts(jobWorkId: $jobWorkId, inputs: $inputs) {
    id
    createdAt
    updatedAt
    workspaceId
    artifactId
    connectionJobId
    jobWorkId
    workArtifact {
      id
      externalId
      name
      type
      status
      uploadedUrl
      metadata
    }
  }
}
    `) as unknown as TypedDocumentString<CreateJobWorkArtifactsMutation, CreateJobWorkArtifactsMutationVariables>;
export const InitiateTaxPrepsImportDocument = new TypedDocumentString(`
    mutation InitiateTaxPrepsImport($connectionJobId: ID!) {
  initiateTaxPrepsImport(connectionJobId: $connectionJobId) {
    ...ConnectionJobFields
  }
}
    fragment ConnectionJobFields on ConnectionJob {
  id
  connectionId
  workspaceId
  name
  status
  createdAt
  updatedAt
}`) as unknown as TypedDocumentString<InitiateTaxPrepsImportMutation, InitiateTaxPrepsImportMutationVariables>;
export const ListTasksDocument = new TypedDocumentString(`
    query ListTasks($filters: TaskFilters, $offset: Int, $limit: Int) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        id
        tasks(filters: $filters, offset: $offset, limit: $limit) {
          ...TaskFields
        }
      }
    }
  }
}
    fragment TaskFields on Task {
  id
  type
  status
  startedAt
  completedAt
  errorMessage
  attributes {
    name
    value
  }
  subTasks {
    id
    type
    status
    startedAt
    completedAt
    errorMessage
  }
  result {
    __typename
    ... on TaskTaxPrepResult {
      taxYear
      returnType
      summary
      documentCount
      extractedFormCount
      reviewItemCount
      reviewItems {
        severity
        category
        description
      }
    }
    ... on TaskUnknownResult {
      taskType
    }
  }
  client {
    id
    name
  }
  triggeredBy {
    id
    name
    email
  }
}`) as unknown as TypedDocumentString<ListTasksQuery, ListTasksQueryVariables>;
export const WebhookEventCatalogDocument = new TypedDocumentString(`
    query WebhookEventCatalog {
  webhookEventCatalog {
    name
    description
    version
    status
    taskTypes
    payloadSchema
  }
}
    `) as unknown as TypedDocumentString<WebhookEventCatalogQuery, WebhookEventCatalogQueryVariables>;
export const ListWebhookEndpointsDocument = new TypedDocumentString(`
    query ListWebhookEndpoints($limit: Int, $iterator: String) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        webhookEndpoints(limit: $limit, iterator: $iterator) {
          data {
            ...WebhookEndpointFields
          }
          done
          iterator
        }
      }
    }
  }
}
    fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`) as unknown as TypedDocumentString<ListWebhookEndpointsQuery, ListWebhookEndpointsQueryVariables>;
export const CreateWebhookEndpointDocument = new TypedDocumentString(`
    mutation CreateWebhookEndpoint($input: CreateWebhookEndpointInput!) {
  createWebhookEndpoint(input: $input) {
    endpoint {
      ...WebhookEndpointFields
    }
    signingSecret
  }
}
    fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`) as unknown as TypedDocumentString<CreateWebhookEndpointMutation, CreateWebhookEndpointMutationVariables>;
export const UpdateWebhookEndpointDocument = new TypedDocumentString(`
    mutation UpdateWebhookEndpoint($input: UpdateWebhookEndpointInput!) {
  updateWebhookEndpoint(input: $input) {
    ...WebhookEndpointFields
  }
}
    fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`) as unknown as TypedDocumentString<UpdateWebhookEndpointMutation, UpdateWebhookEndpointMutationVariables>;
export const DeleteWebhookEndpointDocument = new TypedDocumentString(`
    mutation DeleteWebhookEndpoint($endpointId: ID!) {
  deleteWebhookEndpoint(endpointId: $endpointId)
}
    `) as unknown as TypedDocumentString<DeleteWebhookEndpointMutation, DeleteWebhookEndpointMutationVariables>;
export const RotateWebhookEndpointSecretDocument = new TypedDocumentString(`
    mutation RotateWebhookEndpointSecret($input: RotateWebhookEndpointSecretInput!) {
  rotateWebhookEndpointSecret(input: $input) {
    endpoint {
      ...WebhookEndpointFields
    }
    signingSecret
  }
}
    fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`) as unknown as TypedDocumentString<RotateWebhookEndpointSecretMutation, RotateWebhookEndpointSecretMutationVariables>;