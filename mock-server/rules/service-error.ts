import { MockServerError, type ServiceErrorCode } from "../errors.ts";

/** A request that the service rejects; the client sees code and message. */
export class ServiceError extends MockServerError {
  declare readonly code: ServiceErrorCode;
  /** Why, for the request journal; the client never sees it. */
  readonly reason: string | undefined;

  constructor(code: ServiceErrorCode, message: string, reason?: string) {
    super(code, message);
    this.reason = reason;
  }
}
