import { parse, type Schema, ValidationError } from "@workspace-tasks/kernel/schema.ts";
import { type ErrorCode, WorkspaceTasksError } from "../errors.ts";

/**
 * Returns the checked input of a method, or throws an error with outcome `not_sent`.
 *
 * Input is checked before anything is sent, so an error costs no request of the rate limit and names the field. Where
 * interface §7 defines the error, it has the code and message of the service's own response.
 */
export function checkInput<Value>(method: string, schema: Schema<Value>, input: unknown): Value {
  return parse(schema, input, (invalid) =>
    invalid instanceof ServiceRuleError
      ? new WorkspaceTasksError(invalid.code, invalid.message)
      : new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${invalid.message}`),
  );
}

/** A value that the service would reject, with the code and the message that it has for this. */
class ServiceRuleError extends ValidationError {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super("", message);
    this.code = code;
  }
}

/** Fails with the code and message that the service itself would return. */
export const refineWith =
  <Value>(
    schema: Schema<Value>,
    holds: (value: Value) => boolean,
    code: ErrorCode,
    message: string,
  ): Schema<Value> =>
  (value, path) => {
    const checked = schema(value, path);
    if (holds(checked)) return checked;
    throw new ServiceRuleError(code, message);
  };
