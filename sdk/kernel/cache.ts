export interface Cache<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The cached value of a key, created at first use. */
export function getOrCreate<Key, Value>(
  cache: Cache<Key, Value>,
  key: Key,
  create: (key: Key) => Value,
): Value {
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const value = create(key);
  cache.set(key, value);
  return value;
}

/**
 * Keeps at most `entriesMax` values, at least the recently used half. Two generations instead of an order of
 * use: when the newer one is full it becomes the older one, whose values return to the newer one when used.
 */
export function createBoundedCache<Key, Value>(entriesMax: number): Cache<Key, Value> {
  const generationMax = Math.ceil(entriesMax / 2);
  let newer = new Map<Key, Value>();
  let older = new Map<Key, Value>();

  const set = (key: Key, value: Value) => {
    if (newer.size >= generationMax) {
      older = newer;
      newer = new Map();
    }
    newer.set(key, value);
  };

  return {
    get(key) {
      const value = newer.get(key);
      if (value !== undefined) return value;
      const old = older.get(key);
      if (old !== undefined) set(key, old);
      return old;
    },
    set,
  };
}
