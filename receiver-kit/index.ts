export type { Clock, TimerOptions } from "@workspace-tasks/kernel/clock.ts";
export type { Random } from "@workspace-tasks/kernel/random.ts";
export type {
  BatchHandler,
  BatchItem,
  BatchOptions,
  EventContext,
  EventHandler,
  EventOf,
  EventPattern,
  HandlerContext,
  StatePattern,
  TransactionContext,
} from "./attempt/handlers.ts";
export {
  isReceiverError,
  NonRetryableError,
  ReceiverError,
  type ReceiverErrorCode,
  receiverErrorCodes,
  WebhookRejectedError,
  type WebhookRejectionCode,
} from "./errors.ts";
export type { AcceptContext, AcceptResult } from "./event/accept-result.ts";
export type { ReconcilableTask, ReconcileClient } from "./event/reconcile-client.ts";
export type { DeliverySink } from "./http/webhook-handler.ts";
export type { Inbox, InboxRowReference, InboxRowState } from "./inbox/inbox.ts";
export { type MemoryInboxOptions, type MemoryTransaction, memoryInbox } from "./inbox/memory/memory-inbox.ts";
export { consoleLogger, type ReceiverLogger, silentLogger } from "./logger.ts";
export type { RequestLimitOptions } from "./options.ts";
export { createReceiver, type Receiver } from "./receiver.ts";
export type {
  ReceiverOptions,
  ReconcileScheduleOptions,
  RetentionOptions,
  RetryPolicy,
  TenantClient,
} from "./receiver-options.ts";
export type { ReconcileOptions, ReconcileReport } from "./reconcile/reconcile.ts";
export type {
  Secrets,
  SecretsFunction,
  SecretsRequest,
  Tenant,
  TenantSecrets,
} from "./signature/key-source.ts";
export type { WebhookHeaders } from "./signature/signature-headers.ts";
export {
  createVerifier,
  type VerifiedWebhook,
  type Verifier,
  type VerifierOptions,
  type VerifyOptions,
} from "./signature/verifier.ts";
export type { ReceiverStats } from "./stats/receiver-stats.ts";
export type { ObservedStats, ReceiverTelemetry } from "./stats/receiver-telemetry.ts";
