import type { CallScope } from "../call/call-scope.ts";
import { FailureError } from "../call/failure.ts";
import { type ErrorCode, isWorkspaceTasksError, type WorkspaceTasksError } from "../errors.ts";

type Failed = Pick<WorkspaceTasksError, "code" | "outcome">;

/**
 * - `import`: it concerns every call, and ends the import.
 * - `repeat`: it had no effect, and may succeed later.
 * - `doubt`: it may have had an effect.
 * - `call`: the service rejected what this call says.
 */
export type FailureKind = "import" | "repeat" | "doubt" | "call";

const importCodes: ReadonlySet<ErrorCode> = new Set([
  "API_KEY_REJECTED",
  "API_KEY_UNAVAILABLE",
  "PERMISSION_DENIED",
  "CLIENT_CLOSED",
  "CONFIGURATION_INVALID",
  "ABORTED",
  "ON_PROGRESS_FAILED",
]);
const callCodes: ReadonlySet<ErrorCode> = new Set([
  "ARGUMENT_INVALID",
  "INPUT_INVALID",
  "DOCUMENT_INVALID",
  "NOT_FOUND",
  "CONFLICT",
  "HTTP_REQUEST_REJECTED",
  "GRAPHQL_ERROR",
]);

export function kindOfFailure({ code, outcome }: Failed): FailureKind {
  if (importCodes.has(code) || code.startsWith("JOURNAL_")) return "import";
  // Whatever bytes of a file have arrived, nothing refers to them.
  if (code.startsWith("UPLOAD_") && code !== "UPLOAD_FAILED") return "call";
  if (outcome === "unknown") return "doubt";
  // What failed is not this call: the exchange of the key, or the rate limit.
  if (outcome === "not_sent" && code !== "ARGUMENT_INVALID") return "repeat";
  return callCodes.has(code) ? "call" : "repeat";
}

/** A call with a certain outcome, or one that the caller decides about. `wasInDoubt`: an earlier attempt may have taken effect. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: WorkspaceTasksError; readonly wasInDoubt: boolean };

export interface SettleOptions {
  readonly scope: CallScope;
  readonly random: () => number;
  /** The call may be sent again when it is unknown whether it took effect. */
  readonly repeatsDoubt: boolean;
}

/** How often a call fails in a row before it ends the import. */
export const failuresMax = 8;
const pauseMsMax = 60_000;
const retryAfterMsMax = 600_000;

/** Sends a call until its outcome is certain. Throws what concerns the whole import, and the last of too many failures. */
export async function settle<Value>(
  send: () => Promise<Value>,
  { scope, random, repeatsDoubt }: SettleOptions,
): Promise<Settled<Value>> {
  let wasInDoubt = false;
  for (let failures = 1; ; failures++) {
    if (scope.failure) throw new FailureError(scope.failure);
    try {
      return { ok: true, value: await send() };
    } catch (error) {
      if (!isWorkspaceTasksError(error)) throw error;
      const kind = kindOfFailure(error);
      if (kind === "call" || (kind === "doubt" && !repeatsDoubt)) return { ok: false, error, wasInDoubt };
      if (kind === "import" || failures === failuresMax) throw error;
      wasInDoubt ||= kind === "doubt";
      await scope.sleep(pauseMs(failures, error.retryAfterMs, random));
    }
  }
}

function pauseMs(failures: number, retryAfterMs = 0, random: () => number): number {
  const backoffMs = Math.min(pauseMsMax, 1_000 * 2 ** (failures - 1)) * (0.5 + 0.5 * random());
  return Math.max(backoffMs, Math.min(retryAfterMs, retryAfterMsMax));
}
