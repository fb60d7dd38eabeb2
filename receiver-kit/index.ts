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
export type { Secrets } from "./secret-ring.ts";
export { createVerifier, type VerifierOptions } from "./verifier.ts";
