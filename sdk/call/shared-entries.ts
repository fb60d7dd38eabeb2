import type { Clock } from "@workspace-tasks/kernel/clock.ts";

// What belongs to a key and not to a client: its rate limit and its token. All clients of a process share them, and the
// entries refer to no client: one that is never closed can be collected. They are a property of `globalThis`, because a
// process can hold two copies of this module, for example as an ES module and as CommonJS, and two limiters of one key
// would together use twice its limit.

export interface SharedScope {
  readonly clock: Clock;
  /** The entries of different clocks are independent of each other. */
  readonly customClock: boolean;
}

/** The entries of one name, by a hash. Those that are idle are dropped when there are twice as many as before. */
export class SharedEntries<Entry extends { isIdle(): boolean }> {
  readonly #shelf: Shelf<Entry>;

  constructor(name: string, { clock, customClock }: SharedScope) {
    const { systemClock, byClock } = registryOf(Symbol.for(`workspace-tasks/${name}/v1`));
    const shelf = customClock ? (byClock.get(clock) ?? emptyShelf()) : systemClock;
    if (customClock) byClock.set(clock, shelf);
    this.#shelf = shelf as Shelf<Entry>;
  }

  getOrCreate(id: string, create: () => Entry): Entry {
    return this.#shelf.entries.get(id) ?? this.replace(id, create());
  }

  replace(id: string, created: Entry): Entry {
    const { entries } = this.#shelf;
    // A search for idle entries reads all of them: with one for each new key, a key would cost more the more there are.
    if (entries.size >= this.#shelf.sweepAt) {
      for (const [other, entry] of entries) if (entry.isIdle()) entries.delete(other);
      this.#shelf.sweepAt = Math.max(sweepAtMin, 2 * entries.size);
    }
    entries.set(id, created);
    return created;
  }
}

const sweepAtMin = 16;

interface Shelf<Entry> {
  readonly entries: Map<string, Entry>;
  /** The number of entries at which those that are idle are dropped. */
  sweepAt: number;
}

const emptyShelf = (): Shelf<unknown> => ({ entries: new Map(), sweepAt: sweepAtMin });

interface Registry {
  readonly systemClock: Shelf<unknown>;
  readonly byClock: WeakMap<object, Shelf<unknown>>;
}

function registryOf(key: symbol): Registry {
  const existing: unknown = Reflect.get(globalThis, key);
  if (existing) return existing as Registry;
  const registry: Registry = { systemClock: emptyShelf(), byClock: new WeakMap() };
  Object.defineProperty(globalThis, key, { value: registry });
  return registry;
}
