import { createBoundedCache, getOrCreate } from "../cache.ts";

/** An RFC 3339 time in UTC with milliseconds. */
export const isoTime = (timeMs: number): string =>
  getOrCreate(texts, timeMs, (ms) => new Date(ms).toISOString());

export const isoTimeOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : isoTime(timeMs);

// Formatting times took a quarter of responding to a list of tasks, and a client that polls asks for the same
// ones again. A full cache is about a megabyte.
const texts = createBoundedCache<number, string>(10_000);
