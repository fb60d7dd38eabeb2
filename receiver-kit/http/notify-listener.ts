/** Calls a listener whose failure must not change the response. */
export function notifyListener<Args extends unknown[]>(
  listener: ((...args: Args) => void) | undefined,
  ...args: Args
): void {
  try {
    listener?.(...args);
  } catch {
    // The sender must get its response all the same.
  }
}
