import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { CallScope } from "./call-scope.ts";
import { failure } from "./failure.ts";

export interface SharedWorkOptions<Value> {
  /** The work ends with it. */
  readonly parent: CallScope;
  readonly clock: Clock;
  readonly run: (work: SharedWork<Value>) => Promise<Value>;
  /** Called before those that wait are. */
  readonly onSettled: () => void;
}

/** Calls with short deadlines still get a token that takes longer than one of them. */
const unawaitedMs = 2_000;

/**
 * Work that many may wait for, such as a token exchange. Each waits as long as its own scope. After the last has left
 * the work is ended soon, so that it keeps no process alive.
 */
export class SharedWork<Value> {
  readonly scope: CallScope;
  readonly #clock: Clock;
  readonly #result: Promise<Value>;
  readonly #waiters = new Set<Waiter>();
  #isSettled = false;
  #cancelEnd = () => {};

  constructor({ parent, clock, run, onSettled }: SharedWorkOptions<Value>) {
    this.scope = parent.child();
    this.#clock = clock;
    this.#result = this.scope.race(run(this)).finally(() => {
      this.#isSettled = true;
      this.#cancelEnd();
      this.scope.dispose();
      onSettled();
    });
    // Without a waiter its failure is of no use.
    this.#result.catch(() => {});
  }

  /** Whether a call waits, and not only work that no call waits for. */
  get isAwaited(): boolean {
    return [...this.#waiters].some((waiter) => waiter.isAwaited);
  }

  /** Waits for the result, at most as long as the scope. */
  async join(scope: CallScope, waiter: Waiter = { isAwaited: true }): Promise<Value> {
    this.#waiters.add(waiter);
    this.#cancelEnd();
    try {
      return await scope.race(this.#result);
    } finally {
      this.#waiters.delete(waiter);
      this.#endUnlessJoined();
    }
  }

  #endUnlessJoined(): void {
    if (this.#waiters.size > 0 || this.#isSettled) return;
    const end = () => this.scope.end(failure("ABORTED", "no call waits for this any more"));
    this.#cancelEnd = this.#clock.schedule(unawaitedMs, end, { background: true });
  }
}

interface Waiter {
  readonly isAwaited: boolean;
}
