import type { TransportFailure } from "./port.ts";

/** A network failure in a few words: the system's code where there is one. */
export function failed(error: unknown): TransportFailure {
  if (!(error instanceof Error)) return { status: null, error: "failed" };
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return { status: null, error: code ? `${code}: ${error.message || "connection failed"}` : error.message };
}

/** @param hasBegun whether the head of the response has arrived */
export const timedOut = (timeoutMs: number, hasBegun = false): TransportFailure => ({
  status: null,
  error: `no ${hasBegun ? "complete " : ""}response within ${timeoutMs} ms`,
});
