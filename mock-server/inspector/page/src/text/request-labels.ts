import type { RecordedRequest } from "@workspace-tasks/mock-server/control";

export const nameOf = ({ operationName, operations }: RecordedRequest) =>
  operationName ?? (operations.join(", ") || "(no valid document)");

/** Why it was rejected, in more detail than its caller got; or what happened to the response. */
export function reasonOf({ errors, rejection, faults, status }: RecordedRequest): string {
  return (
    rejection ??
    errors[0]?.message ??
    (faults.length > 0 ? `fault: ${faults.join(", ")} ${status ?? ""}`.trimEnd() : `${status}`)
  );
}
