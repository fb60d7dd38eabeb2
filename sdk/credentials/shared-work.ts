import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { CallScope } from "../call/call-scope.ts";
import { failure } from "../call/failure.ts";

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
 * Work that many calls may wait for, such as a token exchange. Each waits as long as its own scope. After the last has left
 * the work is ended soon, so that it keeps no process alive.
 */
export class SharedWork<Value> {
  readonly scope: CallScope;
  readonly #clock: Clock;
  readonly #result: Promise<Value>;
  #waiting = 0;
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
    // Without a call that waits its failure is of no use.
    this.#result.catch(() => {});
  }

  /** Whether a call waits. */
  get isAwaited(): boolean {
    return this.#waiting > 0;
  }

  /** Waits for the result, at most as long as the scope. */
  async join(scope: CallScope): Promise<Value> {
    this.#waiting += 1;
    this.#cancelEnd();
    try {
      return await scope.race(this.#result);
    } finally {
      this.#waiting -= 1;
      this.#endUnlessJoined();
    }
  }

  #endUnlessJoined(): void {
    if (this.isAwaited || this.#isSettled) return;
    const end = () => this.scope.end(failure("ABORTED", "no call waits for this any more"));
    this.#cancelEnd = this.#clock.schedule(unawaitedMs, end, { background: true });
  }
}
