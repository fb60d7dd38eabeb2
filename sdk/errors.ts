// Every failure of the SDK is a `WorkspaceTasksError` with a `code` of a closed union. Errors are recognised by a brand,
// not by their class, so that two copies of the package in one process recognise each other's errors.

import { keepName } from "@workspace-tasks/kernel/keep-name.ts";

/**
 * Every code an SDK error can carry; `docs/errors.md` explains each. Which of them a wait and an import survive:
 * `operations/tasks.ts`, `imports/settle.ts`.
 */
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
  // The service could not be reached, or its response was not that of a GraphQL service.
  "NETWORK_FAILED",
  "SERVICE_UNAVAILABLE",
  "RESPONSE_INVALID",
  "HTTP_REQUEST_REJECTED",
  // Identity, permission, rate limit.
  "API_KEY_UNAVAILABLE",
  "API_KEY_REJECTED",
  "TOKEN_REJECTED",
  "PERMISSION_DENIED",
  "RATE_LIMITED",
  // Errors of the service, interface §7 and A-n.
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
  "ON_PROGRESS_FAILED",
  "SECRET_STORE_FAILED",
  "SECRET_STORE_CONFLICT",
  // Whole imports.
  "JOURNAL_MISMATCH",
  "JOURNAL_DAMAGED",
  "JOURNAL_IN_USE",
  "JOURNAL_FAILED",
  "IMPORT_CHANGED",
  "IMPORT_UNDECIDED",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/**
 * What is known about the effect of the call on the service.
 *
 * - `not_sent`: the request provably never left, or never reached the service.
 * - `rejected`: the service rejected it without applying it.
 * - `unknown`: it may or may not have been applied; check before sending a mutation again.
 */
export type Outcome = "not_sent" | "rejected" | "unknown";

/** One entry of a GraphQL response's `errors`. */
export interface GraphQLErrorEntry {
  readonly message: string;
  readonly path?: readonly (string | number)[] | undefined;
  /** `extensions.code`, when the service sent one. */
  readonly code?: string | undefined;
  /** What the service says besides, such as the field; redacted. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

type Detail = Exclude<keyof WorkspaceTasksError, "code" | "message" | "name" | "stack" | "toJSON">;
/** What is known of a failure besides its code and message. */
export type ErrorDetails = { readonly [Name in Detail]?: WorkspaceTasksError[Name] | undefined };

const brand: unique symbol = Symbol.for("workspace-tasks/error/v1") as never;

/** An error of the SDK; `code` says which. Nothing that it prints contains a key, a token or a signing secret. */
export class WorkspaceTasksError extends Error {
  static {
    keepName(WorkspaceTasksError, "WorkspaceTasksError");
  }

  readonly code: ErrorCode;
  readonly outcome: Outcome;
  /** Requests sent for this call, the failed one included; token exchanges do not count. */
  readonly attempts: number;
  // Declared only, so that printing an error shows no field without a value.
  /** How long the service, or the local rate limiter, asks to wait before the next attempt. */
  declare readonly retryAfterMs: number | undefined;
  declare readonly httpStatus: number | undefined;
  declare readonly operationName: string | undefined;
  /** The service's name for the request, for its support. */
  declare readonly requestId: string | undefined;
  // Private: partial data can hold a signing secret, and `util.inspect` prints every public field.
  readonly #details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.outcome = details.outcome ?? "not_sent";
    this.attempts = details.attempts ?? 0;
    const { retryAfterMs, httpStatus, operationName, requestId } = details;
    for (const [name, value] of Object.entries({ retryAfterMs, httpStatus, operationName, requestId })) {
      if (value !== undefined) Object.assign(this, { [name]: value });
    }
    this.#details = details;
    Object.defineProperty(this, brand, { value: true });
    Object.defineProperty(this, "name", { value: new.target.name, configurable: true });
  }

  /** The `data` of a response that has errors too. */
  get data(): unknown {
    return this.#details.data;
  }

  /** The entries of the response's `errors`, messages redacted. */
  get errors(): readonly GraphQLErrorEntry[] {
    return this.#details.errors ?? [];
  }

  /** Headers of the response by lower-case name, without cookies; redacted. Empty without a response. */
  get headers(): Readonly<Record<string, string>> {
    return this.#details.headers ?? {};
  }

  /** `extensions` of the response, if it has them; redacted. Each entry of `errors` has its own. */
  get extensions(): Readonly<Record<string, unknown>> | undefined {
    return this.#details.extensions;
  }

  toJSON(): Record<string, unknown> {
    return { name: this.name, message: this.message, ...Object.fromEntries(Object.entries(this)) };
  }
}

/** True for an error of the SDK, also of another copy of the package; with `code`, for that code only. */
export function isWorkspaceTasksError(value: unknown): value is WorkspaceTasksError;
export function isWorkspaceTasksError<Code extends ErrorCode>(
  value: unknown,
  code: Code,
): value is WorkspaceTasksError & { readonly code: Code };
export function isWorkspaceTasksError(value: unknown, code?: ErrorCode): boolean {
  if (typeof value !== "object" || value === null || !(brand in value)) return false;
  return code === undefined || (value as unknown as WorkspaceTasksError).code === code;
}
