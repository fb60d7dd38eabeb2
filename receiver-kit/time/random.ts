/** A random number from 0 up to, but not including, 1. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** 80 random bits as text: unique among all processes for every practical purpose. */
export function randomName(random: Random): string {
  return Array.from({ length: 16 }, () => Math.floor(random() * 32).toString(32)).join("");
}
