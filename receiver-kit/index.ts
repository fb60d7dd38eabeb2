export type {
  Acceptance,
  InlineBegin,
  InlineInbox,
  OrderPosition,
  RequestLimits,
  SignedHeaders,
  VerifiedWebhook,
  Verifier,
  VerifyOptions,
  WebhookAcceptor,
  WebhookHeaders,
} from "./accepting.ts";
export { type Clock, systemClock } from "./clock.ts";
export {
  BacklogFullError,
  InboxUnavailableError,
  rejectionStatuses,
  type SecretMistake,
  WebhookRejectedError,
  type WebhookRejectionCode,
  WebhookSecretError,
} from "./errors.ts";
export type {
  EventHandler,
  EventPattern,
  EventPatterns,
  HandlerContext,
  StatePattern,
  StatePatterns,
} from "./handlers.ts";
export {
  type Arrival,
  type Channel,
  type Claim,
  type ClaimOptions,
  type ClaimResult,
  type Failure,
  type HandlerTransaction,
  type HeadMove,
  type Inbox,
  type InboxStats,
  type Insertion,
  type KeyOrder,
  LeaseLostError,
  noFacts,
  type Retention,
  type RowDetails,
  type RowFacts,
  type RowFilter,
  type RowReference,
  type RowState,
  type RowSummary,
  type Settlement,
  type SettleOutcome,
  SupersededError,
  type Suspect,
  TransactionEndedError,
} from "./inbox.ts";
export type { IntakeCounts } from "./intake.ts";
export type { ReceiverLogger } from "./logger.ts";
export type { RetentionOptions } from "./maintenance.ts";
export { type MemoryInboxOptions, type MemoryTransaction, memoryInbox } from "./memory-inbox.ts";
export { type EventOrder, encodePosition, eventOrder, orderKey, statusRank } from "./order.ts";
export { type Inspection, inspectBody } from "./quarantine.ts";
export type { Random } from "./random.ts";
export {
  createReceiver,
  type Receiver,
  type ReceiverOptions,
  type ReceiverStats,
} from "./receiver.ts";
export type {
  ReconcilableStage,
  ReconcilableTask,
  ReconcileClient,
  ReconcileOptions,
  ReconcileReport,
} from "./reconcile.ts";
export { type ReplayOutcome, replayRow } from "./replay.ts";
export { HandlerTimeoutError, NonRetryableError, type RetryPlan } from "./retry-plan.ts";
export type { Secrets } from "./secret-ring.ts";
export { createVerifier, type VerifierOptions } from "./verifier.ts";
export { ReceiverClosingError, type WorkerCounts } from "./worker.ts";
