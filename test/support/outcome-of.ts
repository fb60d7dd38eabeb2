import { isWorkspaceTasksError, type WorkspaceTasksError } from "../../sdk/errors.ts";

/** The value of a promise, or the error it was rejected with. */
export function outcomeOf<Value>(promise: Promise<Value>): Promise<Value | Error> {
  return promise.catch((error: Error) => error);
}

/** The code of the SDK error that a call fails with, or "no error". */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  const outcome = await outcomeOf(call);
  if (isWorkspaceTasksError(outcome)) return outcome.code;
  return outcome instanceof Error ? String(outcome) : "no error";
}

/** The SDK error that a call fails with. */
export async function failureOf(call: Promise<unknown>): Promise<WorkspaceTasksError> {
  const outcome = await outcomeOf(call);
  if (isWorkspaceTasksError(outcome)) return outcome;
  throw new Error("expected the call to fail with an error of the SDK", { cause: outcome });
}
