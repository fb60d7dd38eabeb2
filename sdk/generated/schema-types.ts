export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null;
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
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
};

export type ConnectionJob = {
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
  /** Reaches every workspace that the partner created. */
  readonly accessToken: Scalars['String']['output'];
};

export type ProviderConnection = {
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
  readonly taskId: Scalars['ID']['output'];
};

/** A stage of a task. */
export type SubTask = {
  readonly completedAt: Maybe<Scalars['String']['output']>;
  readonly errorMessage: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly startedAt: Scalars['String']['output'];
  readonly status: TaskStatus;
  /** Free text: an unrecognised stage is informational, not an error. */
  readonly type: Scalars['String']['output'];
};

export type Task = {
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
  readonly documentCount: Scalars['Int']['output'];
  readonly extractedFormCount: Scalars['Int']['output'];
  readonly returnType: Scalars['String']['output'];
  readonly reviewItemCount: Scalars['Int']['output'];
  readonly reviewItems: ReadonlyArray<TaxPrepReviewItem>;
  readonly summary: Scalars['String']['output'];
  readonly taxYear: Scalars['Int']['output'];
};

export type TaskUnknownResult = {
  /** The task's type. */
  readonly taskType: Scalars['String']['output'];
};

export type TaxPrepReviewItem = {
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
  readonly email: Scalars['String']['output'];
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly workspaces: ReadonlyArray<WorkspaceShortDetails>;
};

export type UserShortDetails = {
  readonly email: Scalars['String']['output'];
  /** Serves the vendor's own in-product integrations; may be ignored. */
  readonly emailHash: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  /** Serves the vendor's own in-product integrations; may be ignored. */
  readonly novuHash: Maybe<Scalars['String']['output']>;
};

export type WebhookEndpoint = {
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
  readonly data: ReadonlyArray<WebhookEndpoint>;
  /** `true` when there are no more pages. */
  readonly done: Scalars['Boolean']['output'];
  /** Opaque cursor for the next page; `null` when `done` is `true`. */
  readonly iterator: Maybe<Scalars['String']['output']>;
};

/** An endpoint together with the signing secret that was just issued for it. */
export type WebhookEndpointSecret = {
  readonly endpoint: WebhookEndpoint;
  /** `whsec_` prefixed. Shown once. */
  readonly signingSecret: Scalars['String']['output'];
};

/** An entry of the event catalog. */
export type WebhookEventType = {
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
  readonly createdAt: Maybe<Scalars['Date']['output']>;
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly status: Maybe<Scalars['String']['output']>;
};

export type WorkspaceUser = {
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
