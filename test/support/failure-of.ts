import { isWorkspaceTasksError, type WorkspaceTasksError } from "../../sdk/errors.ts";

/** The error of the SDK that the call fails with. */
export async function failureOf(call: Promise<unknown>): Promise<WorkspaceTasksError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isWorkspaceTasksError(error)) {
    throw new Error("expected the call to fail with an error of the SDK", { cause: error });
  }
  return error;
}
