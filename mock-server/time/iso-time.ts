import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";

/** The times that RFC 3339 can express: its years have four digits. */
export const timeMsMin = Date.parse("0001-01-01T00:00:00Z");
export const timeMsMax = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** An RFC 3339 time in UTC with milliseconds. A time beyond the last one is shown as the last one. */
export const isoTime = (timeMs: number): string => getOrCreate(texts, timeMs, format);

const format = (timeMs: number) => new Date(Math.min(Math.max(timeMs, timeMsMin), timeMsMax)).toISOString();

export const isoTimeOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : isoTime(timeMs);

// Formatting times took a quarter of responding to a list of tasks, and a client that polls asks for the same
// ones again. A full cache is about a megabyte.
const texts = createBoundedCache<number, string>(10_000);
