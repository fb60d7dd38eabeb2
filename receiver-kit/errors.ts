/**
 * Why a request was refused. Each code has one HTTP status, and a heading in `docs/errors.md`.
 *
 * 400 and 401 are the sender's doing, 408 to 415 the connection's, 500 a mistake in how the receiver is
 * mounted, 503 a receiver that cannot look up its own secrets right now.
 */
export const rejectionStatuses = {
  HEADER_MISSING: 400,
  HEADER_REPEATED: 400,
  ID_MALFORMED: 400,
  TIMESTAMP_MALFORMED: 400,
  SIGNATURE_MALFORMED: 400,
  BODY_ABORTED: 400,
  TIMESTAMP_TOO_OLD: 401,
  TIMESTAMP_TOO_NEW: 401,
  SIGNATURE_MISMATCH: 401,
  METHOD_NOT_ALLOWED: 405,
  BODY_TIMEOUT: 408,
  BODY_TOO_LARGE: 413,
  BODY_ENCODED: 415,
  BODY_CONSUMED: 500,
  SECRETS_UNAVAILABLE: 503,
} as const;

export type WebhookRejectionCode = keyof typeof rejectionStatuses;

/**
 * A request that was refused before anything was stored.
 *
 * The message is for the receiver's own log: it names what was wrong, never the secret, the body, or the
 * signature that would have been right.
 */
export class WebhookRejectedError extends Error {
  override readonly name = "WebhookRejectedError";
  readonly code: WebhookRejectionCode;
  /** The HTTP status that answers it. */
  readonly status: number;
  /** The `webhook-id`, once it was found well formed; it may still be forged. */
  readonly webhookId: string | undefined;

  constructor(
    code: WebhookRejectionCode,
    message: string,
    options: ErrorOptions & { readonly webhookId?: string } = {},
  ) {
    super(message, options);
    this.code = code;
    this.status = rejectionStatuses[code];
    this.webhookId = options.webhookId;
  }
}

export type SecretErrorCode =
  | "SECRET_MISSING"
  | "SECRET_EMPTY"
  | "SECRET_WHITESPACE"
  | "SECRET_VERSION_PREFIX"
  | "SECRET_ASYMMETRIC_KEY"
  | "SECRET_PREFIX_MISSING"
  | "SECRET_HEX"
  | "SECRET_BASE64URL"
  | "SECRET_NOT_BASE64"
  | "SECRET_CUT_SHORT"
  | "SECRET_LENGTH";

/** A signing secret that cannot be right. The message names the mistake and the fix, never the secret. */
export class WebhookSecretError extends Error {
  override readonly name = "WebhookSecretError";
  readonly code: SecretErrorCode;

  constructor(code: SecretErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The inbox could not store a delivery, which is therefore not acknowledged: answered 503 with `Retry-After`. */
export class InboxUnavailableError extends Error {
  override readonly name = "InboxUnavailableError";
  readonly code = "INBOX_UNAVAILABLE";
  /** Whole seconds the sender is asked to wait. Default 5. */
  readonly retryAfterSeconds: number;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterSeconds?: number } = {}) {
    super(message, options);
    this.retryAfterSeconds = options.retryAfterSeconds ?? 5;
  }
}

/** More deliveries wait to be handled than the receiver allows: answered 429 with `Retry-After`. */
export class BacklogFullError extends Error {
  override readonly name = "BacklogFullError";
  readonly code = "BACKLOG_FULL";
  /** Whole seconds the sender is asked to wait. Default 30. */
  readonly retryAfterSeconds: number;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterSeconds?: number } = {}) {
    super(message, options);
    this.retryAfterSeconds = options.retryAfterSeconds ?? 30;
  }
}

/** Thrown by a transaction's handle when the row's lease has passed to another worker. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
  readonly code = "LEASE_LOST";

  constructor() {
    super("the lease on this event was lost: another worker may be handling it, so nothing is written");
  }
}

/** Thrown by a transaction's handle when a newer event of the same key was applied since the row was claimed. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
  readonly code = "SUPERSEDED";

  constructor() {
    super("a newer event of the same task or stage was applied meanwhile, so nothing is written");
  }
}

/** Thrown by a transaction's handle after the transaction ended: committed, rolled back, or open for too long. */
export class TransactionEndedError extends Error {
  override readonly name = "TransactionEndedError";
  readonly code = "TRANSACTION_ENDED";
}

/** Thrown by a handler to say that trying again cannot help: the event is dead at once, until somebody replays it. */
export class NonRetryableError extends Error {
  override readonly name = "NonRetryableError";
  readonly code = "NON_RETRYABLE";
}

/** A handler took longer than `handlerTimeoutMs`; the attempt counts as failed. */
export class HandlerTimeoutError extends Error {
  override readonly name = "HandlerTimeoutError";
  readonly code = "HANDLER_TIMEOUT";

  constructor(timeoutMs: number) {
    super(`the handlers of this event took longer than ${timeoutMs} ms`);
  }
}

/** The reason a handler's signal is aborted with when the receiver closes before the handler is done. */
export class ReceiverClosingError extends Error {
  override readonly name = "ReceiverClosingError";
  readonly code = "RECEIVER_CLOSING";

  constructor() {
    super("the receiver is closing; the event will be handled again");
  }
}
