// Every error that the receiver kit creates is a `ReceiverError` with a code from a closed list. There is a subclass
// only where a caller acts differently. Errors of a database or of the network are passed on as they are, as `cause`
// where one of these errors reports them.

import { keepName } from "@workspace-tasks/kernel/keep-name.ts";

/** HTTP status of each rejection: 400 to 403 blame the sender, 408 to 415 the connection, 5xx this receiver. */
export const rejectionStatuses = {
  HEADER_MISSING: 400,
  HEADER_REPEATED: 400,
  ID_MALFORMED: 400,
  TIMESTAMP_MALFORMED: 400,
  SIGNATURE_MALFORMED: 400,
  BODY_ABORTED: 400,
  BODY_FRAGMENTED: 400,
  TIMESTAMP_TOO_OLD: 401,
  TIMESTAMP_TOO_NEW: 401,
  SIGNATURE_MISMATCH: 401,
  TENANT_UNKNOWN: 401,
  WORKSPACE_MISMATCH: 403,
  METHOD_NOT_ALLOWED: 405,
  BODY_TIMEOUT: 408,
  BODY_TOO_LARGE: 413,
  BODY_ENCODED: 415,
  BODY_CONSUMED: 500,
  RESPONSE_FAILED: 500,
  RECEIVING_FULL: 503,
  SECRETS_UNAVAILABLE: 503,
} as const;

export type WebhookRejectionCode = keyof typeof rejectionStatuses;

/** Every code that an error of the receiver kit can have; `docs/errors.md` explains each. */
export const receiverErrorCodes = [
  // A request was rejected before anything was stored.
  ...(Object.keys(rejectionStatuses) as WebhookRejectionCode[]),
  // Options and arguments that can never work.
  "CONFIGURATION_INVALID",
  "ARGUMENT_INVALID",
  "SECRET_INVALID",
  "MIDDLEWARE_MISSING",
  // Packages of different releases.
  "VERSION_MISMATCH",
  // The inbox.
  "INBOX_UNAVAILABLE",
  "RELEASE_TOO_OLD",
  "INBOX_OPEN_FAILED",
  "INBOX_FILE_LOST",
  "INBOX_FILE_DAMAGED",
  "INBOX_FULL",
  "BACKLOG_FULL",
  // The message broker in front of the inbox.
  "BROKER_UNAVAILABLE",
  "BROKER_SETUP_INVALID",
  // Handlers and their transactions.
  "NON_RETRYABLE",
  "HANDLER_TIMEOUT",
  "LEASE_LOST",
  "SUPERSEDED",
  "TRANSACTION_ENDED",
  "TRANSACTION_ENDED_BY_SQL",
  "TRANSACTION_ABORTED",
  "QUERY_NOT_AWAITED",
  "RECEIVER_CLOSING",
] as const;

export type ReceiverErrorCode = (typeof receiverErrorCodes)[number];

export interface ReceiverErrorOptions {
  readonly cause?: unknown;
  /** Whole seconds for the `Retry-After` header. */
  readonly retryAfterSeconds?: number | undefined;
}

// Recognised by a brand and not by class, so that two copies of the package in one process understand each other.
const brand: unique symbol = Symbol.for("workspace-tasks/receiver-error/v1") as never;

/** The base of all errors of the receiver kit. Its message never contains a secret, a body or an expected signature. */
export class ReceiverError extends Error {
  static {
    keepName(ReceiverError, "ReceiverError");
  }

  readonly code: ReceiverErrorCode;
  /** How long the sender is asked to wait: 5 for `INBOX_UNAVAILABLE` and `BROKER_UNAVAILABLE`, 30 for `BACKLOG_FULL` unless given. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ReceiverErrorCode, message: string, options: ReceiverErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds ?? defaultRetryAfterSeconds[code];
    Object.defineProperty(this, brand, { value: true });
    Object.defineProperty(this, "name", { value: new.target.name, configurable: true });
  }
}

const defaultRetryAfterSeconds: Partial<Record<ReceiverErrorCode, number>> = {
  RECEIVING_FULL: 5,
  SECRETS_UNAVAILABLE: 5,
  INBOX_UNAVAILABLE: 5,
  BACKLOG_FULL: 30,
  BROKER_UNAVAILABLE: 5,
};

/** A request that was rejected before anything was stored. The message is for the receiver's log, not for the sender. */
export class WebhookRejectedError extends ReceiverError {
  static {
    keepName(WebhookRejectedError, "WebhookRejectedError");
  }

  declare readonly code: WebhookRejectionCode;
  /** HTTP status of the response. */
  readonly status: number;
  /** The `webhook-id`, once it was found well formed; it may still be forged. */
  readonly webhookId: string | undefined;

  constructor(
    code: WebhookRejectionCode,
    message: string,
    options: ReceiverErrorOptions & { readonly webhookId?: string | undefined } = {},
  ) {
    super(code, message, options);
    this.status = rejectionStatuses[code];
    this.webhookId = options.webhookId;
  }
}

/** Thrown by a handler when a retry cannot help: the event is dead at once, until it is replayed. */
export class NonRetryableError extends ReceiverError {
  static {
    keepName(NonRetryableError, "NonRetryableError");
  }

  constructor(message: string, options?: ReceiverErrorOptions) {
    super("NON_RETRYABLE", message, options);
  }
}

/** True for an error of the receiver kit, also of another copy of the package; with `code`, for that code only. */
export function isReceiverError(value: unknown, code?: ReceiverErrorCode): value is ReceiverError {
  if (typeof value !== "object" || value === null || !(brand in value)) return false;
  return code === undefined || (value as unknown as ReceiverError).code === code;
}

/** True for a rejection by any copy of the package: a middleware and its receiver may be of two. */
export function isWebhookRejectedError(value: unknown): value is WebhookRejectedError {
  return isReceiverError(value) && "status" in value && Object.hasOwn(rejectionStatuses, value.code);
}
