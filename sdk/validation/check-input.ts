import { parse, type Schema } from "@workspace-tasks/kernel/schema.ts";
import { WorkspaceTasksError } from "../errors.ts";

/**
 * Returns the checked input of a method, or throws `ARGUMENT_INVALID`. Input is checked before anything is sent, so a wrong
 * type costs no request of the rate limit and the error names the field.
 */
export function checkInput<Value>(method: string, schema: Schema<Value>, input: unknown): Value {
  return parse(
    schema,
    input,
    ({ message }) => new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${message}`),
  );
}
