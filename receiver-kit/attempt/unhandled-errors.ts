// A function of the application that awaits a query, and is not awaited itself, has a promise of its own that nothing
// handles. Only the process sees that, and ends. While an error of a query may become such a rejection, which is known in
// the same turn of the event loop, it is caught here. Other unhandled rejections are none of this package's business: they
// are raised again without the listener, so that Node, its flags and other listeners treat them as they would have.

const listeners = new WeakMap<object, () => void>();
let pending = 0;

/** Calls `onUnhandled` instead of ending the process when a promise is rejected with `error`, or because of it, and nothing handles that. */
export function catchUnhandled(error: unknown, onUnhandled: () => void): void {
  if (typeof error !== "object" || error === null) return;
  listeners.set(error, onUnhandled);
  pending += 1;
  if (pending === 1) process.on("unhandledRejection", onRejection);
  setImmediate(() => {
    pending -= 1;
    if (pending === 0) process.off("unhandledRejection", onRejection);
  });
}

function onRejection(reason: unknown): void {
  const onUnhandled = listenerOf(reason, causesMax);
  if (onUnhandled) onUnhandled();
  if (onUnhandled || process.listenerCount("unhandledRejection") > 1) return;
  process.off("unhandledRejection", onRejection);
  void Promise.reject(reason);
  setImmediate(() => {
    if (pending > 0 && !process.listeners("unhandledRejection").includes(onRejection))
      process.on("unhandledRejection", onRejection);
  });
}

function listenerOf(reason: unknown, causesLeft: number): (() => void) | undefined {
  if (typeof reason !== "object" || reason === null) return undefined;
  const found = listeners.get(reason);
  if (found || causesLeft === 0 || !("cause" in reason)) return found;
  return listenerOf(reason.cause, causesLeft - 1);
}

const causesMax = 5;
