import type { Clock } from "../clock.ts";

export interface TimeoutOptions<Value> {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly createError: () => Error;
  /** Called with a value that arrives after the limit. */
  readonly onLate?: ((value: Value) => void) | undefined;
}

/** Settles as what `start` returns or throws does; rejects when that takes longer than `timeoutMs`. */
export function withTimeout<Value>(
  start: () => Promise<Value>,
  { timeoutMs, clock, createError, onLate }: TimeoutOptions<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    // `start` is a function of the caller: what it returns may be no promise.
    const pending = Promise.resolve(start());
    let isLate = false;
    const cancel = clock.schedule(timeoutMs, () => {
      isLate = true;
      reject(createError());
    });
    pending
      .finally(cancel)
      .then((value) => (isLate ? onLate?.(value) : resolve(value)), reject)
      // Of `onLate`: a late value that is not what it should be concerns no call.
      .catch(() => {});
  });
}
