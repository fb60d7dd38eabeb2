// What the SQLSTATE of an error says about the server and the connection.

import { isReceiverError, ReceiverError } from "../../../errors.ts";

/** Empty where there is none. */
export const codeOf = (error: unknown) => String((error as { code?: unknown } | null)?.code ?? "");

/**
 * True for an error that the server reported and that leaves its connection usable: not one that ends it, nor that of a
 * server that is read-only because another one is the primary now.
 */
export function isFromServer(error: unknown): boolean {
  if (isReceiverError(error, "RELEASE_TOO_OLD")) return true;
  const code = codeOf(error);
  return /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|25006)/.test(code);
}

/** Of a server that is shut down or starting. */
export const isShutDown = (error: unknown): boolean => /^57P0[1-4]$/.test(codeOf(error));

/** The same, or of a statement of the inbox, which is never read-only. */
export const isErrorOfOldPrimary = (error: unknown): boolean =>
  isShutDown(error) || codeOf(error) === "25006";

/** A lock was not available in time, or two sessions waited for each other. */
export const isLockConflict = (error: unknown): boolean => /^(55P03|40P01)$/.test(codeOf(error));

/**
 * The error of opening an inbox, with what to do when the server cannot be reached, does not let the role in, or has no
 * such database: the driver's own says nothing of an inbox.
 */
export function nameNoConnection(cause: unknown): unknown {
  if (isReceiverError(cause) || !/^(E[A-Z_]+|28\w{3}|3D000)$/.test(codeOf(cause))) return cause;
  const reason = (cause as Error).message || codeOf(cause);
  return new ReceiverError(
    "INBOX_OPEN_FAILED",
    `postgres inbox: it cannot be opened: ${reason}; check that PostgreSQL runs, and the pool's connectionString, such as of DATABASE_URL`,
    { cause },
  );
}
