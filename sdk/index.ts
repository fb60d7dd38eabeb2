export type { Clock } from "@workspace-tasks/kernel/clock.ts";
export type { Random } from "@workspace-tasks/kernel/random.ts";
export {
  type CallEvent,
  type DiagnosticsChannel,
  type DiagnosticsEvents,
  diagnosticsChannels,
  type Logger,
} from "./call/diagnostics.ts";
export type { Router, TypedDocument } from "./call/operation.ts";
export {
  createClient,
  type Partner,
  type RequestArguments,
  type RequestOptions,
  type WorkspaceTasksClient,
} from "./client.ts";
export type { ApiKeySource } from "./credentials/credentials.ts";
export type { GraphQLDocument } from "./engine/document.ts";
export type { Call, CallMeta, ResultWithMeta } from "./engine/engine.ts";
export {
  type ErrorCode,
  errorCodes,
  type GraphQLErrorEntry,
  isWorkspaceTasksError,
  type Outcome,
  WorkspaceTasksError,
} from "./errors.ts";
export type {
  ImportClient,
  ImportCounts,
  ImportFileArtifact,
  ImportOptions,
  ImportProgress,
  ImportUrlArtifact,
} from "./imports/import-input.ts";
export type { ImportedClient, ImportResult } from "./imports/import-result.ts";
export type { Imports } from "./imports/imports.ts";
export { fileJournal } from "./imports/journal/file-journal.ts";
export type { ImportJournal, OpenJournal } from "./imports/journal/import-journal.ts";
export {
  type PostgresClientPool,
  type PostgresPoolClient,
  postgresJournal,
} from "./imports/journal/postgres-journal.ts";
export type { ClientTask, WaitForTasksOptions } from "./imports/wait-for-tasks.ts";
export type {
  ArtifactInput,
  CollectConnectionInput,
  ConnectionJob,
  ConnectionJobStatus,
  Connections,
  CreateJobInput,
  JobArtifact,
  Jobs,
  JobWork,
  JobWorkInput,
  ProviderConnection,
  ProviderConnectionStatus,
  StartConnectionInput,
  Works,
} from "./operations/jobs.ts";
export type { Page, PagedList } from "./operations/pagination.ts";
export {
  type ListTasksOptions,
  type SubTask,
  type Task,
  TaskFailedError,
  type TaskResult,
  type TaskStatus,
  type Tasks,
  type TaskTaxPrepResult,
  type TaskUnknownResult,
  type UserShortDetails,
  type WaitForTaskOptions,
  workIdOf,
} from "./operations/tasks.ts";
export type {
  AddClientDocumentsInput,
  CreateTaxClientInput,
  CreateTaxClientResult,
  ListTaxClientsOptions,
  ListTaxClientTasksOptions,
  StartedTask,
  TaxClient,
  TaxClients,
  TriggerTaxPrepInput,
} from "./operations/tax-clients.ts";
export type {
  CreateWebhookEndpointInput,
  EnsuredEndpoint,
  EnsureEndpointInput,
  ListWebhookEndpointsOptions,
  RotateEndpointSecretInput,
  RotateWebhookEndpointSecretInput,
  StoredEndpoint,
  UpdateWebhookEndpointInput,
  WebhookEndpoint,
  WebhookEndpointSecret,
  WebhookEndpoints,
  WebhookEventType,
  Webhooks,
} from "./operations/webhooks.ts";
export type {
  AddedUser,
  AddUsersInput,
  CreateWorkspaceInput,
  FirmSize,
  Me,
  OpenUnion,
  PartnerWorkspace,
  PartnerWorkspaces,
  User,
  Workspace,
  WorkspaceRole,
  WorkspaceUser,
} from "./operations/workspaces.ts";
export type { CallOptions, CreateClientOptions, RateLimitOptions } from "./options.ts";
export type { PostgresTableOptions } from "./postgres-table.ts";
export { postgresRateLimitStore } from "./rate-limit/postgres-rate-limit-store.ts";
export type { Priority, RateLimitSnapshot } from "./rate-limit/rate-limiter.ts";
export type { RateLimitStore } from "./rate-limit/shared-permits.ts";
export type { Fetch, FetchInit, FetchResponse } from "./request/fetch.ts";
export {
  fileSecrets,
  readSigningSecrets,
  type SecretStore,
  signingSecrets,
} from "./signing-secrets/signing-secrets.ts";
export type { UploadBody } from "./uploads/upload-source.ts";
export type { Upload, UploadOptions, UploadProgress, Uploads } from "./uploads/uploads.ts";
