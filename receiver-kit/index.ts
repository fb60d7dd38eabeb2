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
} from "./handling/handlers.ts";
export type { IntakeCounts } from "./handling/intake.ts";
export type { RetentionOptions } from "./handling/maintenance.ts";
export { type EventOrder, encodePosition, eventOrder, orderKey, statusRank } from "./handling/order.ts";
export { type Inspection, inspectBody } from "./handling/quarantine.ts";
export type {
  ReconcilableStage,
  ReconcilableTask,
  ReconcileClient,
  ReconcileOptions,
  ReconcileReport,
} from "./handling/reconcile.ts";
export { type ReplayOutcome, replayRow } from "./handling/replay.ts";
export { HandlerTimeoutError, NonRetryableError, type RetryPlan } from "./handling/retry-plan.ts";
export { ReceiverClosingError, type WorkerCounts } from "./handling/worker.ts";
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
export { createVerifier, type VerifierOptions } from "./signature/verifier.ts";
