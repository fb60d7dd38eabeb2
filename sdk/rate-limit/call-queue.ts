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

// Those that have left are skipped, and dropped together: entering and leaving cost the same however many calls wait.
const leftMax = 32;

/** The calls of one priority. */
class Level<Call extends Queueable> {
  readonly waiting = new Set<Call>();
  /** In their order, with some that have left. */
  #calls: Call[] = [];
  /** Those before it have left. */
  #first = 0;

  add(call: Call): void {
    this.waiting.add(call);
    if (!this.isLast(call)) this.#insert(call);
    else this.#calls.push(call);
  }

  remove(call: Call): void {
    this.waiting.delete(call);
    if (this.#calls.length <= 2 * this.waiting.size + leftMax) return;
    this.#calls = this.#calls.filter((each) => this.waiting.has(each));
    this.#first = 0;
  }

  first(): Call | undefined {
    let call = this.#calls[this.#first];
    while (call && !this.waiting.has(call)) call = this.#calls[++this.#first];
    return call;
  }

  isLast({ position }: Queueable): boolean {
    return position >= (this.#calls.at(-1)?.position ?? 0);
  }

  // A call that was rejected with 429 comes back. Only others like it are before it.
  #insert(call: Call): void {
    let index = this.#first;
    while ((this.#calls[index]?.position ?? call.position) < call.position) index += 1;
    this.#calls.splice(index, 0, call);
  }
}

const passedOverMax = 9;

export class CallQueue<Call extends Queueable> {
  readonly #levels: { readonly [Name in Priority]: Level<Call> } = {
    interactive: new Level(),
    normal: new Level(),
    background: new Level(),
  };
  /** Calls of higher priority that were sent after a wait, while calls of this one waited. */
  readonly #passedOver = { interactive: 0, normal: 0, background: 0 };

  get size(): number {
    return priorities.reduce((sum, each) => sum + this.waiting(each), 0);
  }

  has(call: Call): boolean {
    return this.#levels[call.priority].waiting.has(call);
  }

  values(): readonly Call[] {
    return priorities.flatMap((each) => [...this.#levels[each].waiting]);
  }

  waiting(priority: Priority): number {
    return this.#levels[priority].waiting.size;
  }

  /** The call of this priority that is served next. */
  first(priority: Priority): Call | undefined {
    return this.#levels[priority].first();
  }

  add(call: Call): void {
    this.#levels[call.priority].add(call);
  }

  remove(call: Call): void {
    this.#levels[call.priority].remove(call);
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
    let ahead = 0;
    for (const higher of priorities) {
      if (higher === call.priority) break;
      ahead += this.waiting(higher);
    }
    // One that comes back after a 429 is served among the first.
    return this.#levels[call.priority].isLast(call) ? ahead + this.waiting(call.priority) : ahead;
  }
}
