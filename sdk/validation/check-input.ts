// Arguments are checked before anything is sent: a mistake then costs no request of the allowance, and
// the error says which field it is. Where interface §7 has words for it, the error has the same words and
// the same code as the service's own answer.

import { WorkspaceTasksError } from "../errors.ts";
import { type Check, check, textSuch } from "./schema.ts";

/** Returns the checked value, or throws an error with outcome `not_sent`. `method` is how the caller knows it. */
export function checkInput<Value>(method: string, by: Check<Value>, value: unknown): Value {
  return check(by, value, ({ code, message }) =>
    code === undefined
      ? new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${message}`)
      : new WorkspaceTasksError(code, message),
  );
}

export const identifier = textSuch("a string", (value) => value !== "", "an empty one");
export const nonBlank = textSuch("a string that is not blank", (value) => value.trim() !== "", "a blank one");
