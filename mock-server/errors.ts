import { keepName } from "@workspace-tasks/kernel/keep-name.ts";

/** Codes in `extensions.code` of GraphQL errors. @see interface §7, which has only two of them */
export const serviceErrorCodes = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "BAD_USER_INPUT",
  "NOT_FOUND",
  "CONFLICT",
  "GRAPHQL_VALIDATION_FAILED",
  "GRAPHQL_PARSE_FAILED",
  "BAD_REQUEST",
  "INTERNAL_SERVER_ERROR",
] as const;

/** Every code that an error of the mock server can have; `docs/mock-errors.md` explains each. */
export const mockServerErrorCodes = [
  ...serviceErrorCodes,
  // Options and arguments that can never work.
  "CONFIGURATION_INVALID",
  "ARGUMENT_INVALID",
  // Packages of different releases.
  "VERSION_MISMATCH",
  // The request to the control API.
  "BODY_INVALID",
  "QUERY_INVALID",
  "BODY_TOO_LARGE",
  "METHOD_NOT_ALLOWED",
  "FOREIGN_HOST",
  "FOREIGN_ORIGIN",
  // What the control API could not do.
  "MOCK_CLOSED",
  "CLOCK_IS_REAL",
  "CLOCK_BLOCKED",
  "WAIT_TIMED_OUT",
  "SNAPSHOT_INVALID",
  "INTERNAL",
  // The control client alone.
  "NETWORK_FAILED",
  "REQUEST_TIMEOUT",
  "RESPONSE_INVALID",
] as const;

export type ServiceErrorCode = (typeof serviceErrorCodes)[number];
export type MockServerErrorCode = (typeof mockServerErrorCodes)[number];

// Recognised by a brand and not by class, so that two copies of the package in one process understand each other.
const brand: unique symbol = Symbol.for("workspace-tasks/mock-server-error/v1") as never;

/** One field that is wrong. */
export interface MockServerIssue {
  readonly path: string;
  readonly message: string;
}

export interface MockServerErrorOptions extends ErrorOptions {
  readonly issues?: readonly MockServerIssue[] | undefined;
}

/** The base of all errors of the mock server. */
export class MockServerError extends Error {
  static {
    keepName(MockServerError, "MockServerError");
  }

  readonly code: MockServerErrorCode;
  /** The fields of a body or query that are wrong. */
  readonly issues: readonly MockServerIssue[];

  constructor(
    code: MockServerErrorCode,
    message: string,
    { issues = [], ...options }: MockServerErrorOptions = {},
  ) {
    super(message, options);
    this.code = code;
    this.issues = issues;
    Object.defineProperty(this, brand, { value: true });
    Object.defineProperty(this, "name", { value: new.target.name, configurable: true });
  }
}

/** True for an error of the mock server, also of another copy of the package; with `code`, for that code only. */
export function isMockServerError(value: unknown, code?: MockServerErrorCode): value is MockServerError {
  if (typeof value !== "object" || value === null || !(brand in value)) return false;
  return code === undefined || (value as unknown as MockServerError).code === code;
}
