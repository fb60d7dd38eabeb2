// The order of the calls that wait for one key's rate limit. Each priority has a level; within a level the clients take
// turns, and a client's calls keep their order. Lists are linked, so that a call enters, leaves and is aborted at the same
// cost however many wait.

/** From the first to be served to the last. */
export const priorities = ["interactive", "normal", "background"] as const;

/**
 * Which calls are sent first when the rate limit is used up: those that a person waits for, `interactive`; `normal` ones;
 * then `background` ones, which also leave a part of the rate limit to the others.
 */
export type Priority = (typeof priorities)[number];

/** What calls are ordered by. */
export interface Queueable {
  readonly priority: Priority;
  /** The client that the call belongs to. */
  readonly owner: object;
  /** Lower for calls that entered earlier. */
  readonly position: number;
}

interface ListNode<Value> {
  readonly value: Value;
  previous: ListNode<Value> | undefined;
  next: ListNode<Value> | undefined;
}

class LinkedList<Value> {
  first: ListNode<Value> | undefined;
  last: ListNode<Value> | undefined;
  size = 0;

  /** @param before the node that follows; the value becomes the last without one */
  insert(value: Value, before?: ListNode<Value>): ListNode<Value> {
    const node = { value, previous: before ? before.previous : this.last, next: before };
    if (node.previous) node.previous.next = node;
    else this.first = node;
    if (before) before.previous = node;
    else this.last = node;
    this.size += 1;
    return node;
  }

  remove({ previous, next }: ListNode<Value>): void {
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
    else this.last = previous;
    this.size -= 1;
  }
}

/** The waiting calls of one client in one level. */
interface Line<Call> {
  readonly calls: LinkedList<Call>;
  turn: ListNode<Line<Call>> | undefined;
}

class Level<Call extends Queueable> {
  readonly lines = new Map<object, Line<Call>>();
  /** The clients with waiting calls; the first is served next. */
  readonly turns = new LinkedList<Line<Call>>();
  size = 0;

  add(call: Call): ListNode<Call> {
    const line = this.lines.get(call.owner) ?? { calls: new LinkedList<Call>(), turn: undefined };
    this.lines.set(call.owner, line);
    line.turn ??= this.turns.insert(line);
    this.size += 1;
    const isLast = line.calls.last === undefined || line.calls.last.value.position < call.position;
    if (isLast) return line.calls.insert(call);
    // A call that was rejected with 429 comes back. Only others like it are before it.
    let before = line.calls.first;
    while (before && before.value.position < call.position) before = before.next;
    return line.calls.insert(call, before);
  }

  remove(node: ListNode<Call>, wasServed: boolean): void {
    const { owner } = node.value;
    const line = this.lines.get(owner);
    if (!line?.turn) return;
    line.calls.remove(node);
    this.size -= 1;
    if (line.calls.size > 0 && !wasServed) return;
    this.turns.remove(line.turn);
    line.turn = line.calls.size > 0 ? this.turns.insert(line) : undefined;
    if (!line.turn) this.lines.delete(owner);
  }
}

// Enough for the clients of one process; with more the estimate of what is ahead of a call is lower.
const linesCountedMax = 20;

export class CallQueue<Call extends Queueable> {
  readonly #levels: { readonly [Name in Priority]: Level<Call> } = {
    interactive: new Level(),
    normal: new Level(),
    background: new Level(),
  };
  readonly #nodes = new Map<Call, ListNode<Call>>();

  get size(): number {
    return this.#nodes.size;
  }

  has(call: Call): boolean {
    return this.#nodes.has(call);
  }

  values(): Iterable<Call> {
    return this.#nodes.keys();
  }

  waiting(priority: Priority): number {
    return this.#levels[priority].size;
  }

  /** How many calls of a client wait. */
  countOf(owner: object): number {
    return priorities.reduce((sum, each) => sum + (this.#levels[each].lines.get(owner)?.calls.size ?? 0), 0);
  }

  /** The call of this priority that is served next. */
  first(priority: Priority): Call | undefined {
    return this.#levels[priority].turns.first?.value.calls.first?.value;
  }

  add(call: Call): void {
    this.#nodes.set(call, this.#levels[call.priority].add(call));
  }

  /** @param wasServed whether it is the next client's turn */
  remove(call: Call, wasServed: boolean): void {
    const node = this.#nodes.get(call);
    if (!node) return;
    this.#nodes.delete(call);
    this.#levels[call.priority].remove(node, wasServed);
  }

  /** Calls that are certainly served before a call that would enter now; more may be. */
  aheadOf({ priority, owner, position }: Queueable): number {
    let ahead = 0;
    for (const higher of priorities) {
      if (higher === priority) break;
      ahead += this.waiting(higher);
    }
    const { lines } = this.#levels[priority];
    const own = lines.get(owner)?.calls;
    // One that comes back after a 429 is served among the first.
    if (!own?.last || own.last.value.position > position) return ahead;
    ahead += own.size;
    let counted = 0;
    for (const [other, { calls }] of lines) {
      if (other !== owner) ahead += Math.min(calls.size, own.size);
      counted += 1;
      if (counted >= linesCountedMax) break;
    }
    return ahead;
  }
}
