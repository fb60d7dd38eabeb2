// Functions of the application that are called for their effects. Whatever they throw, or a promise of theirs is rejected
// with, is theirs alone: neither a response nor an event depends on it, and the process does not end.

/** Calls `call` and hands what it throws, or what the promise that it returns is rejected with, to `onFailed`. */
export function callSafely(call: () => unknown, onFailed: (error: unknown) => void = () => {}): void {
  try {
    const returned = call();
    if (typeof (returned as PromiseLike<unknown> | null | undefined)?.then === "function")
      Promise.resolve(returned).then(undefined, onFailed);
  } catch (error) {
    onFailed(error);
  }
}

/** Calls a listener, if there is one, whose failure is ignored. */
export function notifyListener<Args extends unknown[]>(
  listener: ((...args: Args) => unknown) | undefined,
  ...args: Args
): void {
  callSafely(() => listener?.(...args));
}
