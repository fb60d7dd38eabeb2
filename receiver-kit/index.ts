export type {
  EventHandler,
  EventOf,
  EventPattern,
  EventPatterns,
  HandlerContext,
  StatePattern,
  StatePatterns,
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
export type { EventColumns } from "./event/event-columns.ts";
export type { DeliverySink } from "./http/webhook-handler.ts";
export type {
  DeliveryChannel,
  DeliveryColumns,
  FailedAttempt,
  HandlerTransaction,
  Inbox,
  InboxAcceptStore,
  InboxBeginInlineResult,
  InboxClaim,
  InboxClaimOptions,
  InboxClaimResult,
  InboxConnection,
  InboxHeadAdvance,
  InboxInlineStore,
  InboxInsertResult,
  InboxKeyOrder,
  InboxLease,
  InboxMaintenanceStore,
  InboxMarks,
  InboxOperatorStore,
  InboxRepairOptions,
  InboxRetention,
  InboxRetryDelays,
  InboxRowDetails,
  InboxRowFilter,
  InboxRowReference,
  InboxRowState,
  InboxRowSummary,
  InboxSettlement,
  InboxSettleOutcome,
  InboxStats,
  InboxTransactionOptions,
  InboxWaitingSource,
  InboxWorkQueue,
  NewInboxRow,
  StoredInboxRow,
} from "./inbox/inbox.ts";
export { type MemoryInboxOptions, type MemoryTransaction, memoryInbox } from "./inbox/memory/memory-inbox.ts";
export type {
  InboxHead,
  InboxHeadFilter,
  InboxHeadReference,
  InboxHeadSummary,
  ReconcileCandidate,
} from "./inbox/order-head.ts";
export { consoleLogger, type ReceiverLogger, silentLogger } from "./logger.ts";
export type { OrderingHead, OrderingHeadFilter, OrderingHeadReference } from "./maintenance/heads.ts";
export type { RequestLimitOptions, RequestLimits } from "./options.ts";
export { createReceiver, type Receiver } from "./receiver.ts";
export type { ReceiverOptions, RetentionOptions, RetryPolicy } from "./receiver-options.ts";
export type { ReconcileOptions, ReconcileReport } from "./reconcile/reconcile.ts";
export type { ReconcilableStage, ReconcilableTask, ReconcileClient } from "./reconcile/task-changes.ts";
export type {
  Secrets,
  SecretsFunction,
  SecretsRequest,
  Tenant,
  TenantIdentity,
  TenantSecrets,
} from "./signature/key-source.ts";
export type { SignedHeaders, WebhookHeaders } from "./signature/signature-headers.ts";
export {
  createVerifier,
  type VerifiedWebhook,
  type Verifier,
  type VerifierOptions,
  type VerifyOptions,
} from "./signature/verifier.ts";
export type { ReceiverStats } from "./stats/receiver-stats.ts";
export type { ObservedStats, ReceiverTelemetry } from "./stats/receiver-telemetry.ts";
export type { Clock, TimerOptions } from "./time/clock.ts";
export type { Random } from "./time/random.ts";
