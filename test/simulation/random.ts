/** Numbers drawn from a seed. Each purpose has a stream of its own, so that one more draw here shifts nothing there. */
export interface Chance {
  /** A number in [0, 1). */
  number(): number;
  happens(probability: number): boolean;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** An independent stream. */
  stream(name: string): Chance;
}

export function createChance(seed: number, name = ""): Chance {
  const number = mulberry32(fnv1a(`${seed}/${name}`));
  return {
    number,
    // Always draws, so that a probability set to 0 does not shift what follows.
    happens: (probability) => number() < probability,
    integer: (min, max) => min + Math.floor(number() * (max - min + 1)),
    pick(items) {
      if (items.length === 0) throw new RangeError("expected something to pick from, got an empty list");
      return items[Math.floor(number() * items.length)] as (typeof items)[number];
    },
    stream: (inner) => createChance(seed, `${name}/${inner}`),
  };
}

function mulberry32(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of Buffer.from(text)) hash = Math.imul(hash ^ char, 0x01000193);
  return hash >>> 0;
}
