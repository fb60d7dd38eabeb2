// The order of the calls that wait for one key's rate limit: by priority, then by position. No call starves: when nine calls
// of a higher priority that had to wait were sent before it, it is next.

/** From the first to be served to the last. */
export const priorities = ["interactive", "normal", "background"] as const;

/**
 * Which calls are sent first when the rate limit is used up: those that a person waits for, `interactive`; `normal` ones;
 * then `background` ones, which also leave a tenth of the rate limit to the others.
 */
export type Priority = (typeof priorities)[number];

/** What calls are ordered by. */
export interface Queueable {
  readonly priority: Priority;
  /** Lower for calls that entered earlier. */
  readonly position: number;
}

const passedOverMax = 9;

export class CallQueue<Call extends Queueable> {
  /** By position. */
  readonly #calls: { readonly [Name in Priority]: Call[] } = { interactive: [], normal: [], background: [] };
  /** Calls of higher priority that were sent after a wait, while calls of this one waited. */
  readonly #passedOver = { interactive: 0, normal: 0, background: 0 };

  get size(): number {
    const { interactive, normal, background } = this.#calls;
    return interactive.length + normal.length + background.length;
  }

  has(call: Call): boolean {
    return this.#calls[call.priority][this.#indexOf(call)] === call;
  }

  values(): readonly Call[] {
    return priorities.flatMap((each) => this.#calls[each]);
  }

  waiting(priority: Priority): number {
    return this.#calls[priority].length;
  }

  /** The call of this priority that is served next. */
  first(priority: Priority): Call | undefined {
    return this.#calls[priority][0];
  }

  /** A call that was rejected with 429 comes back to its old position. */
  add(call: Call): void {
    this.#calls[call.priority].splice(this.#indexOf(call), 0, call);
  }

  remove(call: Call): void {
    if (this.has(call)) this.#calls[call.priority].splice(this.#indexOf(call), 1);
    if (this.waiting(call.priority) === 0) this.#passedOver[call.priority] = 0;
  }

  /** The priorities in the order in which they are served next. */
  order(): readonly Priority[] {
    if (!this.isNext("normal") && !this.isNext("background")) return priorities;
    return [...priorities].sort((a, b) => Number(this.isNext(b)) - Number(this.isNext(a)));
  }

  /** Whether so many calls were sent before those of this priority that it is their turn. */
  isNext(priority: Priority): boolean {
    return this.#passedOver[priority] >= passedOverMax;
  }

  /** A call of this priority is sent, and others have to wait longer. */
  passOver(served: Priority): void {
    this.#passedOver[served] = 0;
    for (const lower of priorities.slice(priorities.indexOf(served) + 1)) {
      if (this.waiting(lower) > 0) this.#passedOver[lower] += 1;
    }
  }

  /** Calls that are served before a call that would enter now; calls of a higher priority may still come. */
  aheadOf(call: Queueable): number {
    const higher = priorities.slice(0, priorities.indexOf(call.priority));
    return higher.reduce((sum, each) => sum + this.waiting(each), this.#indexOf(call));
  }

  /** Where the call is, or would be. */
  #indexOf({ priority, position }: Queueable): number {
    const calls = this.#calls[priority];
    let low = 0;
    let high = calls.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((calls[middle]?.position ?? position) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
