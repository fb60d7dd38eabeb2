/** Lets callers enter one at a time per key, in the order of their calls. Keys without callers take no memory. */
export class KeyQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves when the caller may enter; the caller must then call the returned function, once or more. */
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

  /** Keys with at least one caller that has entered or waits. */
  get size(): number {
    return this.#tails.size;
  }
}
