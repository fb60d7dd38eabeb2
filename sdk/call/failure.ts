import * as errors from "../errors.ts";
import type { UntypedOperation } from "./operation.ts";
import type { Redactor } from "./redactor.ts";

/** What could make the same request succeed. */
export type Remedy = "none" | "repeat" | "fresh_token" | "wait_for_rate_limit";

/** A failed step of a call, as data: the retry policy decides on it before it becomes an error. */
export interface Failure extends Omit<errors.ErrorDetails, "attempts" | "operationName"> {
  readonly code: errors.ErrorCode;
  readonly message: string;
  readonly outcome: errors.Outcome;
  readonly remedy: Remedy;
}

/** A failure; unless the details say otherwise, nothing was sent and nothing would help. */
export function failure(
  code: errors.ErrorCode,
  message: string,
  details?: Partial<Omit<Failure, "code" | "message">>,
): Failure {
  return { code, message, outcome: "not_sent", remedy: "none", ...details };
}

/** The caller's `onProgress` has thrown or rejected. */
export const onProgressFailed = (cause: unknown): Failure =>
  failure("ON_PROGRESS_FAILED", "onProgress failed", { outcome: "rejected", cause });

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
  readonly operation?: Pick<UntypedOperation, "method" | "name"> | undefined;
  /** Redacts the cause, unless it is the reason of the caller's own signal. */
  readonly redactor?: Redactor | undefined;
}

export function toError(
  failure: Failure,
  { attempts, operation, redactor }: FailureContext,
): errors.WorkspaceTasksError {
  const { code, message, cause, ...rest } = failure;
  const isOwn = code === "ABORTED" || errors.isWorkspaceTasksError(cause);
  const printed = redactor && !isOwn ? redactor.cause(cause) : cause;
  const details = { ...rest, cause: printed, attempts, operationName: operation?.name };
  const named = operation ? `${operation.method}: ${message}` : message;
  const error = new errors.WorkspaceTasksError(code, named, details);
  // How Next.js recognises its own error, with which it ends a request of a page that it would have kept.
  const digest: unknown = Reflect.get(Object(printed), "digest");
  if (digest !== undefined) Object.defineProperty(error, "digest", { value: digest, writable: true });
  return error;
}
