// A function of the application that awaits a query, and is not awaited itself, has a promise of its own that nothing
// handles. Only the process sees that, and ends. From the first query that fails until no receiver runs any more, such
// rejections are caught here; without a receiver, those of the same turn of the event loop. They are recognised by the error
// of the query: as the reason, or in what the reason refers to. Other unhandled rejections are none of this package's
// business: they are raised again without the listener, so that Node, its flags and other listeners treat them as they would
// have. Other listeners see all.

const listeners = new WeakMap<object, () => void>();
/** Running receivers, and errors of this turn. */
let users = 0;

/** Keeps on catching what follows from an error until the returned function is called. */
export function watchUnhandled(): () => void {
  users += 1;
  let isUser = true;
  return () => {
    if (isUser) users -= 1;
    isUser = false;
    if (users === 0) process.off("unhandledRejection", onQueryRejection);
  };
}

/** Calls `onUnhandled` instead of ending the process when a promise is rejected with `error`, or because of it, and nothing handles that. */
export function catchUnhandled(error: unknown, onUnhandled: () => void): void {
  if (typeof error !== "object" || error === null) return;
  listeners.set(error, onUnhandled);
  listen();
  setImmediate(watchUnhandled());
}

function listen(): void {
  if (!process.listeners("unhandledRejection").includes(onQueryRejection))
    process.prependListener("unhandledRejection", onQueryRejection);
}

function onQueryRejection(reason: unknown): void {
  const onUnhandled = listenerOf(reason);
  if (onUnhandled) onUnhandled();
  if (onUnhandled || process.listenerCount("unhandledRejection") > 1) return;
  process.off("unhandledRejection", onQueryRejection);
  void Promise.reject(reason);
  setImmediate(() => {
    if (users > 0) listen();
  });
}

/** Looks at the error and at what it refers to, such as `cause`, the errors of an AggregateError, or `driverError`. */
function listenerOf(reason: unknown): (() => void) | undefined {
  const found = new Set([reason]);
  for (const each of found) {
    if (typeof each !== "object" || each === null) continue;
    const listener = listeners.get(each);
    if (listener) return listener;
    for (const value of valuesOf(each)) if (found.size < valuesMax) found.add(value);
  }
  return undefined;
}

function valuesOf(value: object): readonly unknown[] {
  try {
    const { cause, errors } = value as { readonly cause?: unknown; readonly errors?: unknown };
    return [cause, errors, ...(ArrayBuffer.isView(value) ? [] : Object.values(value))];
  } catch {
    return [];
  }
}

const valuesMax = 200;
