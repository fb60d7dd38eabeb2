/**
 * Latency between a client and a service, in virtual time: `forwardMs` for a request, `backwardMs` for its response. An
 * abort ends the current leg; it does not undo a request that has arrived.
 */
export interface Legs {
  readonly forwardMs: number;
  readonly backwardMs: number;
}

interface Timers {
  schedule(delayMs: number, run: () => void): () => void;
}

type Send<Init, Result> = (input: URL | string, init: Init) => Promise<Result>;

export function withLatency<Init extends { readonly signal?: AbortSignal | null } | undefined, Result>(
  fetch: Send<Init, Result>,
  clock: Timers,
  legs: () => Legs,
): Send<Init, Result> {
  return async (input, init) => {
    const { forwardMs, backwardMs } = legs();
    await pause(clock, forwardMs, init?.signal);
    const response = await fetch(input, init);
    await pause(clock, backwardMs, init?.signal);
    return response;
  };
}

function pause(clock: Timers, delayMs: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cut = () => {
      cancel();
      reject(new DOMException("aborted", "AbortError"));
    };
    const cancel = clock.schedule(delayMs, () => {
      signal?.removeEventListener("abort", cut);
      resolve();
    });
    if (signal?.aborted) cut();
    else signal?.addEventListener("abort", cut, { once: true });
  });
}

/** Random numbers from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
