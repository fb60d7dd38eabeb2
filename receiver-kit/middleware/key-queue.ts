/** Lets callers through one at a time per key, in the order they came. Keys without callers cost nothing. */
export class KeyQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves when it is the caller's turn; the caller must then call the returned function; again does nothing. */
  async enter(key: string): Promise<() => void> {
    const before = this.#tails.get(key);
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const tail = before ? before.then(() => left) : left;
    this.#tails.set(key, tail);
    await before;
    return () => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
      leave();
    };
  }

  /** Keys with at least one caller inside or waiting. */
  get size(): number {
    return this.#tails.size;
  }
}
