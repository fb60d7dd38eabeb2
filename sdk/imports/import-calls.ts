import type { CallScope } from "../call/call-scope.ts";
import { FailureError } from "../call/failure.ts";
import { isWorkspaceTasksError, type WorkspaceTasksError } from "../errors.ts";
import { kindOfFailure } from "./outcome-policy.ts";

/** A call with a certain outcome, or one that the caller decides about. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  /** `wasInDoubt`: an earlier attempt may have taken effect. */
  | { readonly ok: false; readonly error: WorkspaceTasksError; readonly wasInDoubt: boolean };

export interface SettleOptions {
  readonly scope: CallScope;
  readonly random: () => number;
  /** The call may be sent again when it is unknown whether it took effect. */
  readonly repeatsDoubt?: boolean | undefined;
  /** Called before such a repetition. */
  readonly onDoubt?: (() => void) | undefined;
}

/** How often a call fails in a row before it ends the import. */
export const failuresMax = 8;
const pauseMsMax = 60_000;
const retryAfterMsMax = 600_000;

/** Sends a call until its outcome is certain. Throws what concerns the whole import, and the last of too many failures. */
export async function settle<Value>(
  send: () => Promise<Value>,
  { scope, random, repeatsDoubt = false, onDoubt }: SettleOptions,
): Promise<Settled<Value>> {
  let wasInDoubt = false;
  for (let failures = 1; ; failures++) {
    if (scope.failure) throw new FailureError(scope.failure);
    try {
      return { ok: true, value: await send() };
    } catch (error) {
      if (!isWorkspaceTasksError(error)) throw error;
      const kind = kindOfFailure(error);
      if (kind === "import") throw error;
      if (kind === "call" || (kind === "doubt" && !repeatsDoubt)) return { ok: false, error, wasInDoubt };
      if (failures === failuresMax) throw error;
      if (kind === "doubt") {
        wasInDoubt = true;
        onDoubt?.();
      }
      await scope.sleep(pauseMs(failures, error.retryAfterMs, random));
    }
  }
}

function pauseMs(failures: number, retryAfterMs = 0, random: () => number): number {
  const backoffMs = Math.min(pauseMsMax, 1_000 * 2 ** (failures - 1)) * (0.5 + 0.5 * random());
  return Math.max(backoffMs, Math.min(retryAfterMs, retryAfterMsMax));
}

/** Runs tasks, at most `count` at a time, the others in the order in which they came. */
export function createSlots(count: number): <Value>(task: () => Promise<Value>) => Promise<Value> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
