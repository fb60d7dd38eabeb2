/** Codes in `extensions.code`. @see interface §7, which has only two of them */
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

/** A request that the service rejects; the client sees code and message. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;
  /** Why, for the request journal; the client never sees it. */
  readonly reason: string | undefined;

  constructor(code: ServiceErrorCode, message: string, reason?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}
