/** A map that keeps the `entriesMax` entries set last. */
export class BoundedCache<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  getOrSet(key: Key, create: (key: Key) => Value): Value {
    const existing = this.#entries.get(key);
    if (existing !== undefined) return existing;
    const value = create(key);
    this.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest as Key);
  }

  values(): Iterable<Value> {
    return this.#entries.values();
  }
}
