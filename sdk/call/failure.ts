import {
  AbortedError,
  AuthenticationError,
  ConfigurationError,
  DeadlineExceededError,
  type ErrorCode,
  type ErrorDetails,
  GraphQLRequestError,
  type Outcome,
  PermissionError,
  RateLimitError,
  RateLimitQueueFullError,
  RequestTimeoutError,
  WorkspaceTasksError,
} from "../errors.ts";

/** What could make the same request succeed. */
export type Remedy = "none" | "repeat" | "fresh_token" | "wait_for_rate_limit";

/** A failed step of a call, as data: the retry policy decides on it before it becomes an error. */
export interface Failure extends Omit<ErrorDetails, "attempts" | "operationName"> {
  readonly code: ErrorCode;
  readonly message: string;
  readonly outcome: Outcome;
  readonly remedy: Remedy;
}

/** A failure; unless the details say otherwise, nothing was sent and nothing would help. */
export function failure(
  code: ErrorCode,
  message: string,
  details?: Partial<Omit<Failure, "code" | "message">>,
): Failure {
  return { code, message, outcome: "not_sent", remedy: "none", ...details };
}

/** Carries a failure through `await`; becomes a `WorkspaceTasksError` before it reaches the caller. */
export class FailureError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.code);
    this.failure = failure;
    Object.defineProperty(this, brand, { value: true });
  }

  // A limiter or a token that clients share may belong to another copy of this module.
  static override [Symbol.hasInstance](value: unknown): value is FailureError {
    return typeof value === "object" && value !== null && brand in value;
  }
}

const brand: unique symbol = Symbol.for("workspace-tasks/failure/v1") as never;

export interface FailureContext {
  readonly attempts: number;
  readonly operationName?: string | undefined;
}

export function toError(failure: Failure, context: FailureContext): WorkspaceTasksError {
  const { code, message, ...rest } = failure;
  const details = { ...rest, ...context };
  const named = context.operationName === undefined ? message : `${context.operationName}: ${message}`;
  if (code === "CONFIGURATION_INVALID") return new ConfigurationError(named, details);
  const ErrorClass = classes[code] ?? (rest.errors === undefined ? WorkspaceTasksError : GraphQLRequestError);
  return new ErrorClass(code, named, details);
}

const classes: { readonly [Code in ErrorCode]?: typeof WorkspaceTasksError } = {
  ABORTED: AbortedError,
  API_KEY_REJECTED: AuthenticationError,
  DEADLINE_EXCEEDED: DeadlineExceededError,
  PERMISSION_DENIED: PermissionError,
  RATE_LIMITED: RateLimitError,
  RATE_LIMIT_QUEUE_FULL: RateLimitQueueFullError,
  RATE_LIMIT_WAIT_EXCEEDED: RateLimitError,
  REQUEST_TIMEOUT: RequestTimeoutError,
};
