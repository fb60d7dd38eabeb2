// What belongs to a key and not to a client: its rate limit and its token. All clients of a process share them. The
// registry is a property of `globalThis`, because a process can hold two copies of this module, for example as an ES
// module and as CommonJS, and two limiters of one key would together use twice its limit.

import type { Clock } from "../clock.ts";

export interface RegistryScope {
  readonly clock: Clock;
  /** The entries of different clocks are independent of each other. */
  readonly customClock: boolean;
}

interface Registry {
  readonly systemClock: Map<string, unknown>;
  readonly byClock: WeakMap<object, Map<string, unknown>>;
}

/** The entries of this name that the process has for the clock, by a hash. */
export function processEntries<Entry>(
  name: string,
  { clock, customClock }: RegistryScope,
): Map<string, Entry> {
  const { systemClock, byClock } = registryOf(Symbol.for(`workspace-tasks/${name}/v1`));
  const entries = (customClock ? byClock.get(clock) : systemClock) ?? new Map<string, unknown>();
  if (customClock) byClock.set(clock, entries);
  return entries as Map<string, Entry>;
}

function registryOf(key: symbol): Registry {
  const existing: unknown = Reflect.get(globalThis, key);
  if (existing) return existing as Registry;
  const registry: Registry = { systemClock: new Map(), byClock: new WeakMap() };
  Object.defineProperty(globalThis, key, { value: registry });
  return registry;
}

const abandoned = new FinalizationRegistry<() => void>((release) => release());

/**
 * Calls `release` when the reference is collected, for clients that are never closed. The entry is held weakly, because it
 * refers to its clock, and the timers of a custom clock refer to clients: neither would ever be collected. So `release`
 * is a function of a module, not of a scope that has the entry or the reference.
 */
export function releaseWhenAbandoned<Entry extends object, Client>(
  reference: object,
  entry: Entry,
  client: Client,
  release: (entry: Entry, client: Client) => void,
): void {
  const weakEntry = new WeakRef(entry);
  abandoned.register(reference, () => {
    const kept = weakEntry.deref();
    if (kept) release(kept, client);
  });
}
