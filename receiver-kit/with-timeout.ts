import type { Clock } from "./clock.ts";

/** Settles as `pending` does; rejects with the error of `createError` when that takes longer than `timeoutMs`. */
export function withTimeout<Value>(
  pending: Promise<Value>,
  timeoutMs: number,
  clock: Clock,
  createError: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(timeoutMs, () => reject(createError()));
    pending.then(resolve, reject).finally(cancel);
  });
}
