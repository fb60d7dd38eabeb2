import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isMockServerError } from "../errors.ts";

/** Why something failed: the system's code such as ENOENT, or the message. */
export function reasonOf(error: unknown): string {
  if (!isError(error)) return String(error);
  return "code" in error && !isMockServerError(error) ? String(error.code) : error.message;
}
