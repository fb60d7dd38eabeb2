/**
 * Every failure of the SDK is a `WorkspaceTasksError` with a `code` out of a closed union. There is a subclass only
 * where a caller would act differently. The classes are recognised by a brand, not by identity, so that two copies
 * of the package in one process understand each other's errors.
 */

/** Every code an SDK error can carry; `docs/errors.md` has a heading for each. */
export const errorCodes = [
  // Nothing was sent.
  "CONFIGURATION_INVALID",
  "ARGUMENT_INVALID",
  "CLIENT_CLOSED",
  "RATE_LIMIT_QUEUE_FULL",
  "RATE_LIMIT_WAIT_EXCEEDED",
  "RATE_LIMIT_STORE_FAILED",
  // The call was ended from this side.
  "ABORTED",
  "REQUEST_TIMEOUT",
  "DEADLINE_EXCEEDED",
  // The service could not be reached, or did not answer as a GraphQL service does.
  "NETWORK_FAILED",
  "SERVICE_UNAVAILABLE",
  "RESPONSE_INVALID",
  "HTTP_REQUEST_REJECTED",
  // RouterAccess, permission, allowance.
  "API_KEY_REJECTED",
  "PERMISSION_DENIED",
  "RATE_LIMITED",
  // Answers of the service, interface §7 and A-n.
  "WEBHOOK_EVENT_TYPE_UNSUPPORTED",
  "WEBHOOK_EVENT_TYPE_REQUIRED",
  "WEBHOOK_ENDPOINT_FIELD_REQUIRED",
  "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE",
  "WEBHOOK_ENDPOINT_URL_INVALID",
  "SECRET_GRACE_PERIOD_OUT_OF_RANGE",
  "ITERATOR_INVALID",
  "NOT_FOUND",
  "CONFLICT",
  "INPUT_INVALID",
  "DOCUMENT_INVALID",
  "SERVICE_FAILED",
  "GRAPHQL_ERROR",
  // Calls made of several requests.
  "TASK_FAILED",
  "PAGINATION_STALLED",
  "UPLOAD_BODY_INVALID",
  "UPLOAD_REJECTED",
  "UPLOAD_LOST",
  "UPLOAD_FAILED",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/**
 * What is known about the effect of the call on the service.
 *
 * - `not_sent`: the request provably never left, or never reached the service.
 * - `rejected`: the service refused it without applying it.
 * - `unknown`: it may or may not have been applied; look before sending a mutation again.
 */
export type Outcome = "not_sent" | "rejected" | "unknown";

/** One entry of a GraphQL answer's `errors`. */
export interface GraphQLErrorEntry {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  /** `extensions.code`, when the service gave one. */
  readonly code?: string;
}

export interface ErrorDetails {
  readonly outcome?: Outcome;
  /** Requests that were sent for this call, the failed one included; token exchanges do not count. */
  readonly attempts?: number;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
  readonly data?: unknown;
  readonly errors?: readonly GraphQLErrorEntry[];
  /** Status of the HTTP answer, when there was one. */
  readonly httpStatus?: number | undefined;
  readonly operationName?: string | undefined;
}

const brand: unique symbol = Symbol.for("workspace-tasks/error/v1") as never;

/** The base of all errors of the SDK. Never holds a key, a token or a signing secret in anything it prints. */
export class WorkspaceTasksError extends Error {
  readonly code: ErrorCode;
  readonly outcome: Outcome;
  /** Requests that were sent for this call; 0 when none was. */
  readonly attempts: number;
  /** How long the service, or the local allowance, asks to wait before the next try. */
  readonly retryAfterMs: number | undefined;
  readonly httpStatus: number | undefined;
  readonly operationName: string | undefined;
  // Private: partial data can hold a signing secret, and `util.inspect` prints every public field.
  readonly #data: unknown;
  readonly #errors: readonly GraphQLErrorEntry[];

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.outcome = details.outcome ?? "not_sent";
    this.attempts = details.attempts ?? 0;
    this.retryAfterMs = details.retryAfterMs;
    this.httpStatus = details.httpStatus;
    this.operationName = details.operationName;
    this.#data = details.data;
    this.#errors = details.errors ?? [];
    Object.defineProperty(this, brand, { value: true });
    Object.defineProperty(this, "name", { value: new.target.name, configurable: true });
  }

  /** The `data` that came beside the errors of a partly failed answer. */
  get data(): unknown {
    return this.#data;
  }

  /** The entries of the answer's `errors`, messages redacted. */
  get errors(): readonly GraphQLErrorEntry[] {
    return this.#errors;
  }

  toJSON(): Record<string, unknown> {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      outcome: this.outcome,
      attempts: this.attempts,
      retryAfterMs: this.retryAfterMs,
      httpStatus: this.httpStatus,
      operationName: this.operationName,
    };
  }
}

/** Options that can never work. Thrown at construction, before anything is sent. */
export class ConfigurationError extends WorkspaceTasksError {
  constructor(message: string, details: ErrorDetails = {}) {
    super("CONFIGURATION_INVALID", message, details);
  }
}

/** The API key or partner key was refused by the exchange: replace the key. */
export class AuthenticationError extends WorkspaceTasksError {}

/** The key is good, but its owner may not do this: ask an administrator. */
export class PermissionError extends WorkspaceTasksError {}

/** The allowance is used up and the call could not wait for it: come back after `retryAfterMs`. */
export class RateLimitError extends WorkspaceTasksError {}

/** More calls wait for the allowance than `rateLimit.maxQueued`: shed load. */
export class RateLimitQueueFullError extends RateLimitError {}

/** One attempt took longer than `timeoutMs`, body included. */
export class RequestTimeoutError extends WorkspaceTasksError {}

/** The whole call took longer than `deadlineMs`: queue, token, retries and body together. */
export class DeadlineExceededError extends WorkspaceTasksError {}

/** The caller's signal ended the call; `cause` is the signal's reason. */
export class AbortedError extends WorkspaceTasksError {}

/** The service answered with GraphQL errors. */
export class GraphQLRequestError extends WorkspaceTasksError {}

/** True for an error of the SDK, also of another copy of the package; with `code`, for that code only. */
export function isWorkspaceTasksError(value: unknown, code?: ErrorCode): value is WorkspaceTasksError {
  if (typeof value !== "object" || value === null || !(brand in value)) return false;
  return code === undefined || (value as unknown as WorkspaceTasksError).code === code;
}
