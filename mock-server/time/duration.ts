import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { MockServerError } from "../errors.ts";

/** What counts as a duration, for messages. */
export const durationForms = 'milliseconds or text such as "90s", "3m", "1h30m", "7d"';

/** Longest duration of a stage: 100 years. */
export const durationMsMax = 100 * 365.25 * 86_400_000;

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Parses a duration: a number of milliseconds, or numbers with units such as `"3m"`, `"1h30m"`, `"7d"`. `undefined`
 * for anything else, and for a negative number.
 */
export function parseDurationMs(duration: unknown): number | undefined {
  if (typeof duration === "number") return Number.isFinite(duration) && duration >= 0 ? duration : undefined;
  if (typeof duration !== "string" || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(duration)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit = ""] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    totalMs += Number(amount) * (unitMs[unit] ?? 0);
  }
  return Number.isFinite(totalMs) ? totalMs : undefined;
}

/** @throws MockServerError ARGUMENT_INVALID that names the argument, as `clock.advance: by` */
export function checkDurationMs(argument: string, duration: unknown): number {
  const durationMs = parseDurationMs(duration);
  if (durationMs !== undefined) return durationMs;
  const message = `${argument}: expected ${durationForms}, got ${describeValue(duration)}`;
  throw new MockServerError("ARGUMENT_INVALID", message);
}

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

/** Real time that a wait of the control API takes at most, unless its call says otherwise. */
export const waitTimeoutMs = 10_000;
