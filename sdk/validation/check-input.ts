import { WorkspaceTasksError } from "../errors.ts";
import { parse, type Schema } from "./schema.ts";

/**
 * Returns the checked input of a method, or throws an error with outcome `not_sent`.
 *
 * Input is checked before anything is sent, so an error costs no request of the rate limit and names the field. Where
 * interface §7 defines the error, it has the code and message of the service's own response.
 */
export function checkInput<Value>(method: string, schema: Schema<Value>, input: unknown): Value {
  return parse(schema, input, ({ code, message }) =>
    code === undefined
      ? new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${message}`)
      : new WorkspaceTasksError(code, message),
  );
}
