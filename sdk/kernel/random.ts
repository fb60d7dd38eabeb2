import { callSafely } from "./notify-listener.ts";

/** A random number from 0 up to, but not including, 1. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** A function of the application. When it throws or returns something else, the system's is used. */
export const guardRandom =
  (random: Random): Random =>
  () => {
    let given: unknown;
    callSafely(() => {
      given = random();
      return given;
    });
    return typeof given === "number" && given >= 0 && given < 1 ? given : systemRandom();
  };

/** 80 random bits as text: unique among all processes for every practical purpose. */
export function randomName(random: Random): string {
  return Array.from({ length: 16 }, () => Math.floor(random() * 32).toString(32)).join("");
}
