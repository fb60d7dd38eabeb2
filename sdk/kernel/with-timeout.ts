import type { Clock } from "./clock.ts";

/** Settles as `pending` does; rejects with the error of `createError` when that takes longer than `timeoutMs`. */
export function withTimeout<Value>(
  pending: Promise<Value>,
  timeoutMs: number,
  clock: Pick<Clock, "schedule">,
  createError: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(timeoutMs, () => reject(createError()));
    pending.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

/** Resolves when `pending` has settled, after `timeoutMs` at the latest. */
export function settledWithin(pending: Promise<unknown>, timeoutMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.schedule(timeoutMs, resolve);
    const settle = () => {
      cancel();
      resolve();
    };
    pending.then(settle, settle);
  });
}
