import type { RecordedRequest } from "../api-types.ts";

export const nameOf = ({ operationName, operations }: RecordedRequest) =>
  operationName ?? (operations.join(", ") || "(no valid document)");

export const isRejected = ({ rejection, errors, status }: RecordedRequest) =>
  rejection !== null || errors.length > 0 || (status !== null && status >= 400);

/** Why it was rejected, in more detail than its caller got; or what happened to the response. */
export function reasonOf({ errors, rejection, faults, status }: RecordedRequest): string {
  return (
    rejection ??
    errors[0]?.message ??
    (faults.length > 0 ? `fault: ${faults.join(", ")} ${status ?? ""}`.trimEnd() : `${status}`)
  );
}

export const results = ["succeeded", "rejected", "faulty"] as const;

export const resultOf = (request: RecordedRequest): (typeof results)[number] =>
  request.faults.length > 0 ? "faulty" : isRejected(request) ? "rejected" : "succeeded";
