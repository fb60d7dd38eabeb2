// Many concurrent calls may share one signal. They share one listener on it, which is removed with the last of them: a
// signal that lives as long as the process accumulates nothing, and Node does not warn of a leak at the eleventh call.

interface SharedListener {
  readonly callbacks: Set<() => void>;
  readonly onAbort: () => void;
}

const listeners = new WeakMap<AbortSignal, SharedListener>();

/** Runs `callback` when the signal aborts, at once if it has. The returned function removes it. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  const listener = listeners.get(signal) ?? listen(signal);
  // Wrapped, so that the same function can be added twice.
  const own = () => callback();
  listener.callbacks.add(own);
  return () => {
    listener.callbacks.delete(own);
    if (listener.callbacks.size > 0 || listeners.get(signal) !== listener) return;
    listeners.delete(signal);
    signal.removeEventListener("abort", listener.onAbort);
  };
}

function listen(signal: AbortSignal): SharedListener {
  const callbacks = new Set<() => void>();
  const onAbort = () => {
    for (const callback of [...callbacks]) callback();
  };
  const listener = { callbacks, onAbort };
  signal.addEventListener("abort", onAbort);
  listeners.set(signal, listener);
  return listener;
}
