/** Random numbers from a seed; every method draws once. */
export interface SeededRandom {
  happens(probability: number): boolean;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** One item, or undefined when there is none. */
  sample<Item>(items: readonly Item[]): Item | undefined;
}

export function seededRandom(seed: number): SeededRandom {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  /** mulberry32: a number in [0, 1). */
  const number = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    happens: (probability) => number() < probability,
    integer: (min, max) => min + Math.floor(number() * (max - min + 1)),
    sample: (items) => items[Math.floor(number() * items.length)],
  };
}
