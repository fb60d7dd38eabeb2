/** Chance as the receiver kit sees it: a number from 0 up to, but not including, 1. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** Text that no other process has, with overwhelming likelihood: 80 bits. */
export function randomName(random: Random): string {
  return Array.from({ length: 16 }, () => Math.floor(random() * 32).toString(32)).join("");
}
