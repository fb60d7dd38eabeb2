import { seeded } from "../../support/fake-service.ts";

/** Random numbers from a seed. Each purpose has its own stream, so one more draw in one place changes no other. */
export interface Random {
  /** A number in [0, 1). */
  number(): number;
  happens(probability: number): boolean;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<const Item>(items: readonly [Item, ...Item[]]): Item;
  /** One item, or undefined when there is none. */
  sample<Item>(items: readonly Item[]): Item | undefined;
  /** An independent stream. */
  stream(name: string): Random;
}

export function createRandom(seed: number, name = ""): Random {
  const number = seeded(fnv1a(`${seed}/${name}`));
  // Every method draws exactly once, so that a probability of 0 or an empty list does not shift later draws.
  const sample = <Item>(items: readonly Item[]) => items[Math.floor(number() * items.length)];
  return {
    number,
    sample,
    happens: (probability) => number() < probability,
    integer: (min, max) => min + Math.floor(number() * (max - min + 1)),
    pick: (items) => sample(items) ?? items[0],
    stream: (inner) => createRandom(seed, `${name}/${inner}`),
  };
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of Buffer.from(text)) hash = Math.imul(hash ^ char, 0x01000193);
  return hash >>> 0;
}
