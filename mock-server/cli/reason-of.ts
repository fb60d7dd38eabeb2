import { isMockServerError } from "../errors.ts";

/** Why something failed: the system's code such as ENOENT, or the message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && !isMockServerError(error) ? String(error.code) : error.message;
}
