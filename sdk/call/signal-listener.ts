/**
 * Many calls at once may hold one signal. They share one listener on it, which goes when the last call does: a signal
 * that lives as long as the process collects nothing, and Node has no reason to warn of a leak at the eleventh call.
 */
interface Listening {
  readonly runs: Set<() => void>;
  readonly onAbort: () => void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/** Runs `run` when the signal aborts. The result takes it off again. */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  const entry = listening.get(signal) ?? listen(signal);
  // Wrapped, so that the same function can be given twice.
  const own = () => run();
  entry.runs.add(own);
  return () => {
    entry.runs.delete(own);
    if (entry.runs.size > 0 || listening.get(signal) !== entry) return;
    listening.delete(signal);
    signal.removeEventListener("abort", entry.onAbort);
  };
}

function listen(signal: AbortSignal): Listening {
  const runs = new Set<() => void>();
  const onAbort = () => {
    for (const run of [...runs]) run();
  };
  const entry = { runs, onAbort };
  signal.addEventListener("abort", onAbort);
  listening.set(signal, entry);
  return entry;
}
