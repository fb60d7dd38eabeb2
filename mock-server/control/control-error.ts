/** Codes of the control API; its OpenAPI document lists them. */
export type ControlErrorCode =
  | "INVALID_BODY"
  | "INVALID_QUERY"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "FOREIGN_HOST"
  | "FOREIGN_ORIGIN"
  | "BODY_TOO_LARGE"
  | "CONFLICT"
  | "CLOCK_IS_REAL"
  | "WAIT_TIMED_OUT"
  | "SNAPSHOT_REFUSED"
  | "SCENARIO_REFUSED"
  | "INTERNAL";

export type ControlIssue = { readonly path: string; readonly message: string };

export const controlErrorStatuses: Readonly<Record<ControlErrorCode, number>> = {
  INVALID_BODY: 400,
  INVALID_QUERY: 400,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  FOREIGN_HOST: 403,
  FOREIGN_ORIGIN: 403,
  BODY_TOO_LARGE: 413,
  CONFLICT: 409,
  CLOCK_IS_REAL: 409,
  WAIT_TIMED_OUT: 408,
  SNAPSHOT_REFUSED: 422,
  SCENARIO_REFUSED: 422,
  INTERNAL: 500,
};

/** A refusal of the control API. */
export class ControlError extends Error {
  override readonly name = "ControlError";
  readonly code: ControlErrorCode;
  readonly issues: readonly ControlIssue[];

  constructor(code: ControlErrorCode, message: string, issues: readonly ControlIssue[] = []) {
    super(message);
    this.code = code;
    this.issues = issues;
  }

  get status(): number {
    return controlErrorStatuses[this.code];
  }
}
