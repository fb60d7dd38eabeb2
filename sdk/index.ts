export type { Call } from "./call.ts";
export { createClient, type Partner, type RequestOptions, type WorkspaceTasksClient } from "./client.ts";
export type {
  AddClientDocumentsInput,
  Clients,
  CreateClientInput,
  CreateClientResult,
  ListClientsOptions,
  ListClientTasksOptions,
  StartedTask,
  TaxClient,
  TriggerTaxPrepInput,
} from "./clients.ts";
export type { Clock, Random } from "./clock.ts";
export type {
  CollectConnectionInput,
  Connections,
  ProviderConnection,
  ProviderConnectionStatus,
  StartConnectionInput,
} from "./connections.ts";
export {
  type CallEvent,
  type DiagnosticsEvents,
  type DiagnosticsName,
  diagnosticsChannels,
} from "./diagnostics.ts";
export type { AnyDocument } from "./document.ts";
export type { CallMeta, Executed, RateLimitSnapshot } from "./engine.ts";
export {
  AbortedError,
  AuthenticationError,
  ConfigurationError,
  DeadlineExceededError,
  type ErrorCode,
  errorCodes,
  type GraphQLErrorEntry,
  GraphQLRequestError,
  isWorkspaceTasksError,
  type Outcome,
  PermissionError,
  RateLimitError,
  RateLimitQueueFullError,
  RequestTimeoutError,
  WorkspaceTasksError,
} from "./errors.ts";
export type {
  ConnectionJob,
  ConnectionJobStatus,
  CreateJobInput,
  Jobs,
  JobWork,
  JobWorkInput,
} from "./jobs.ts";
export type { Me, User, WorkspaceRole, WorkspaceUser } from "./me.ts";
export type { OpenUnion } from "./open-union.ts";
export type { Router, TypedDocument } from "./operation.ts";
export type {
  CallOptions,
  CreateClientOptions,
  Fetch,
  KeySource,
  Logger,
  RateLimitOptions,
} from "./options.ts";
export type { Page, PagedList } from "./pagination.ts";
export type {
  AddedUser,
  AddUsersInput,
  CreateWorkspaceInput,
  FirmSize,
  PartnerWorkspace,
  PartnerWorkspaces,
} from "./partner-workspaces.ts";
export {
  type PostgresPool,
  type PostgresRateLimitStoreOptions,
  postgresRateLimitStore,
} from "./postgres-rate-limit-store.ts";
export type {
  AcquiredSlot,
  AcquiredSlots,
  AcquireSlots,
  RateLimitStore,
  ReleaseSlot,
} from "./rate-limit-store.ts";
export type { SubTask, Task, TaskResult, TaskStatus, TaskTaxPrepResult, TaskUnknownResult } from "./task.ts";
export { TaskFailedError } from "./task-watch.ts";
export type { ListTasksOptions, Tasks, WaitForOptions } from "./tasks.ts";
export type { UploadBody } from "./upload-source.ts";
export type { Upload, UploadOptions, UploadProgress, Uploads } from "./uploads.ts";
export type {
  CreateWebhookEndpointInput,
  ListWebhookEndpointsOptions,
  RotateWebhookEndpointSecretInput,
  UpdateWebhookEndpointInput,
  WebhookEndpoint,
  WebhookEndpointSecret,
  WebhookEndpoints,
} from "./webhook-endpoints.ts";
export type { WebhookEventType, Webhooks } from "./webhooks.ts";
export type { ArtifactInput, JobArtifact, Works } from "./works.ts";
