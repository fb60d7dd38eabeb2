import { isError } from "@workspace-tasks/kernel/realm.ts";
import type { TransportFailure } from "./port.ts";

/** Instead of messages such as `connect ECONNREFUSED 127.0.0.1:3000`, which repeat code and address. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the receiver closed the connection",
  ENOTFOUND: "unknown host name",
};

/** A network failure in a few words: the system's code where there is one. */
export function failed(error: unknown): TransportFailure {
  if (!isError(error)) return { status: null, error: "failed" };
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return {
    status: null,
    error: code ? `${code}: ${reasons[code] ?? (error.message || "connection failed")}` : error.message,
  };
}

/** @param hasBegun whether the head of the response has arrived */
export const timedOut = (timeoutMs: number, hasBegun = false): TransportFailure => ({
  status: null,
  error: `no ${hasBegun ? "complete " : ""}response within ${timeoutMs} ms`,
});
