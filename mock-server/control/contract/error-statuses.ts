import type { MockServerErrorCode } from "../../errors.ts";

/** HTTP statuses of the codes that the control API responds with. */
export const errorStatuses: { readonly [Code in MockServerErrorCode]?: number } = {
  CONFIGURATION_INVALID: 400,
  ARGUMENT_INVALID: 400,
  BODY_INVALID: 400,
  QUERY_INVALID: 400,
  FOREIGN_HOST: 403,
  FOREIGN_ORIGIN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  WAIT_TIMED_OUT: 408,
  CONFLICT: 409,
  MOCK_CLOSED: 409,
  CLOCK_IS_REAL: 409,
  CLOCK_BLOCKED: 409,
  BODY_TOO_LARGE: 413,
  SNAPSHOT_INVALID: 422,
  INTERNAL: 500,
};
