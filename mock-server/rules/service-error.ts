/** Codes the service puts into `extensions.code`. @see interface §7; all but two lie beyond it */
export type ServiceErrorCode =
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "RATE_LIMITED"
  | "BAD_USER_INPUT"
  | "NOT_FOUND"
  | "CONFLICT"
  | "GRAPHQL_VALIDATION_FAILED"
  | "GRAPHQL_PARSE_FAILED"
  | "BAD_REQUEST"
  | "INTERNAL_SERVER_ERROR";

/** A refusal in the service's own words: the message is what the partner sees. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;
  /** Why, for the request journal; the partner never sees it. */
  readonly reason: string | undefined;

  constructor(code: ServiceErrorCode, message: string, reason?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}
