export { type Clock, systemClock } from "./clock.ts";
export {
  BacklogFullError,
  HandlerTimeoutError,
  InboxUnavailableError,
  LeaseLostError,
  NonRetryableError,
  ReceiverClosingError,
  rejectionStatuses,
  type SecretErrorCode,
  SupersededError,
  TransactionEndedError,
  WebhookRejectedError,
  type WebhookRejectionCode,
  WebhookSecretError,
} from "./errors.ts";
export { type EventColumns, emptyColumns } from "./event/event-columns.ts";
export type { OrderPosition } from "./event/event-order.ts";
export { type EventOrder, encodePosition, eventOrder, orderKey, statusRank } from "./event/event-order.ts";
export { type ParsedDelivery, parseDelivery } from "./event/parse-delivery.ts";
export type { RequestLimits } from "./http/request-body.ts";
export type { AcceptResult, DeliverySink } from "./http/webhook-handler.ts";
export type {
  Channel,
  Claim,
  ClaimOptions,
  ClaimResult,
  FailedAttempt,
  HandlerTransaction,
  HeadAdvance,
  Inbox,
  InboxStats,
  InlineBegin,
  InlineInbox,
  InsertResult,
  KeyOrder,
  NewRow,
  ReconcileCandidate,
  Retention,
  RowDetails,
  RowFilter,
  RowReference,
  RowState,
  RowSummary,
  Settlement,
  SettleOutcome,
} from "./inbox/inbox.ts";
export { type MemoryInboxOptions, type MemoryTransaction, memoryInbox } from "./inbox/memory/memory-inbox.ts";
export { consoleLogger, type ReceiverLogger, silentLogger } from "./logger.ts";
export type { Random } from "./random.ts";
export {
  createReceiver,
  type Receiver,
  type ReceiverOptions,
  type ReceiverStats,
} from "./receiver.ts";
export type { Secrets } from "./signature/secret-ring.ts";
export type { SignedHeaders, WebhookHeaders } from "./signature/signature-headers.ts";
export type { VerifiedWebhook, Verifier, VerifyOptions } from "./signature/verifier.ts";
export { createVerifier, type VerifierOptions } from "./signature/verifier.ts";
export type {
  EventHandler,
  EventPattern,
  EventPatterns,
  HandlerContext,
  StatePattern,
  StatePatterns,
} from "./worker/handlers.ts";
export type { IngestCounts } from "./worker/ingest.ts";
export type { RetentionOptions } from "./worker/maintenance.ts";
export type {
  ReconcilableStage,
  ReconcilableTask,
  ReconcileClient,
  ReconcileOptions,
  ReconcileReport,
} from "./worker/reconcile.ts";
export { type ReplayOutcome, replayRow } from "./worker/replay.ts";
export type { RetryPolicy } from "./worker/retry-policy.ts";
export type { WorkerCounts } from "./worker/worker.ts";
