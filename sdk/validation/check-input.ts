import { parse, type Schema } from "@workspace-tasks/kernel/schema.ts";
import { WorkspaceTasksError } from "../errors.ts";

/**
 * Returns the checked input of a method, or throws an error with outcome `not_sent`.
 *
 * Input is checked before anything is sent, so an error costs no request of the rate limit and names the field.
 */
export function checkInput<Value>(method: string, schema: Schema<Value>, input: unknown): Value {
  return parse(
    schema,
    input,
    (invalid) => new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${invalid.message}`),
  );
}
