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

/** The entries of one name, by a hash. Those that are idle are dropped when another is created. */
export class SharedEntries<Entry extends { isIdle(): boolean }> {
  readonly #entries: Map<string, Entry>;

  constructor(name: string, scope: SharedScope) {
    this.#entries = entriesOf(name, scope) as Map<string, Entry>;
  }

  getOrCreate(id: string, create: () => Entry): Entry {
    return this.#entries.get(id) ?? this.replace(id, create());
  }

  replace(id: string, created: Entry): Entry {
    for (const [other, entry] of this.#entries) if (entry.isIdle()) this.#entries.delete(other);
    this.#entries.set(id, created);
    return created;
  }
}

interface Registry {
  readonly systemClock: Map<string, unknown>;
  readonly byClock: WeakMap<object, Map<string, unknown>>;
}

function entriesOf(name: string, { clock, customClock }: SharedScope): Map<string, unknown> {
  const { systemClock, byClock } = registryOf(Symbol.for(`workspace-tasks/${name}/v1`));
  if (!customClock) return systemClock;
  const entries = byClock.get(clock) ?? new Map<string, unknown>();
  byClock.set(clock, entries);
  return entries;
}

function registryOf(key: symbol): Registry {
  const existing: unknown = Reflect.get(globalThis, key);
  if (existing) return existing as Registry;
  const registry: Registry = { systemClock: new Map(), byClock: new WeakMap() };
  Object.defineProperty(globalThis, key, { value: registry });
  return registry;
}
