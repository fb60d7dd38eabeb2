import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { builtInModule } from "@workspace-tasks/kernel/node-module.ts";
import { type Failure, FailureError, failure } from "./failure.ts";

// The lifetime of a client, a call, an attempt or an upload. All waiting (queue, token, pause, response) happens
// through a scope, so one deadline, one abort or the end of a parent ends all of it.
//
//   open ──end, limit, signal, or the parent ended──► ended (keeps its first failure)
//   open or ended ──dispose──► holds no timer and no listener, neither on the signal nor on the parent
//
// A timer is set only while something waits. A child counts the limits of its parents itself, so a call whose attempt
// waits has one timer, whichever of its limits is the first to elapse.

export interface ScopeLimits {
  readonly signal?: AbortSignal | undefined;
  readonly limitMs?: number | undefined;
  /** Builds the failure reported when `limitMs` elapses. Default: `DEADLINE_EXCEEDED`. */
  readonly onLimit?: ((limitMs: number) => Failure) | undefined;
}

export class CallScope {
  readonly #clock: Clock;
  readonly #endsAtMs: number;
  /** What the scope ends with at `#endsAtMs`; a child may have these of its parent. */
  readonly #limitMs: number;
  readonly #onLimit: (limitMs: number) => Failure;
  readonly #listeners = new Set<(failure: Failure) => void>();
  readonly #cleanups: (() => void)[] = [];
  #hasTimer = false;
  #failure: Failure | undefined;

  constructor(clock: Clock, limits: ScopeLimits = {}, parent?: CallScope) {
    const { signal, limitMs = Number.POSITIVE_INFINITY, onLimit = deadlineExceeded } = limits;
    const endsAtMs = limitMs === Number.POSITIVE_INFINITY ? limitMs : clock.monotonic() + limitMs;
    const isParentFirst = parent !== undefined && parent.#endsAtMs <= endsAtMs;
    this.#clock = clock;
    this.#endsAtMs = isParentFirst ? parent.#endsAtMs : endsAtMs;
    this.#limitMs = isParentFirst ? parent.#limitMs : limitMs;
    this.#onLimit = isParentFirst ? parent.#onLimit : onLimit;
    if (parent) this.#cleanups.push(parent.#listen((failure) => this.end(failure)));
    if (signal) this.#cleanups.push(onAbort(signal, () => this.end(aborted(signal.reason))));
  }

  /** Why the scope has ended. No timer may have been set that ends it at its limit. */
  get failure(): Failure | undefined {
    return this.#failure ?? (this.remainingMs() > 0 ? undefined : this.#onLimit(this.#limitMs));
  }

  /** A scope that ends with this one, or earlier. The code that opens it disposes of it. */
  child(limits?: ScopeLimits): CallScope {
    return new CallScope(this.#clock, limits, this);
  }

  /** Runs work in a scope that ends with this one, or earlier. The work may throw, return no promise or never settle. */
  async within<Value>(
    limits: ScopeLimits,
    work: (scope: CallScope) => Value | PromiseLike<Value>,
  ): Promise<Value> {
    const scope = this.child(limits);
    try {
      return await scope.race((async () => work(scope))());
    } finally {
      scope.dispose();
    }
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

  /** Runs `listener` when the scope ends, at once if it has ended. The returned function removes the listener. */
  onEnd(listener: (failure: Failure) => void): () => void {
    const off = this.#listen(listener);
    if (!this.#failure && !this.#hasTimer && this.#endsAtMs !== Number.POSITIVE_INFINITY) {
      this.#hasTimer = true;
      this.#cleanups.push(this.#clock.schedule(this.remainingMs(), () => this.#elapsed()));
    }
    return off;
  }

  /** Settles with `work`, or fails as soon as the scope ends. */
  race<Value>(work: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const off = this.onEnd((failure) => reject(new FailureError(failure)));
      work.then(resolve, reject);
      work.then(off, off);
    });
  }

  sleep(delayMs: number): Promise<void> {
    let cancel = () => {};
    const pause = new Promise<void>((resolve) => {
      cancel = this.#clock.schedule(delayMs, resolve);
    });
    return this.race(pause).finally(() => cancel());
  }

  #elapsed(): void {
    this.end(this.#onLimit(this.#limitMs));
  }

  #listen(listener: (failure: Failure) => void): () => void {
    if (this.#failure) {
      listener(this.#failure);
      return () => {};
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispose(): void {
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
    this.#listeners.clear();
  }
}

function deadlineExceeded(limitMs: number): Failure {
  return failure("DEADLINE_EXCEEDED", `the call took longer than deadlineMs (${limitMs})`);
}

function aborted(cause: unknown): Failure {
  return failure("ABORTED", "the caller's signal ended the call", { cause });
}

const events = builtInModule("node:events");

/** Runs `callback` when the signal aborts, at once if it has. The returned function removes it. */
function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  try {
    // Many calls may share one signal, and Node before 24 warns of a leak at the eleventh.
    events?.setMaxListeners(0, signal);
  } catch {
    // A signal of another realm.
  }
  signal.addEventListener("abort", callback);
  return () => signal.removeEventListener("abort", callback);
}
