import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { WorkspaceRecord, MembershipRecord, UserRecord, WebhookEndpointRecord, ConnectionRecord, JobRecord, JobWorkRecord, ArtifactRecord, ClientRecord, TaskRecord, StageRecord } from '../state/records.ts';
import type { TaxPrepResult } from '../../sdk/events/index.ts';
import type { ResolverContext } from '../rules/identity/resolver-context.ts';
export type Maybe<T> = T | null;
export type InputMaybe<T> = Maybe<T>;
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** An RFC 3339 time in UTC with milliseconds, for example `2026-03-01T09:30:00.000Z`. */
  Date: { input: string; output: string; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
};

export type AccessTokens = {
  __typename?: 'AccessTokens';
  /** Identifies the key's owner account-wide, not tied to a workspace. */
  userToken: Scalars['String']['output'];
  /** The same user scoped to the key's workspace, with the key's access level. Used for API calls. */
  workspaceToken: Scalars['String']['output'];
};

export type AddClientDocumentsInput = {
  clientId: Scalars['ID']['input'];
  uploadIds: Array<Scalars['ID']['input']>;
};

export type AddedUser = {
  __typename?: 'AddedUser';
  email: Scalars['String']['output'];
  id: Scalars['ID']['output'];
  name?: Maybe<Scalars['String']['output']>;
  role: Scalars['String']['output'];
};

export type BeyondInterfaceSource =
  /** Not documented: the simplest type that fits the rest. */
  | 'ASSUMED'
  /** Shown by the service's public documentation, in a version older than webhooks. */
  | 'DOCUMENTED';

/** One client of the tax firm. */
export type Client = {
  __typename?: 'Client';
  createdAt: Scalars['Date']['output'];
  /** Unique in the workspace. */
  externalId: Scalars['String']['output'];
  id: Scalars['ID']['output'];
  name: Scalars['String']['output'];
  /** For example `F1040`, `F1041`, `F1065`, `F1120`, `F1120S`, `F990`. */
  returnType: Scalars['String']['output'];
  status: Scalars['String']['output'];
  tasks: Array<Task>;
  taxYear: Scalars['Int']['output'];
};


/** One client of the tax firm. */
export type ClientTasksArgs = {
  limit?: InputMaybe<Scalars['Int']['input']>;
  status?: InputMaybe<TaskStatus>;
  triggeredBy?: InputMaybe<Scalars['ID']['input']>;
  type?: InputMaybe<Scalars['String']['input']>;
};

export type ClientShortDetails = {
  __typename?: 'ClientShortDetails';
  id: Scalars['ID']['output'];
  name: Scalars['String']['output'];
};

export type ConnectionJob = {
  __typename?: 'ConnectionJob';
  connectionId: Scalars['ID']['output'];
  createdAt: Scalars['Date']['output'];
  /** Used to attach works and to start the import. */
  id: Scalars['ID']['output'];
  /** The `jobName` supplied. */
  name: Scalars['String']['output'];
  /** For example `pending`, `active`, `completed`. */
  status: Scalars['String']['output'];
  updatedAt: Scalars['Date']['output'];
  workspaceId: Scalars['ID']['output'];
};

export type CreateClientInput = {
  externalId: Scalars['String']['input'];
  name: Scalars['String']['input'];
  returnType: Scalars['String']['input'];
  taxYear: Scalars['Int']['input'];
  uploadIds?: InputMaybe<Array<Scalars['ID']['input']>>;
};

export type CreateClientResult = {
  __typename?: 'CreateClientResult';
  client: Client;
  /** The `BINDER` task; `null` when no `uploadIds` were given. */
  taskId?: Maybe<Scalars['ID']['output']>;
};

export type CreateJobWorkArtifactsInput = {
  externalId: Scalars['String']['input'];
  metadata?: InputMaybe<Scalars['JSON']['input']>;
  name: Scalars['String']['input'];
  /** Free text: `w2`, `1099`, `receipt` … */
  type: Scalars['String']['input'];
  url?: InputMaybe<Scalars['String']['input']>;
};

export type CreateJobWorksInput = {
  /** The calling platform's client identifier; unique per connection. */
  externalId: Scalars['String']['input'];
  /** A label for the client's tax preparation. */
  name: Scalars['String']['input'];
};

export type CreateWebhookEndpointInput = {
  /** Omitted or `null` becomes an empty string. */
  description?: InputMaybe<Scalars['String']['input']>;
  /**
   * Omitted or `null`: all current and future events. An empty list is invalid, duplicates are removed,
   * each name must exist in the catalog.
   */
  eventTypes?: InputMaybe<Array<Scalars['String']['input']>>;
  /** HTTPS delivery URL. */
  url: Scalars['String']['input'];
};

export type CreateWorkspaceInput = {
  /** Name of the tax firm; must not be blank. */
  displayName: Scalars['String']['input'];
  /** `xs`, `sm`, `md`, `lg` or `xl`. */
  firmSize?: InputMaybe<Scalars['String']['input']>;
  /** An object with customer and partner references. */
  metadata?: InputMaybe<Scalars['JSON']['input']>;
};

export type JobArtifact = {
  __typename?: 'JobArtifact';
  artifactId: Scalars['ID']['output'];
  connectionJobId: Scalars['ID']['output'];
  createdAt: Scalars['Date']['output'];
  id: Scalars['ID']['output'];
  jobWorkId: Scalars['ID']['output'];
  updatedAt: Scalars['Date']['output'];
  workArtifact: WorkArtifact;
  workspaceId: Scalars['ID']['output'];
};

export type JobWork = {
  __typename?: 'JobWork';
  connectionJobId: Scalars['ID']['output'];
  createdAt: Scalars['Date']['output'];
  /** Used when attaching artifacts. */
  id: Scalars['ID']['output'];
  updatedAt: Scalars['Date']['output'];
  /** The work this job work references. */
  workId: Scalars['ID']['output'];
  workspaceId: Scalars['ID']['output'];
};

export type Me = User | WorkspaceUser;

export type Mutation = {
  __typename?: 'Mutation';
  /** Adds uploaded documents to a client and starts a `BINDER` task on them. */
  addClientDocuments: StartedTask;
  /** Adds users to a workspace at once, without an invitation; an existing account is attached. */
  addUsersToTheWorkspace: Array<AddedUser>;
  /** Tests the credentials of the start step against the partner platform; the result sets the status. */
  collectProviderConnection: ProviderConnection;
  /** Adds a client of the tax firm. With `uploadIds` a `BINDER` task starts on those documents. */
  createClient: CreateClientResult;
  /** Creates a job on an existing, `active` provider connection. */
  createConnectionJob: ConnectionJob;
  /** Attaches files to a job work. */
  createJobWorkArtifacts: Array<JobArtifact>;
  /** Attaches works, one per client tax preparation, to a job that still accepts them. All or nothing. */
  createJobWorks: Array<JobWork>;
  /** Registers a delivery URL. The signing secret is returned here and by rotation, nowhere else. */
  createWebhookEndpoint: WebhookEndpointSecret;
  /** Creates one workspace per tax firm. */
  createWorkspace: Workspace;
  /** Ends delivery to an endpoint. Returns `true`. */
  deleteWebhookEndpoint: Scalars['Boolean']['output'];
  /**
   * Exchanges a long-lived API key for short-lived access tokens. Public, and not counted against the
   * rate limit.
   */
  exchangeSurfaceRefreshTokenForAccessTokens: AccessTokens;
  /** Starts the import of a job: clients, documents and `TAX_PREP` tasks follow. */
  initiateTaxPrepsImport: ConnectionJob;
  /** Exchanges a partner key for a gateway token. No Bearer token; not for workspace keys. */
  loginViaPersonalApiToken: PartnerAccessToken;
  /** Issues a new signing secret; the old one verifies until the grace period ends. */
  rotateWebhookEndpointSecret: WebhookEndpointSecret;
  /** Begins a provider connection with the credentials of the partner platform. */
  startProviderConnection: ProviderConnection;
  /** Starts a `TAX_PREP` task for a client. */
  triggerTaxPrep: StartedTask;
  /** Patches an endpoint: an omitted field differs from an explicit `null`. */
  updateWebhookEndpoint: WebhookEndpoint;
};


export type MutationAddClientDocumentsArgs = {
  input: AddClientDocumentsInput;
};


export type MutationAddUsersToTheWorkspaceArgs = {
  userEmails: Array<Scalars['String']['input']>;
  workspaceId: Scalars['ID']['input'];
};


export type MutationCollectProviderConnectionArgs = {
  connectionId: Scalars['ID']['input'];
  inputs?: InputMaybe<Scalars['JSON']['input']>;
};


export type MutationCreateClientArgs = {
  input: CreateClientInput;
};


export type MutationCreateConnectionJobArgs = {
  connectionId: Scalars['ID']['input'];
  jobName: Scalars['String']['input'];
};


export type MutationCreateJobWorkArtifactsArgs = {
  inputs: Array<CreateJobWorkArtifactsInput>;
  jobWorkId: Scalars['ID']['input'];
};


export type MutationCreateJobWorksArgs = {
  connectionJobId: Scalars['ID']['input'];
  inputs: Array<CreateJobWorksInput>;
};


export type MutationCreateWebhookEndpointArgs = {
  input: CreateWebhookEndpointInput;
};


export type MutationCreateWorkspaceArgs = {
  input: CreateWorkspaceInput;
};


export type MutationDeleteWebhookEndpointArgs = {
  endpointId: Scalars['ID']['input'];
};


export type MutationExchangeSurfaceRefreshTokenForAccessTokensArgs = {
  expiresInSeconds?: InputMaybe<Scalars['Int']['input']>;
  refreshToken: Scalars['String']['input'];
};


export type MutationInitiateTaxPrepsImportArgs = {
  connectionJobId: Scalars['ID']['input'];
};


export type MutationLoginViaPersonalApiTokenArgs = {
  token: Scalars['String']['input'];
};


export type MutationRotateWebhookEndpointSecretArgs = {
  input: RotateWebhookEndpointSecretInput;
};


export type MutationStartProviderConnectionArgs = {
  inputs?: InputMaybe<Scalars['JSON']['input']>;
  providerKey: Scalars['String']['input'];
  workspaceId: Scalars['ID']['input'];
};


export type MutationTriggerTaxPrepArgs = {
  input: TriggerTaxPrepInput;
};


export type MutationUpdateWebhookEndpointArgs = {
  input: UpdateWebhookEndpointInput;
};

export type PartnerAccessToken = {
  __typename?: 'PartnerAccessToken';
  /** Reaches every workspace that the partner created. */
  accessToken: Scalars['String']['output'];
};

export type ProviderConnection = {
  __typename?: 'ProviderConnection';
  /** The next step to take, for example `collect`. */
  action?: Maybe<Scalars['String']['output']>;
  createdAt: Scalars['Date']['output'];
  displayName?: Maybe<Scalars['String']['output']>;
  id: Scalars['ID']['output'];
  /** The partner key used for the connection. */
  providerKey: Scalars['String']['output'];
  /** Stored configuration; echoes the `inputs` supplied. */
  settings?: Maybe<Scalars['JSON']['output']>;
  /** `pending`, then `active` when verification succeeds, otherwise an error state. */
  status: Scalars['String']['output'];
  updatedAt: Scalars['Date']['output'];
  workspaceId: Scalars['ID']['output'];
};

export type Query = {
  __typename?: 'Query';
  /** Who the token acts as: `WorkspaceUser` for a `workspaceToken`, `User` for a `userToken`. */
  me?: Maybe<Me>;
  /** Every event the service can deliver. Public: no token, no workspace. */
  webhookEventCatalog: Array<WebhookEventType>;
};

export type RotateWebhookEndpointSecretInput = {
  endpointId: Scalars['ID']['input'];
  /** Seconds during which the old and the new secret both verify: 0 to 604800. */
  gracePeriodSeconds?: InputMaybe<Scalars['Int']['input']>;
};

export type RouterName =
  /** `{base_url}/graphql`: tokens, identity, webhooks, tasks, clients. */
  | 'BASE'
  /** `{gateway_url}/graphql`: partner operations. */
  | 'GATEWAY';

export type StartedTask = {
  __typename?: 'StartedTask';
  taskId: Scalars['ID']['output'];
};

/** A stage of a task. */
export type SubTask = {
  __typename?: 'SubTask';
  completedAt?: Maybe<Scalars['String']['output']>;
  errorMessage?: Maybe<Scalars['String']['output']>;
  id: Scalars['ID']['output'];
  startedAt: Scalars['String']['output'];
  status: TaskStatus;
  /** Free text: an unrecognised stage is informational, not an error. */
  type: Scalars['String']['output'];
};

export type Task = {
  __typename?: 'Task';
  attributes: Array<TaskAttribute>;
  client?: Maybe<ClientShortDetails>;
  /** ISO 8601; `null` while the task runs. */
  completedAt?: Maybe<Scalars['String']['output']>;
  errorMessage?: Maybe<Scalars['String']['output']>;
  id: Scalars['ID']['output'];
  result: TaskResult;
  /** ISO 8601. */
  startedAt: Scalars['String']['output'];
  status: TaskStatus;
  /** The stages of the task, in the order in which they started. */
  subTasks: Array<SubTask>;
  triggeredBy?: Maybe<UserShortDetails>;
  /** An open set: the five types of the event catalog, and more. */
  type: Scalars['String']['output'];
};

export type TaskAttribute = {
  __typename?: 'TaskAttribute';
  name: Scalars['String']['output'];
  value: Scalars['String']['output'];
};

/** Every given filter must match; within one filter any value does. */
export type TaskFilters = {
  clientIds?: InputMaybe<Array<Scalars['ID']['input']>>;
  ids?: InputMaybe<Array<Scalars['ID']['input']>>;
  statuses?: InputMaybe<Array<TaskStatus>>;
  types?: InputMaybe<Array<Scalars['String']['input']>>;
};

/** `TaskUnknownResult` is the fallback; always handle it. */
export type TaskResult = TaskTaxPrepResult | TaskUnknownResult;

export type TaskStatus =
  | 'COMPLETED'
  | 'FAILED'
  | 'RUNNING';

export type TaskTaxPrepResult = {
  __typename?: 'TaskTaxPrepResult';
  documentCount: Scalars['Int']['output'];
  extractedFormCount: Scalars['Int']['output'];
  returnType: Scalars['String']['output'];
  reviewItemCount: Scalars['Int']['output'];
  reviewItems: Array<TaxPrepReviewItem>;
  summary: Scalars['String']['output'];
  taxYear: Scalars['Int']['output'];
};

export type TaskUnknownResult = {
  __typename?: 'TaskUnknownResult';
  /** The task's type. */
  taskType: Scalars['String']['output'];
};

export type TaxPrepReviewItem = {
  __typename?: 'TaxPrepReviewItem';
  category: Scalars['String']['output'];
  description: Scalars['String']['output'];
  severity: Scalars['String']['output'];
};

export type TriggerTaxPrepInput = {
  clientId: Scalars['ID']['input'];
  returnType: Scalars['String']['input'];
};

/** At least one of the optional fields must be present. */
export type UpdateWebhookEndpointInput = {
  /** `null` or an empty string clears; omitted leaves it unchanged. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** `true` enables, `false` pauses; omitted or `null` leaves it unchanged. */
  enabled?: InputMaybe<Scalars['Boolean']['input']>;
  endpointId: Scalars['ID']['input'];
  /** `null` resets to all current and future events; omitted leaves it unchanged; an empty list is invalid. */
  eventTypes?: InputMaybe<Array<Scalars['String']['input']>>;
  /** Omitted or `null` leaves it unchanged. */
  url?: InputMaybe<Scalars['String']['input']>;
};

/** The account-wide user: `me` for a `userToken`. */
export type User = {
  __typename?: 'User';
  email: Scalars['String']['output'];
  id: Scalars['ID']['output'];
  name: Scalars['String']['output'];
  workspaces: Array<WorkspaceShortDetails>;
};

export type UserShortDetails = {
  __typename?: 'UserShortDetails';
  email: Scalars['String']['output'];
  /** Serves the vendor's own in-product integrations; may be ignored. */
  emailHash?: Maybe<Scalars['String']['output']>;
  id: Scalars['ID']['output'];
  name: Scalars['String']['output'];
  /** Serves the vendor's own in-product integrations; may be ignored. */
  novuHash?: Maybe<Scalars['String']['output']>;
};

export type WebhookEndpoint = {
  __typename?: 'WebhookEndpoint';
  createdAt: Scalars['Date']['output'];
  /** Label; may be an empty string. */
  description: Scalars['String']['output'];
  /** Whether delivery is active. */
  enabled: Scalars['Boolean']['output'];
  /** Subscribed event names; `null` means all current and future events. */
  eventTypes?: Maybe<Array<Scalars['String']['output']>>;
  id: Scalars['ID']['output'];
  updatedAt: Scalars['Date']['output'];
  /** Delivery URL (HTTPS). */
  url: Scalars['String']['output'];
};

export type WebhookEndpointPage = {
  __typename?: 'WebhookEndpointPage';
  data: Array<WebhookEndpoint>;
  /** `true` when there are no more pages. */
  done: Scalars['Boolean']['output'];
  /** Opaque cursor for the next page; `null` when `done` is `true`. */
  iterator?: Maybe<Scalars['String']['output']>;
};

/** An endpoint together with the signing secret that was just issued for it. */
export type WebhookEndpointSecret = {
  __typename?: 'WebhookEndpointSecret';
  endpoint: WebhookEndpoint;
  /** `whsec_` prefixed. Shown once. */
  signingSecret: Scalars['String']['output'];
};

/** An entry of the event catalog. */
export type WebhookEventType = {
  __typename?: 'WebhookEventType';
  description: Scalars['String']['output'];
  name: Scalars['String']['output'];
  /** Complete JSON Schema (Draft 7) of the payload. */
  payloadSchema: Scalars['JSON']['output'];
  /** Task status the event reports; an empty string for an event that is not about a task. */
  status: Scalars['String']['output'];
  /** Task types for which the event is emitted. */
  taskTypes: Array<Scalars['String']['output']>;
  /** Version of the payload's schema. */
  version: Scalars['String']['output'];
};

export type WorkArtifact = {
  __typename?: 'WorkArtifact';
  externalId: Scalars['String']['output'];
  id: Scalars['ID']['output'];
  metadata?: Maybe<Scalars['JSON']['output']>;
  name: Scalars['String']['output'];
  status: Scalars['String']['output'];
  type: Scalars['String']['output'];
  uploadedUrl?: Maybe<Scalars['String']['output']>;
};

/** One workspace represents one tax firm. */
export type Workspace = {
  __typename?: 'Workspace';
  /** One client, or `null` when the workspace has none with this id. */
  client?: Maybe<Client>;
  /** The clients of the workspace, newest first. Step `offset` until fewer than `limit` come back. */
  clients: Array<Client>;
  displayName?: Maybe<Scalars['String']['output']>;
  id: Scalars['ID']['output'];
  name?: Maybe<Scalars['String']['output']>;
  /** URL-friendly identifier, used for deep links. */
  slug?: Maybe<Scalars['String']['output']>;
  /** For example `active`. */
  status?: Maybe<Scalars['String']['output']>;
  /** The tasks of the workspace, newest first. Step `offset` until fewer than `limit` come back. */
  tasks: Array<Task>;
  /** The webhook endpoints of the workspace, a page at a time. */
  webhookEndpoints: WebhookEndpointPage;
  /** Set to `partner` for partner accounts. */
  workspaceType?: Maybe<Scalars['String']['output']>;
};


/** One workspace represents one tax firm. */
export type WorkspaceClientArgs = {
  id: Scalars['ID']['input'];
};


/** One workspace represents one tax firm. */
export type WorkspaceClientsArgs = {
  limit?: InputMaybe<Scalars['Int']['input']>;
  offset?: InputMaybe<Scalars['Int']['input']>;
};


/** One workspace represents one tax firm. */
export type WorkspaceTasksArgs = {
  filters?: InputMaybe<TaskFilters>;
  limit?: InputMaybe<Scalars['Int']['input']>;
  offset?: InputMaybe<Scalars['Int']['input']>;
};


/** One workspace represents one tax firm. */
export type WorkspaceWebhookEndpointsArgs = {
  iterator?: InputMaybe<Scalars['String']['input']>;
  limit?: InputMaybe<Scalars['Int']['input']>;
};

export type WorkspaceRole =
  | 'admin'
  | 'l1'
  | 'l2'
  | 'l3';

export type WorkspaceShortDetails = {
  __typename?: 'WorkspaceShortDetails';
  createdAt?: Maybe<Scalars['Date']['output']>;
  id: Scalars['ID']['output'];
  name: Scalars['String']['output'];
  status?: Maybe<Scalars['String']['output']>;
};

export type WorkspaceUser = {
  __typename?: 'WorkspaceUser';
  /** When the user was added to the workspace. */
  createdAt: Scalars['Date']['output'];
  /** Membership id linking the user to the workspace. */
  id: Scalars['ID']['output'];
  /** Role in the workspace. */
  role: WorkspaceRole;
  /** The underlying user account. */
  user: UserShortDetails;
  /** The workspace the token is scoped to. */
  workspace: Workspace;
};



export type ResolverTypeWrapper<T> = Promise<T> | T;


export type ResolverWithResolve<TResult, TParent, TContext, TArgs> = {
  resolve: ResolverFn<TResult, TParent, TContext, TArgs>;
};
export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs> | ResolverWithResolve<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Maybe<TTypes> | Promise<Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;



/** Mapping of union types */
export type ResolversUnionTypes<_RefType extends Record<string, unknown>> = {
  Me:
    | ( UserRecord )
    | ( MembershipRecord )
  ;
  TaskResult:
    | ( TaxPrepResult )
    | ( TaskUnknownResult )
  ;
};


/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  AccessTokens: ResolverTypeWrapper<AccessTokens>;
  AddClientDocumentsInput: AddClientDocumentsInput;
  AddedUser: ResolverTypeWrapper<AddedUser>;
  BeyondInterfaceSource: BeyondInterfaceSource;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  Client: ResolverTypeWrapper<ClientRecord>;
  ClientShortDetails: ResolverTypeWrapper<ClientRecord>;
  ConnectionJob: ResolverTypeWrapper<JobRecord>;
  CreateClientInput: CreateClientInput;
  CreateClientResult: ResolverTypeWrapper<Omit<CreateClientResult, 'client'> & { client: ResolversTypes['Client'] }>;
  CreateJobWorkArtifactsInput: CreateJobWorkArtifactsInput;
  CreateJobWorksInput: CreateJobWorksInput;
  CreateWebhookEndpointInput: CreateWebhookEndpointInput;
  CreateWorkspaceInput: CreateWorkspaceInput;
  Date: ResolverTypeWrapper<Scalars['Date']['output']>;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  JSON: ResolverTypeWrapper<Scalars['JSON']['output']>;
  JobArtifact: ResolverTypeWrapper<ArtifactRecord>;
  JobWork: ResolverTypeWrapper<JobWorkRecord>;
  Me: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['Me']>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  PartnerAccessToken: ResolverTypeWrapper<PartnerAccessToken>;
  ProviderConnection: ResolverTypeWrapper<ConnectionRecord>;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  RotateWebhookEndpointSecretInput: RotateWebhookEndpointSecretInput;
  RouterName: RouterName;
  StartedTask: ResolverTypeWrapper<StartedTask>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  SubTask: ResolverTypeWrapper<StageRecord>;
  Task: ResolverTypeWrapper<TaskRecord>;
  TaskAttribute: ResolverTypeWrapper<TaskAttribute>;
  TaskFilters: TaskFilters;
  TaskResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['TaskResult']>;
  TaskStatus: TaskStatus;
  TaskTaxPrepResult: ResolverTypeWrapper<TaxPrepResult>;
  TaskUnknownResult: ResolverTypeWrapper<TaskUnknownResult>;
  TaxPrepReviewItem: ResolverTypeWrapper<TaxPrepReviewItem>;
  TriggerTaxPrepInput: TriggerTaxPrepInput;
  UpdateWebhookEndpointInput: UpdateWebhookEndpointInput;
  User: ResolverTypeWrapper<UserRecord>;
  UserShortDetails: ResolverTypeWrapper<UserRecord>;
  WebhookEndpoint: ResolverTypeWrapper<WebhookEndpointRecord>;
  WebhookEndpointPage: ResolverTypeWrapper<Omit<WebhookEndpointPage, 'data'> & { data: Array<ResolversTypes['WebhookEndpoint']> }>;
  WebhookEndpointSecret: ResolverTypeWrapper<Omit<WebhookEndpointSecret, 'endpoint'> & { endpoint: ResolversTypes['WebhookEndpoint'] }>;
  WebhookEventType: ResolverTypeWrapper<WebhookEventType>;
  WorkArtifact: ResolverTypeWrapper<ArtifactRecord>;
  Workspace: ResolverTypeWrapper<WorkspaceRecord>;
  WorkspaceRole: WorkspaceRole;
  WorkspaceShortDetails: ResolverTypeWrapper<WorkspaceRecord>;
  WorkspaceUser: ResolverTypeWrapper<MembershipRecord>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  AccessTokens: AccessTokens;
  AddClientDocumentsInput: AddClientDocumentsInput;
  AddedUser: AddedUser;
  Boolean: Scalars['Boolean']['output'];
  Client: ClientRecord;
  ClientShortDetails: ClientRecord;
  ConnectionJob: JobRecord;
  CreateClientInput: CreateClientInput;
  CreateClientResult: Omit<CreateClientResult, 'client'> & { client: ResolversParentTypes['Client'] };
  CreateJobWorkArtifactsInput: CreateJobWorkArtifactsInput;
  CreateJobWorksInput: CreateJobWorksInput;
  CreateWebhookEndpointInput: CreateWebhookEndpointInput;
  CreateWorkspaceInput: CreateWorkspaceInput;
  Date: Scalars['Date']['output'];
  ID: Scalars['ID']['output'];
  Int: Scalars['Int']['output'];
  JSON: Scalars['JSON']['output'];
  JobArtifact: ArtifactRecord;
  JobWork: JobWorkRecord;
  Me: ResolversUnionTypes<ResolversParentTypes>['Me'];
  Mutation: Record<PropertyKey, never>;
  PartnerAccessToken: PartnerAccessToken;
  ProviderConnection: ConnectionRecord;
  Query: Record<PropertyKey, never>;
  RotateWebhookEndpointSecretInput: RotateWebhookEndpointSecretInput;
  StartedTask: StartedTask;
  String: Scalars['String']['output'];
  SubTask: StageRecord;
  Task: TaskRecord;
  TaskAttribute: TaskAttribute;
  TaskFilters: TaskFilters;
  TaskResult: ResolversUnionTypes<ResolversParentTypes>['TaskResult'];
  TaskTaxPrepResult: TaxPrepResult;
  TaskUnknownResult: TaskUnknownResult;
  TaxPrepReviewItem: TaxPrepReviewItem;
  TriggerTaxPrepInput: TriggerTaxPrepInput;
  UpdateWebhookEndpointInput: UpdateWebhookEndpointInput;
  User: UserRecord;
  UserShortDetails: UserRecord;
  WebhookEndpoint: WebhookEndpointRecord;
  WebhookEndpointPage: Omit<WebhookEndpointPage, 'data'> & { data: Array<ResolversParentTypes['WebhookEndpoint']> };
  WebhookEndpointSecret: Omit<WebhookEndpointSecret, 'endpoint'> & { endpoint: ResolversParentTypes['WebhookEndpoint'] };
  WebhookEventType: WebhookEventType;
  WorkArtifact: ArtifactRecord;
  Workspace: WorkspaceRecord;
  WorkspaceShortDetails: WorkspaceRecord;
  WorkspaceUser: MembershipRecord;
};

export type BeyondInterfaceDirectiveArgs = {
  note?: Maybe<Scalars['String']['input']>;
  source: BeyondInterfaceSource;
};

export type BeyondInterfaceDirectiveResolver<Result, Parent, ContextType = ResolverContext, Args = BeyondInterfaceDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type PublicDirectiveArgs = { };

export type PublicDirectiveResolver<Result, Parent, ContextType = ResolverContext, Args = PublicDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type RouterDirectiveArgs = {
  names: Array<RouterName>;
};

export type RouterDirectiveResolver<Result, Parent, ContextType = ResolverContext, Args = RouterDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type AccessTokensResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['AccessTokens'] = ResolversParentTypes['AccessTokens']> = {
  userToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  workspaceToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type AddedUserResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['AddedUser'] = ResolversParentTypes['AddedUser']> = {
  email?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  role?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ClientResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['Client'] = ResolversParentTypes['Client']> = {
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  externalId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  returnType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  tasks?: Resolver<Array<ResolversTypes['Task']>, ParentType, ContextType, RequireFields<ClientTasksArgs, 'limit'>>;
  taxYear?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type ClientShortDetailsResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['ClientShortDetails'] = ResolversParentTypes['ClientShortDetails']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ConnectionJobResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['ConnectionJob'] = ResolversParentTypes['ConnectionJob']> = {
  connectionId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  workspaceId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type CreateClientResultResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['CreateClientResult'] = ResolversParentTypes['CreateClientResult']> = {
  client?: Resolver<ResolversTypes['Client'], ParentType, ContextType>;
  taskId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
};

export interface DateScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['Date'], any> {
  name: 'Date';
}

export interface JsonScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSON'], any> {
  name: 'JSON';
}

export type JobArtifactResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['JobArtifact'] = ResolversParentTypes['JobArtifact']> = {
  artifactId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  connectionJobId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  jobWorkId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  workArtifact?: Resolver<ResolversTypes['WorkArtifact'], ParentType, ContextType>;
  workspaceId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type JobWorkResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['JobWork'] = ResolversParentTypes['JobWork']> = {
  connectionJobId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  workId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  workspaceId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type MeResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['Me'] = ResolversParentTypes['Me']> = {
  __resolveType: TypeResolveFn<'User' | 'WorkspaceUser', ParentType, ContextType>;
};

export type MutationResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  addClientDocuments?: Resolver<ResolversTypes['StartedTask'], ParentType, ContextType, RequireFields<MutationAddClientDocumentsArgs, 'input'>>;
  addUsersToTheWorkspace?: Resolver<Array<ResolversTypes['AddedUser']>, ParentType, ContextType, RequireFields<MutationAddUsersToTheWorkspaceArgs, 'userEmails' | 'workspaceId'>>;
  collectProviderConnection?: Resolver<ResolversTypes['ProviderConnection'], ParentType, ContextType, RequireFields<MutationCollectProviderConnectionArgs, 'connectionId'>>;
  createClient?: Resolver<ResolversTypes['CreateClientResult'], ParentType, ContextType, RequireFields<MutationCreateClientArgs, 'input'>>;
  createConnectionJob?: Resolver<ResolversTypes['ConnectionJob'], ParentType, ContextType, RequireFields<MutationCreateConnectionJobArgs, 'connectionId' | 'jobName'>>;
  createJobWorkArtifacts?: Resolver<Array<ResolversTypes['JobArtifact']>, ParentType, ContextType, RequireFields<MutationCreateJobWorkArtifactsArgs, 'inputs' | 'jobWorkId'>>;
  createJobWorks?: Resolver<Array<ResolversTypes['JobWork']>, ParentType, ContextType, RequireFields<MutationCreateJobWorksArgs, 'connectionJobId' | 'inputs'>>;
  createWebhookEndpoint?: Resolver<ResolversTypes['WebhookEndpointSecret'], ParentType, ContextType, RequireFields<MutationCreateWebhookEndpointArgs, 'input'>>;
  createWorkspace?: Resolver<ResolversTypes['Workspace'], ParentType, ContextType, RequireFields<MutationCreateWorkspaceArgs, 'input'>>;
  deleteWebhookEndpoint?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<MutationDeleteWebhookEndpointArgs, 'endpointId'>>;
  exchangeSurfaceRefreshTokenForAccessTokens?: Resolver<ResolversTypes['AccessTokens'], ParentType, ContextType, RequireFields<MutationExchangeSurfaceRefreshTokenForAccessTokensArgs, 'refreshToken'>>;
  initiateTaxPrepsImport?: Resolver<ResolversTypes['ConnectionJob'], ParentType, ContextType, RequireFields<MutationInitiateTaxPrepsImportArgs, 'connectionJobId'>>;
  loginViaPersonalApiToken?: Resolver<ResolversTypes['PartnerAccessToken'], ParentType, ContextType, RequireFields<MutationLoginViaPersonalApiTokenArgs, 'token'>>;
  rotateWebhookEndpointSecret?: Resolver<ResolversTypes['WebhookEndpointSecret'], ParentType, ContextType, RequireFields<MutationRotateWebhookEndpointSecretArgs, 'input'>>;
  startProviderConnection?: Resolver<ResolversTypes['ProviderConnection'], ParentType, ContextType, RequireFields<MutationStartProviderConnectionArgs, 'providerKey' | 'workspaceId'>>;
  triggerTaxPrep?: Resolver<ResolversTypes['StartedTask'], ParentType, ContextType, RequireFields<MutationTriggerTaxPrepArgs, 'input'>>;
  updateWebhookEndpoint?: Resolver<ResolversTypes['WebhookEndpoint'], ParentType, ContextType, RequireFields<MutationUpdateWebhookEndpointArgs, 'input'>>;
};

export type PartnerAccessTokenResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['PartnerAccessToken'] = ResolversParentTypes['PartnerAccessToken']> = {
  accessToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ProviderConnectionResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['ProviderConnection'] = ResolversParentTypes['ProviderConnection']> = {
  action?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  displayName?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  providerKey?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  settings?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  workspaceId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type QueryResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  me?: Resolver<Maybe<ResolversTypes['Me']>, ParentType, ContextType>;
  webhookEventCatalog?: Resolver<Array<ResolversTypes['WebhookEventType']>, ParentType, ContextType>;
};

export type StartedTaskResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['StartedTask'] = ResolversParentTypes['StartedTask']> = {
  taskId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type SubTaskResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['SubTask'] = ResolversParentTypes['SubTask']> = {
  completedAt?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  errorMessage?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['TaskStatus'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TaskResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['Task'] = ResolversParentTypes['Task']> = {
  attributes?: Resolver<Array<ResolversTypes['TaskAttribute']>, ParentType, ContextType>;
  client?: Resolver<Maybe<ResolversTypes['ClientShortDetails']>, ParentType, ContextType>;
  completedAt?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  errorMessage?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  result?: Resolver<ResolversTypes['TaskResult'], ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['TaskStatus'], ParentType, ContextType>;
  subTasks?: Resolver<Array<ResolversTypes['SubTask']>, ParentType, ContextType>;
  triggeredBy?: Resolver<Maybe<ResolversTypes['UserShortDetails']>, ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TaskAttributeResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['TaskAttribute'] = ResolversParentTypes['TaskAttribute']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TaskResultResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['TaskResult'] = ResolversParentTypes['TaskResult']> = {
  __resolveType: TypeResolveFn<'TaskTaxPrepResult' | 'TaskUnknownResult', ParentType, ContextType>;
};

export type TaskTaxPrepResultResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['TaskTaxPrepResult'] = ResolversParentTypes['TaskTaxPrepResult']> = {
  documentCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  extractedFormCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  returnType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  reviewItemCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  reviewItems?: Resolver<Array<ResolversTypes['TaxPrepReviewItem']>, ParentType, ContextType>;
  summary?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  taxYear?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type TaskUnknownResultResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['TaskUnknownResult'] = ResolversParentTypes['TaskUnknownResult']> = {
  taskType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type TaxPrepReviewItemResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['TaxPrepReviewItem'] = ResolversParentTypes['TaxPrepReviewItem']> = {
  category?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  severity?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type UserResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['User'] = ResolversParentTypes['User']> = {
  email?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  workspaces?: Resolver<Array<ResolversTypes['WorkspaceShortDetails']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type UserShortDetailsResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['UserShortDetails'] = ResolversParentTypes['UserShortDetails']> = {
  email?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  emailHash?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  novuHash?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WebhookEndpointResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['WebhookEndpoint'] = ResolversParentTypes['WebhookEndpoint']> = {
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  enabled?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  eventTypes?: Resolver<Maybe<Array<ResolversTypes['String']>>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type WebhookEndpointPageResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['WebhookEndpointPage'] = ResolversParentTypes['WebhookEndpointPage']> = {
  data?: Resolver<Array<ResolversTypes['WebhookEndpoint']>, ParentType, ContextType>;
  done?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  iterator?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WebhookEndpointSecretResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['WebhookEndpointSecret'] = ResolversParentTypes['WebhookEndpointSecret']> = {
  endpoint?: Resolver<ResolversTypes['WebhookEndpoint'], ParentType, ContextType>;
  signingSecret?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type WebhookEventTypeResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['WebhookEventType'] = ResolversParentTypes['WebhookEventType']> = {
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  payloadSchema?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  taskTypes?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
  version?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type WorkArtifactResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['WorkArtifact'] = ResolversParentTypes['WorkArtifact']> = {
  externalId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  metadata?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  uploadedUrl?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WorkspaceResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['Workspace'] = ResolversParentTypes['Workspace']> = {
  client?: Resolver<Maybe<ResolversTypes['Client']>, ParentType, ContextType, RequireFields<WorkspaceClientArgs, 'id'>>;
  clients?: Resolver<Array<ResolversTypes['Client']>, ParentType, ContextType, RequireFields<WorkspaceClientsArgs, 'limit' | 'offset'>>;
  displayName?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  slug?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tasks?: Resolver<Array<ResolversTypes['Task']>, ParentType, ContextType, RequireFields<WorkspaceTasksArgs, 'limit' | 'offset'>>;
  webhookEndpoints?: Resolver<ResolversTypes['WebhookEndpointPage'], ParentType, ContextType, RequireFields<WorkspaceWebhookEndpointsArgs, 'limit'>>;
  workspaceType?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WorkspaceShortDetailsResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['WorkspaceShortDetails'] = ResolversParentTypes['WorkspaceShortDetails']> = {
  createdAt?: Resolver<Maybe<ResolversTypes['Date']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WorkspaceUserResolvers<ContextType = ResolverContext, ParentType extends ResolversParentTypes['WorkspaceUser'] = ResolversParentTypes['WorkspaceUser']> = {
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  role?: Resolver<ResolversTypes['WorkspaceRole'], ParentType, ContextType>;
  user?: Resolver<ResolversTypes['UserShortDetails'], ParentType, ContextType>;
  workspace?: Resolver<ResolversTypes['Workspace'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type Resolvers<ContextType = ResolverContext> = {
  AccessTokens?: AccessTokensResolvers<ContextType>;
  AddedUser?: AddedUserResolvers<ContextType>;
  Client?: ClientResolvers<ContextType>;
  ClientShortDetails?: ClientShortDetailsResolvers<ContextType>;
  ConnectionJob?: ConnectionJobResolvers<ContextType>;
  CreateClientResult?: CreateClientResultResolvers<ContextType>;
  Date?: GraphQLScalarType;
  JSON?: GraphQLScalarType;
  JobArtifact?: JobArtifactResolvers<ContextType>;
  JobWork?: JobWorkResolvers<ContextType>;
  Me?: MeResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  PartnerAccessToken?: PartnerAccessTokenResolvers<ContextType>;
  ProviderConnection?: ProviderConnectionResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  StartedTask?: StartedTaskResolvers<ContextType>;
  SubTask?: SubTaskResolvers<ContextType>;
  Task?: TaskResolvers<ContextType>;
  TaskAttribute?: TaskAttributeResolvers<ContextType>;
  TaskResult?: TaskResultResolvers<ContextType>;
  TaskTaxPrepResult?: TaskTaxPrepResultResolvers<ContextType>;
  TaskUnknownResult?: TaskUnknownResultResolvers<ContextType>;
  TaxPrepReviewItem?: TaxPrepReviewItemResolvers<ContextType>;
  User?: UserResolvers<ContextType>;
  UserShortDetails?: UserShortDetailsResolvers<ContextType>;
  WebhookEndpoint?: WebhookEndpointResolvers<ContextType>;
  WebhookEndpointPage?: WebhookEndpointPageResolvers<ContextType>;
  WebhookEndpointSecret?: WebhookEndpointSecretResolvers<ContextType>;
  WebhookEventType?: WebhookEventTypeResolvers<ContextType>;
  WorkArtifact?: WorkArtifactResolvers<ContextType>;
  Workspace?: WorkspaceResolvers<ContextType>;
  WorkspaceShortDetails?: WorkspaceShortDetailsResolvers<ContextType>;
  WorkspaceUser?: WorkspaceUserResolvers<ContextType>;
};

export type DirectiveResolvers<ContextType = ResolverContext> = {
  beyondInterface?: BeyondInterfaceDirectiveResolver<any, any, ContextType>;
  public?: PublicDirectiveResolver<any, any, ContextType>;
  router?: RouterDirectiveResolver<any, any, ContextType>;
};
