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
export type { Call, CallMeta, ResultWithMeta } from "./engine/call.ts";
export type { GraphQLDocument } from "./engine/document.ts";
export {
  ConfigurationError,
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
  ImportPhase,
  ImportProgress,
  ImportUrlArtifact,
} from "./imports/import-input.ts";
export type { ImportedClient, ImportResult } from "./imports/import-result.ts";
export type { Imports } from "./imports/imports.ts";
export { fileJournal } from "./imports/journal/file-journal.ts";
export type { ImportJournal } from "./imports/journal/import-journal.ts";
export {
  type PostgresClientPool,
  type PostgresPoolClient,
  postgresJournal,
} from "./imports/journal/postgres-journal.ts";
export type { ClientTask, WaitForTasksOptions } from "./imports/wait-for-tasks.ts";
export type { OpenUnion } from "./open-union.ts";
export type {
  CollectConnectionInput,
  Connections,
  ProviderConnection,
  ProviderConnectionStatus,
  StartConnectionInput,
} from "./operations/connections.ts";
export type {
  ConnectionJob,
  ConnectionJobStatus,
  CreateJobInput,
  Jobs,
  JobWork,
  JobWorkInput,
} from "./operations/jobs.ts";
export type { Me, User, Workspace, WorkspaceRole, WorkspaceUser } from "./operations/me.ts";
export type { Page, PagedList } from "./operations/pagination.ts";
export type {
  AddedUser,
  AddUsersInput,
  CreateWorkspaceInput,
  FirmSize,
  PartnerWorkspace,
  PartnerWorkspaces,
} from "./operations/partner-workspaces.ts";
export {
  type SubTask,
  type Task,
  type TaskResult,
  type TaskStatus,
  type TaskTaxPrepResult,
  type TaskUnknownResult,
  type UserShortDetails,
  workIdOf,
} from "./operations/task.ts";
export {
  type ListTasksOptions,
  TaskFailedError,
  type Tasks,
  type WaitForTaskOptions,
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
  ListWebhookEndpointsOptions,
  RotateWebhookEndpointSecretInput,
  UpdateWebhookEndpointInput,
  WebhookEndpoint,
  WebhookEndpointSecret,
  WebhookEndpoints,
} from "./operations/webhook-endpoints.ts";
export type {
  EnsuredEndpoint,
  EnsureEndpointInput,
  RotateEndpointSecretInput,
  StoredEndpoint,
  WebhookEventType,
  Webhooks,
} from "./operations/webhooks.ts";
export type { ArtifactInput, JobArtifact, Works } from "./operations/works.ts";
export type { CallOptions, CreateClientOptions, RateLimitOptions } from "./options.ts";
export type { PostgresTableOptions } from "./postgres-table.ts";
export { postgresRateLimitStore } from "./rate-limit/postgres-rate-limit-store.ts";
export type { Priority, RateLimitSnapshot } from "./rate-limit/rate-limiter.ts";
export type { RateLimitStore } from "./rate-limit/shared-permits.ts";
export type { Fetch, FetchInit, FetchResponse } from "./request/fetch.ts";
export { fileSecrets } from "./signing-secrets/file-secrets.ts";
export { readSigningSecrets, type SecretStore, signingSecrets } from "./signing-secrets/signing-secrets.ts";
export type { UploadBody } from "./uploads/upload-source.ts";
export type { Upload, UploadOptions, UploadProgress, Uploads } from "./uploads/uploads.ts";
