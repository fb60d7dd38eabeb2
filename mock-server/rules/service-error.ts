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

export const badInput = (message: string, reason?: string) =>
  new ServiceError("BAD_USER_INPUT", message, reason);
export const notFound = (message: string) => new ServiceError("NOT_FOUND", message);
export const conflict = (message: string) => new ServiceError("CONFLICT", message);

/** @throws ServiceError NOT_FOUND without a value */
export function found<Value>(value: Value | null | undefined, message: string): Value {
  if (value == null) throw notFound(message);
  return value;
}
