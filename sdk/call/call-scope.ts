import type { Clock } from "../clock.ts";
import { Failed, type Failure } from "./failure.ts";
import { onAbort } from "./signal-listener.ts";

/**
 * The life of one call. Whatever the call waits for (queue, token, pause, answer) it waits for through its scope,
 * so one deadline and one abort end all of it, and `dispose` takes everything off again.
 */
export interface CallScopeOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly limitMs?: number | undefined;
  /** The failure that running out of `limitMs` is. Default: `DEADLINE_EXCEEDED`. */
  readonly onLimit?: ((limitMs: number) => Failure) | undefined;
}

export class CallScope {
  readonly #clock: Clock;
  readonly #endsAtMs: number;
  readonly #listeners = new Set<(failure: Failure) => void>();
  readonly #cleanups: (() => void)[] = [];
  #failure: Failure | undefined;

  constructor(options: CallScopeOptions) {
    const { clock, signal, limitMs, onLimit = pastDeadline } = options;
    this.#clock = clock;
    this.#endsAtMs = limitMs === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() + limitMs;
    if (limitMs !== undefined) this.#cleanups.push(clock.schedule(limitMs, () => this.end(onLimit(limitMs))));
    if (signal) this.#follow(signal);
  }

  get failure(): Failure | undefined {
    return this.#failure;
  }

  remainingMs(): number {
    return Math.max(0, this.#endsAtMs - this.#clock.monotonic());
  }

  end(failure: Failure): void {
    if (this.#failure) return;
    this.#failure = failure;
    for (const listener of [...this.#listeners]) listener(failure);
    this.#listeners.clear();
  }

  /** Calls back when the scope ends, at once if it has. The result takes the listener off again. */
  onEnd(listener: (failure: Failure) => void): () => void {
    if (this.#failure) {
      listener(this.#failure);
      return () => {};
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Settles with `work`, or fails as soon as the scope ends. */
  race<Value>(work: PromiseLike<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const off = this.onEnd((failure) => reject(new Failed(failure)));
      work.then(
        (value) => {
          off();
          resolve(value);
        },
        (error: unknown) => {
          off();
          reject(error);
        },
      );
    });
  }

  sleep(delayMs: number): Promise<void> {
    let cancel = () => {};
    const pause = new Promise<void>((resolve) => {
      cancel = this.#clock.schedule(delayMs, resolve);
    });
    return this.race(pause).finally(() => cancel());
  }

  dispose(): void {
    for (const cleanup of this.#cleanups) cleanup();
    this.#cleanups.length = 0;
    this.#listeners.clear();
  }

  #follow(signal: AbortSignal): void {
    const abort = () => this.end(aborted(signal.reason));
    if (signal.aborted) {
      abort();
      return;
    }
    this.#cleanups.push(onAbort(signal, abort));
  }
}

function pastDeadline(limitMs: number): Failure {
  return {
    code: "DEADLINE_EXCEEDED",
    message: `the call took longer than deadlineMs (${limitMs})`,
    outcome: "not_sent",
    remedy: "none",
  };
}

function aborted(reason: unknown): Failure {
  return {
    code: "ABORTED",
    message: "the caller's signal ended the call",
    outcome: "not_sent",
    remedy: "none",
    cause: reason,
  };
}
