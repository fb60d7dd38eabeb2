import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { WorkspaceRecord, MembershipRecord, UserRecord, WebhookEndpointRecord, ConnectionRecord, JobRecord, JobWorkRecord, ArtifactRecord, ClientRecord, TaskRecord, StageRecord } from '../state/records.ts';
import type { TaxPrepResult } from '@workspace-tasks/events/fields';
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
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
  readonly __typename?: 'AccessTokens';
  /** Identifies the key's owner account-wide, not tied to a workspace. */
  readonly userToken: Scalars['String']['output'];
  /** The same user scoped to the key's workspace, with the key's access level. Used for API calls. */
  readonly workspaceToken: Scalars['String']['output'];
};

export type AddClientDocumentsInput = {
  readonly clientId: Scalars['ID']['input'];
  readonly uploadIds: ReadonlyArray<Scalars['ID']['input']>;
};

export type AddedUser = {
  readonly __typename?: 'AddedUser';
  readonly email: Scalars['String']['output'];
  readonly id: Scalars['ID']['output'];
  readonly name: Maybe<Scalars['String']['output']>;
  readonly role: Scalars['String']['output'];
};

export type BeyondInterfaceSource =
  /** Not documented: the simplest type that fits the rest. */
  | 'ASSUMED'
  /** Shown by the service's public documentation, in a version older than webhooks. */
  | 'DOCUMENTED';

/** One client of the tax firm. */
export type Client = {
  readonly __typename?: 'Client';
  readonly createdAt: Scalars['Date']['output'];
  /** Unique in the workspace. */
  readonly externalId: Scalars['String']['output'];
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  /** For example `F1040`, `F1041`, `F1065`, `F1120`, `F1120S`, `F990`. */
  readonly returnType: Scalars['String']['output'];
  readonly status: Scalars['String']['output'];
  readonly tasks: ReadonlyArray<Task>;
  readonly taxYear: Scalars['Int']['output'];
};


/** One client of the tax firm. */
export type ClientTasksArgs = {
  limit?: InputMaybe<Scalars['Int']['input']>;
  status?: InputMaybe<TaskStatus>;
  triggeredBy?: InputMaybe<Scalars['ID']['input']>;
  type?: InputMaybe<Scalars['String']['input']>;
};

export type ClientShortDetails = {
  readonly __typename?: 'ClientShortDetails';
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
};

export type ConnectionJob = {
  readonly __typename?: 'ConnectionJob';
  readonly connectionId: Scalars['ID']['output'];
  readonly createdAt: Scalars['Date']['output'];
  /** Used to attach works and to start the import. */
  readonly id: Scalars['ID']['output'];
  /** The `jobName` supplied. */
  readonly name: Scalars['String']['output'];
  /** For example `pending`, `active`, `completed`. */
  readonly status: Scalars['String']['output'];
  readonly updatedAt: Scalars['Date']['output'];
  readonly workspaceId: Scalars['ID']['output'];
};

export type CreateClientInput = {
  readonly externalId: Scalars['String']['input'];
  readonly name: Scalars['String']['input'];
  readonly returnType: Scalars['String']['input'];
  readonly taxYear: Scalars['Int']['input'];
  readonly uploadIds?: InputMaybe<ReadonlyArray<Scalars['ID']['input']>>;
};

export type CreateClientResult = {
  readonly __typename?: 'CreateClientResult';
  readonly client: Client;
  /** The `BINDER` task; `null` when no `uploadIds` were given. */
  readonly taskId: Maybe<Scalars['ID']['output']>;
};

export type CreateJobWorkArtifactsInput = {
  readonly externalId: Scalars['String']['input'];
  readonly metadata?: InputMaybe<Scalars['JSON']['input']>;
  readonly name: Scalars['String']['input'];
  /** Free text: `w2`, `1099`, `receipt` … */
  readonly type: Scalars['String']['input'];
  readonly url?: InputMaybe<Scalars['String']['input']>;
};

export type CreateJobWorksInput = {
  /** The calling platform's client identifier; unique per connection. */
  readonly externalId: Scalars['String']['input'];
  /** A label for the client's tax preparation. */
  readonly name: Scalars['String']['input'];
};

export type CreateWebhookEndpointInput = {
  /** Omitted or `null` becomes an empty string. */
  readonly description?: InputMaybe<Scalars['String']['input']>;
  /**
   * Omitted or `null`: all current and future events. An empty list is invalid, duplicates are removed,
   * each name must exist in the catalog.
   */
  readonly eventTypes?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** HTTPS delivery URL. */
  readonly url: Scalars['String']['input'];
};

export type CreateWorkspaceInput = {
  /** Name of the tax firm; must not be blank. */
  readonly displayName: Scalars['String']['input'];
  /** `xs`, `sm`, `md`, `lg` or `xl`. */
  readonly firmSize?: InputMaybe<Scalars['String']['input']>;
  /** An object with customer and partner references. */
  readonly metadata?: InputMaybe<Scalars['JSON']['input']>;
};

export type JobArtifact = {
  readonly __typename?: 'JobArtifact';
  readonly artifactId: Scalars['ID']['output'];
  readonly connectionJobId: Scalars['ID']['output'];
  readonly createdAt: Scalars['Date']['output'];
  readonly id: Scalars['ID']['output'];
  readonly jobWorkId: Scalars['ID']['output'];
  readonly updatedAt: Scalars['Date']['output'];
  readonly workArtifact: WorkArtifact;
  readonly workspaceId: Scalars['ID']['output'];
};

export type JobWork = {
  readonly __typename?: 'JobWork';
  readonly connectionJobId: Scalars['ID']['output'];
  readonly createdAt: Scalars['Date']['output'];
  /** Used when attaching artifacts. */
  readonly id: Scalars['ID']['output'];
  readonly updatedAt: Scalars['Date']['output'];
  /** The work this job work references. */
  readonly workId: Scalars['ID']['output'];
  readonly workspaceId: Scalars['ID']['output'];
};

export type Me = User | WorkspaceUser;

export type Mutation = {
  readonly __typename?: 'Mutation';
  /** Adds uploaded documents to a client and starts a `BINDER` task on them. */
  readonly addClientDocuments: StartedTask;
  /** Adds users to a workspace at once, without an invitation; an existing account is attached. */
  readonly addUsersToTheWorkspace: ReadonlyArray<AddedUser>;
  /** Tests the credentials of the start step against the partner platform; the result sets the status. */
  readonly collectProviderConnection: ProviderConnection;
  /** Adds a client of the tax firm. With `uploadIds` a `BINDER` task starts on those documents. */
  readonly createClient: CreateClientResult;
  /** Creates a job on an existing, `active` provider connection. */
  readonly createConnectionJob: ConnectionJob;
  /** Attaches files to a job work. */
  readonly createJobWorkArtifacts: ReadonlyArray<JobArtifact>;
  /** Attaches works, one per client tax preparation, to a job that still accepts them. All or nothing. */
  readonly createJobWorks: ReadonlyArray<JobWork>;
  /** Registers a delivery URL. The signing secret is returned here and by rotation, nowhere else. */
  readonly createWebhookEndpoint: WebhookEndpointSecret;
  /** Creates one workspace per tax firm. */
  readonly createWorkspace: Workspace;
  /** Ends delivery to an endpoint. Returns `true`. */
  readonly deleteWebhookEndpoint: Scalars['Boolean']['output'];
  /**
   * Exchanges a long-lived API key for short-lived access tokens. Public, and not counted against the
   * rate limit.
   */
  readonly exchangeSurfaceRefreshTokenForAccessTokens: Maybe<AccessTokens>;
  /** Starts the import of a job: clients, documents and `TAX_PREP` tasks follow. */
  readonly initiateTaxPrepsImport: ConnectionJob;
  /** Exchanges a partner key for a gateway token. No Bearer token; not for workspace keys. */
  readonly loginViaPersonalApiToken: PartnerAccessToken;
  /** Issues a new signing secret; the old one verifies until the grace period ends. */
  readonly rotateWebhookEndpointSecret: WebhookEndpointSecret;
  /** Begins a provider connection with the credentials of the partner platform. */
  readonly startProviderConnection: ProviderConnection;
  /** Starts a `TAX_PREP` task for a client. */
  readonly triggerTaxPrep: StartedTask;
  /** Patches an endpoint: an omitted field differs from an explicit `null`. */
  readonly updateWebhookEndpoint: WebhookEndpoint;
};


export type MutationAddClientDocumentsArgs = {
  input: AddClientDocumentsInput;
};


export type MutationAddUsersToTheWorkspaceArgs = {
  userEmails: ReadonlyArray<Scalars['String']['input']>;
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
  inputs: ReadonlyArray<CreateJobWorkArtifactsInput>;
  jobWorkId: Scalars['ID']['input'];
};


export type MutationCreateJobWorksArgs = {
  connectionJobId: Scalars['ID']['input'];
  inputs: ReadonlyArray<CreateJobWorksInput>;
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
  readonly __typename?: 'PartnerAccessToken';
  /** Reaches every workspace that the partner created. */
  readonly accessToken: Scalars['String']['output'];
};

export type ProviderConnection = {
  readonly __typename?: 'ProviderConnection';
  /** The next step to take, for example `collect`. */
  readonly action: Maybe<Scalars['String']['output']>;
  readonly createdAt: Scalars['Date']['output'];
  readonly displayName: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['ID']['output'];
  /** The partner key used for the connection. */
  readonly providerKey: Scalars['String']['output'];
  /** Stored configuration; echoes the `inputs` supplied. */
  readonly settings: Maybe<Scalars['JSON']['output']>;
  /** `pending`, then `active` when verification succeeds, otherwise an error state. */
  readonly status: Scalars['String']['output'];
  readonly updatedAt: Scalars['Date']['output'];
  readonly workspaceId: Scalars['ID']['output'];
};

export type Query = {
  readonly __typename?: 'Query';
  /** Who the token acts as: `WorkspaceUser` for a `workspaceToken`, `User` for a `userToken`. */
  readonly me: Maybe<Me>;
  /** Every event the service can deliver. Public: no token, no workspace. */
  readonly webhookEventCatalog: ReadonlyArray<WebhookEventType>;
};

export type RotateWebhookEndpointSecretInput = {
  readonly endpointId: Scalars['ID']['input'];
  /** Seconds during which the old and the new secret both verify: 0 to 604800. */
  readonly gracePeriodSeconds?: InputMaybe<Scalars['Int']['input']>;
};

export type RouterName =
  /** `{base_url}/graphql`: tokens, identity, webhooks, tasks, clients. */
  | 'BASE'
  /** `{gateway_url}/graphql`: partner operations. */
  | 'GATEWAY';

export type StartedTask = {
  readonly __typename?: 'StartedTask';
  readonly taskId: Scalars['ID']['output'];
};

/** A stage of a task. */
export type SubTask = {
  readonly __typename?: 'SubTask';
  readonly completedAt: Maybe<Scalars['String']['output']>;
  readonly errorMessage: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly startedAt: Scalars['String']['output'];
  readonly status: TaskStatus;
  /** Free text: an unrecognised stage is informational, not an error. */
  readonly type: Scalars['String']['output'];
};

export type Task = {
  readonly __typename?: 'Task';
  readonly attributes: ReadonlyArray<TaskAttribute>;
  readonly client: Maybe<ClientShortDetails>;
  /** ISO 8601; `null` while the task runs. */
  readonly completedAt: Maybe<Scalars['String']['output']>;
  readonly errorMessage: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly result: TaskResult;
  /** ISO 8601. */
  readonly startedAt: Scalars['String']['output'];
  readonly status: TaskStatus;
  /** The stages of the task, in the order in which they started. */
  readonly subTasks: ReadonlyArray<SubTask>;
  readonly triggeredBy: Maybe<UserShortDetails>;
  /** An open set: the five types of the event catalog, and more. */
  readonly type: Scalars['String']['output'];
};

export type TaskAttribute = {
  readonly __typename?: 'TaskAttribute';
  readonly name: Scalars['String']['output'];
  readonly value: Scalars['String']['output'];
};

/** Every given filter must match; within one filter any value does. */
export type TaskFilters = {
  readonly clientIds?: InputMaybe<ReadonlyArray<Scalars['ID']['input']>>;
  readonly ids?: InputMaybe<ReadonlyArray<Scalars['ID']['input']>>;
  readonly statuses?: InputMaybe<ReadonlyArray<TaskStatus>>;
  readonly types?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
};

/** `TaskUnknownResult` is the fallback; always handle it. */
export type TaskResult = TaskTaxPrepResult | TaskUnknownResult;

export type TaskStatus =
  | 'COMPLETED'
  | 'FAILED'
  | 'RUNNING';

export type TaskTaxPrepResult = {
  readonly __typename?: 'TaskTaxPrepResult';
  readonly documentCount: Scalars['Int']['output'];
  readonly extractedFormCount: Scalars['Int']['output'];
  readonly returnType: Scalars['String']['output'];
  readonly reviewItemCount: Scalars['Int']['output'];
  readonly reviewItems: ReadonlyArray<TaxPrepReviewItem>;
  readonly summary: Scalars['String']['output'];
  readonly taxYear: Scalars['Int']['output'];
};

export type TaskUnknownResult = {
  readonly __typename?: 'TaskUnknownResult';
  /** The task's type. */
  readonly taskType: Scalars['String']['output'];
};

export type TaxPrepReviewItem = {
  readonly __typename?: 'TaxPrepReviewItem';
  readonly category: Scalars['String']['output'];
  readonly description: Scalars['String']['output'];
  readonly severity: Scalars['String']['output'];
};

export type TriggerTaxPrepInput = {
  readonly clientId: Scalars['ID']['input'];
  readonly returnType: Scalars['String']['input'];
};

/** At least one of the optional fields must be present. */
export type UpdateWebhookEndpointInput = {
  /** `null` or an empty string clears; omitted leaves it unchanged. */
  readonly description?: InputMaybe<Scalars['String']['input']>;
  /** `true` enables, `false` pauses; omitted or `null` leaves it unchanged. */
  readonly enabled?: InputMaybe<Scalars['Boolean']['input']>;
  readonly endpointId: Scalars['ID']['input'];
  /** `null` resets to all current and future events; omitted leaves it unchanged; an empty list is invalid. */
  readonly eventTypes?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Omitted or `null` leaves it unchanged. */
  readonly url?: InputMaybe<Scalars['String']['input']>;
};

/** The account-wide user: `me` for a `userToken`. */
export type User = {
  readonly __typename?: 'User';
  readonly email: Scalars['String']['output'];
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly workspaces: ReadonlyArray<WorkspaceShortDetails>;
};

export type UserShortDetails = {
  readonly __typename?: 'UserShortDetails';
  readonly email: Scalars['String']['output'];
  /** Serves the vendor's own in-product integrations; may be ignored. */
  readonly emailHash: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  /** Serves the vendor's own in-product integrations; may be ignored. */
  readonly novuHash: Maybe<Scalars['String']['output']>;
};

export type WebhookEndpoint = {
  readonly __typename?: 'WebhookEndpoint';
  readonly createdAt: Scalars['Date']['output'];
  /** Label; may be an empty string. */
  readonly description: Scalars['String']['output'];
  /** Whether delivery is active. */
  readonly enabled: Scalars['Boolean']['output'];
  /** Subscribed event names; `null` means all current and future events. */
  readonly eventTypes: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  readonly id: Scalars['ID']['output'];
  readonly updatedAt: Scalars['Date']['output'];
  /** Delivery URL (HTTPS). */
  readonly url: Scalars['String']['output'];
};

export type WebhookEndpointPage = {
  readonly __typename?: 'WebhookEndpointPage';
  readonly data: ReadonlyArray<WebhookEndpoint>;
  /** `true` when there are no more pages. */
  readonly done: Scalars['Boolean']['output'];
  /** Opaque cursor for the next page; `null` when `done` is `true`. */
  readonly iterator: Maybe<Scalars['String']['output']>;
};

/** An endpoint together with the signing secret that was just issued for it. */
export type WebhookEndpointSecret = {
  readonly __typename?: 'WebhookEndpointSecret';
  readonly endpoint: WebhookEndpoint;
  /** `whsec_` prefixed. Shown once. */
  readonly signingSecret: Scalars['String']['output'];
};

/** An entry of the event catalog. */
export type WebhookEventType = {
  readonly __typename?: 'WebhookEventType';
  readonly description: Scalars['String']['output'];
  readonly name: Scalars['String']['output'];
  /** Complete JSON Schema (Draft 7) of the payload. */
  readonly payloadSchema: Scalars['JSON']['output'];
  /** Task status the event reports; an empty string for an event that is not about a task. */
  readonly status: Scalars['String']['output'];
  /** Task types for which the event is emitted. */
  readonly taskTypes: ReadonlyArray<Scalars['String']['output']>;
  /** Version of the payload's schema. */
  readonly version: Scalars['String']['output'];
};

export type WorkArtifact = {
  readonly __typename?: 'WorkArtifact';
  readonly externalId: Scalars['String']['output'];
  readonly id: Scalars['ID']['output'];
  readonly metadata: Maybe<Scalars['JSON']['output']>;
  readonly name: Scalars['String']['output'];
  readonly status: Scalars['String']['output'];
  readonly type: Scalars['String']['output'];
  readonly uploadedUrl: Maybe<Scalars['String']['output']>;
};

/** One workspace represents one tax firm. */
export type Workspace = {
  readonly __typename?: 'Workspace';
  /** One client, or `null` when the workspace has none with this id. */
  readonly client: Maybe<Client>;
  /** The clients of the workspace, newest first. Step `offset` until fewer than `limit` come back. */
  readonly clients: ReadonlyArray<Client>;
  readonly displayName: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly name: Maybe<Scalars['String']['output']>;
  /** URL-friendly identifier, used for deep links. */
  readonly slug: Maybe<Scalars['String']['output']>;
  /** For example `active`. */
  readonly status: Maybe<Scalars['String']['output']>;
  /** The tasks of the workspace, newest first. Step `offset` until fewer than `limit` come back. */
  readonly tasks: ReadonlyArray<Task>;
  /** The webhook endpoints of the workspace, a page at a time. */
  readonly webhookEndpoints: WebhookEndpointPage;
  /** Set to `partner` for partner accounts. */
  readonly workspaceType: Maybe<Scalars['String']['output']>;
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
  readonly __typename?: 'WorkspaceShortDetails';
  readonly createdAt: Maybe<Scalars['Date']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly status: Maybe<Scalars['String']['output']>;
};

export type WorkspaceUser = {
  readonly __typename?: 'WorkspaceUser';
  /** When the user was added to the workspace. */
  readonly createdAt: Scalars['Date']['output'];
  /** Membership id linking the user to the workspace. */
  readonly id: Scalars['ID']['output'];
  /** Role in the workspace. */
  readonly role: WorkspaceRole;
  /** The underlying user account. */
  readonly user: UserShortDetails;
  /** The workspace the token is scoped to. */
  readonly workspace: Workspace;
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
  WebhookEndpointPage: ResolverTypeWrapper<Omit<WebhookEndpointPage, 'data'> & { data: ReadonlyArray<ResolversTypes['WebhookEndpoint']> }>;
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
  WebhookEndpointPage: Omit<WebhookEndpointPage, 'data'> & { data: ReadonlyArray<ResolversParentTypes['WebhookEndpoint']> };
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

export type BeyondInterfaceDirectiveResolver<Result, Parent, ContextType = any, Args = BeyondInterfaceDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type PublicDirectiveArgs = { };

export type PublicDirectiveResolver<Result, Parent, ContextType = any, Args = PublicDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type RouterDirectiveArgs = {
  names: ReadonlyArray<RouterName>;
};

export type RouterDirectiveResolver<Result, Parent, ContextType = any, Args = RouterDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type AccessTokensResolvers<ContextType = any, ParentType extends ResolversParentTypes['AccessTokens'] = ResolversParentTypes['AccessTokens']> = {
  userToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  workspaceToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type AddedUserResolvers<ContextType = any, ParentType extends ResolversParentTypes['AddedUser'] = ResolversParentTypes['AddedUser']> = {
  email?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  role?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ClientResolvers<ContextType = any, ParentType extends ResolversParentTypes['Client'] = ResolversParentTypes['Client']> = {
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  externalId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  returnType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  tasks?: Resolver<ReadonlyArray<ResolversTypes['Task']>, ParentType, ContextType, RequireFields<ClientTasksArgs, 'limit'>>;
  taxYear?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type ClientShortDetailsResolvers<ContextType = any, ParentType extends ResolversParentTypes['ClientShortDetails'] = ResolversParentTypes['ClientShortDetails']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ConnectionJobResolvers<ContextType = any, ParentType extends ResolversParentTypes['ConnectionJob'] = ResolversParentTypes['ConnectionJob']> = {
  connectionId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  workspaceId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type CreateClientResultResolvers<ContextType = any, ParentType extends ResolversParentTypes['CreateClientResult'] = ResolversParentTypes['CreateClientResult']> = {
  client?: Resolver<ResolversTypes['Client'], ParentType, ContextType>;
  taskId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
};

export interface DateScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['Date'], any> {
  name: 'Date';
}

export interface JsonScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSON'], any> {
  name: 'JSON';
}

export type JobArtifactResolvers<ContextType = any, ParentType extends ResolversParentTypes['JobArtifact'] = ResolversParentTypes['JobArtifact']> = {
  artifactId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  connectionJobId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  jobWorkId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  workArtifact?: Resolver<ResolversTypes['WorkArtifact'], ParentType, ContextType>;
  workspaceId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type JobWorkResolvers<ContextType = any, ParentType extends ResolversParentTypes['JobWork'] = ResolversParentTypes['JobWork']> = {
  connectionJobId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  workId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  workspaceId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type MeResolvers<ContextType = any, ParentType extends ResolversParentTypes['Me'] = ResolversParentTypes['Me']> = {
  __resolveType: TypeResolveFn<'User' | 'WorkspaceUser', ParentType, ContextType>;
};

export type MutationResolvers<ContextType = any, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  addClientDocuments?: Resolver<ResolversTypes['StartedTask'], ParentType, ContextType, RequireFields<MutationAddClientDocumentsArgs, 'input'>>;
  addUsersToTheWorkspace?: Resolver<ReadonlyArray<ResolversTypes['AddedUser']>, ParentType, ContextType, RequireFields<MutationAddUsersToTheWorkspaceArgs, 'userEmails' | 'workspaceId'>>;
  collectProviderConnection?: Resolver<ResolversTypes['ProviderConnection'], ParentType, ContextType, RequireFields<MutationCollectProviderConnectionArgs, 'connectionId'>>;
  createClient?: Resolver<ResolversTypes['CreateClientResult'], ParentType, ContextType, RequireFields<MutationCreateClientArgs, 'input'>>;
  createConnectionJob?: Resolver<ResolversTypes['ConnectionJob'], ParentType, ContextType, RequireFields<MutationCreateConnectionJobArgs, 'connectionId' | 'jobName'>>;
  createJobWorkArtifacts?: Resolver<ReadonlyArray<ResolversTypes['JobArtifact']>, ParentType, ContextType, RequireFields<MutationCreateJobWorkArtifactsArgs, 'inputs' | 'jobWorkId'>>;
  createJobWorks?: Resolver<ReadonlyArray<ResolversTypes['JobWork']>, ParentType, ContextType, RequireFields<MutationCreateJobWorksArgs, 'connectionJobId' | 'inputs'>>;
  createWebhookEndpoint?: Resolver<ResolversTypes['WebhookEndpointSecret'], ParentType, ContextType, RequireFields<MutationCreateWebhookEndpointArgs, 'input'>>;
  createWorkspace?: Resolver<ResolversTypes['Workspace'], ParentType, ContextType, RequireFields<MutationCreateWorkspaceArgs, 'input'>>;
  deleteWebhookEndpoint?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<MutationDeleteWebhookEndpointArgs, 'endpointId'>>;
  exchangeSurfaceRefreshTokenForAccessTokens?: Resolver<Maybe<ResolversTypes['AccessTokens']>, ParentType, ContextType, RequireFields<MutationExchangeSurfaceRefreshTokenForAccessTokensArgs, 'refreshToken'>>;
  initiateTaxPrepsImport?: Resolver<ResolversTypes['ConnectionJob'], ParentType, ContextType, RequireFields<MutationInitiateTaxPrepsImportArgs, 'connectionJobId'>>;
  loginViaPersonalApiToken?: Resolver<ResolversTypes['PartnerAccessToken'], ParentType, ContextType, RequireFields<MutationLoginViaPersonalApiTokenArgs, 'token'>>;
  rotateWebhookEndpointSecret?: Resolver<ResolversTypes['WebhookEndpointSecret'], ParentType, ContextType, RequireFields<MutationRotateWebhookEndpointSecretArgs, 'input'>>;
  startProviderConnection?: Resolver<ResolversTypes['ProviderConnection'], ParentType, ContextType, RequireFields<MutationStartProviderConnectionArgs, 'providerKey' | 'workspaceId'>>;
  triggerTaxPrep?: Resolver<ResolversTypes['StartedTask'], ParentType, ContextType, RequireFields<MutationTriggerTaxPrepArgs, 'input'>>;
  updateWebhookEndpoint?: Resolver<ResolversTypes['WebhookEndpoint'], ParentType, ContextType, RequireFields<MutationUpdateWebhookEndpointArgs, 'input'>>;
};

export type PartnerAccessTokenResolvers<ContextType = any, ParentType extends ResolversParentTypes['PartnerAccessToken'] = ResolversParentTypes['PartnerAccessToken']> = {
  accessToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ProviderConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['ProviderConnection'] = ResolversParentTypes['ProviderConnection']> = {
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

export type QueryResolvers<ContextType = any, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  me?: Resolver<Maybe<ResolversTypes['Me']>, ParentType, ContextType>;
  webhookEventCatalog?: Resolver<ReadonlyArray<ResolversTypes['WebhookEventType']>, ParentType, ContextType>;
};

export type StartedTaskResolvers<ContextType = any, ParentType extends ResolversParentTypes['StartedTask'] = ResolversParentTypes['StartedTask']> = {
  taskId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type SubTaskResolvers<ContextType = any, ParentType extends ResolversParentTypes['SubTask'] = ResolversParentTypes['SubTask']> = {
  completedAt?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  errorMessage?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['TaskStatus'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TaskResolvers<ContextType = any, ParentType extends ResolversParentTypes['Task'] = ResolversParentTypes['Task']> = {
  attributes?: Resolver<ReadonlyArray<ResolversTypes['TaskAttribute']>, ParentType, ContextType>;
  client?: Resolver<Maybe<ResolversTypes['ClientShortDetails']>, ParentType, ContextType>;
  completedAt?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  errorMessage?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  result?: Resolver<ResolversTypes['TaskResult'], ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['TaskStatus'], ParentType, ContextType>;
  subTasks?: Resolver<ReadonlyArray<ResolversTypes['SubTask']>, ParentType, ContextType>;
  triggeredBy?: Resolver<Maybe<ResolversTypes['UserShortDetails']>, ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TaskAttributeResolvers<ContextType = any, ParentType extends ResolversParentTypes['TaskAttribute'] = ResolversParentTypes['TaskAttribute']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TaskResultResolvers<ContextType = any, ParentType extends ResolversParentTypes['TaskResult'] = ResolversParentTypes['TaskResult']> = {
  __resolveType: TypeResolveFn<'TaskTaxPrepResult' | 'TaskUnknownResult', ParentType, ContextType>;
};

export type TaskTaxPrepResultResolvers<ContextType = any, ParentType extends ResolversParentTypes['TaskTaxPrepResult'] = ResolversParentTypes['TaskTaxPrepResult']> = {
  documentCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  extractedFormCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  returnType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  reviewItemCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  reviewItems?: Resolver<ReadonlyArray<ResolversTypes['TaxPrepReviewItem']>, ParentType, ContextType>;
  summary?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  taxYear?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type TaskUnknownResultResolvers<ContextType = any, ParentType extends ResolversParentTypes['TaskUnknownResult'] = ResolversParentTypes['TaskUnknownResult']> = {
  taskType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type TaxPrepReviewItemResolvers<ContextType = any, ParentType extends ResolversParentTypes['TaxPrepReviewItem'] = ResolversParentTypes['TaxPrepReviewItem']> = {
  category?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  severity?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type UserResolvers<ContextType = any, ParentType extends ResolversParentTypes['User'] = ResolversParentTypes['User']> = {
  email?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  workspaces?: Resolver<ReadonlyArray<ResolversTypes['WorkspaceShortDetails']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type UserShortDetailsResolvers<ContextType = any, ParentType extends ResolversParentTypes['UserShortDetails'] = ResolversParentTypes['UserShortDetails']> = {
  email?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  emailHash?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  novuHash?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WebhookEndpointResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookEndpoint'] = ResolversParentTypes['WebhookEndpoint']> = {
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  enabled?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  eventTypes?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type WebhookEndpointPageResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookEndpointPage'] = ResolversParentTypes['WebhookEndpointPage']> = {
  data?: Resolver<ReadonlyArray<ResolversTypes['WebhookEndpoint']>, ParentType, ContextType>;
  done?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  iterator?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WebhookEndpointSecretResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookEndpointSecret'] = ResolversParentTypes['WebhookEndpointSecret']> = {
  endpoint?: Resolver<ResolversTypes['WebhookEndpoint'], ParentType, ContextType>;
  signingSecret?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type WebhookEventTypeResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookEventType'] = ResolversParentTypes['WebhookEventType']> = {
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  payloadSchema?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  taskTypes?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  version?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type WorkArtifactResolvers<ContextType = any, ParentType extends ResolversParentTypes['WorkArtifact'] = ResolversParentTypes['WorkArtifact']> = {
  externalId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  metadata?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  uploadedUrl?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WorkspaceResolvers<ContextType = any, ParentType extends ResolversParentTypes['Workspace'] = ResolversParentTypes['Workspace']> = {
  client?: Resolver<Maybe<ResolversTypes['Client']>, ParentType, ContextType, RequireFields<WorkspaceClientArgs, 'id'>>;
  clients?: Resolver<ReadonlyArray<ResolversTypes['Client']>, ParentType, ContextType, RequireFields<WorkspaceClientsArgs, 'limit' | 'offset'>>;
  displayName?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  slug?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tasks?: Resolver<ReadonlyArray<ResolversTypes['Task']>, ParentType, ContextType, RequireFields<WorkspaceTasksArgs, 'limit' | 'offset'>>;
  webhookEndpoints?: Resolver<ResolversTypes['WebhookEndpointPage'], ParentType, ContextType, RequireFields<WorkspaceWebhookEndpointsArgs, 'limit'>>;
  workspaceType?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WorkspaceShortDetailsResolvers<ContextType = any, ParentType extends ResolversParentTypes['WorkspaceShortDetails'] = ResolversParentTypes['WorkspaceShortDetails']> = {
  createdAt?: Resolver<Maybe<ResolversTypes['Date']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WorkspaceUserResolvers<ContextType = any, ParentType extends ResolversParentTypes['WorkspaceUser'] = ResolversParentTypes['WorkspaceUser']> = {
  createdAt?: Resolver<ResolversTypes['Date'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  role?: Resolver<ResolversTypes['WorkspaceRole'], ParentType, ContextType>;
  user?: Resolver<ResolversTypes['UserShortDetails'], ParentType, ContextType>;
  workspace?: Resolver<ResolversTypes['Workspace'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type Resolvers<ContextType = any> = {
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

export type DirectiveResolvers<ContextType = any> = {
  beyondInterface?: BeyondInterfaceDirectiveResolver<any, any, ContextType>;
  public?: PublicDirectiveResolver<any, any, ContextType>;
  router?: RouterDirectiveResolver<any, any, ContextType>;
};
