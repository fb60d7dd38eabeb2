import * as z from "zod";

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Parses an RFC 3339 time to nanoseconds since the Unix epoch; `undefined` for any other text.
 *
 * `Date.parse` keeps milliseconds only, so two changes a few microseconds apart would be equal; here every digit up to
 * the ninth counts. A leap second is the last nanosecond of the one before it. A time without a zone and a date that does not
 * exist (30 February) are rejected.
 *
 * @see interface §6, `occurredAt`
 */
export function parseOccurredAt(text: string): bigint | undefined {
  // An event is validated, ordered and dispatched by its time.
  if (text !== last.text) last = { text, instant: parse(text) };
  return last.instant;
}

let last: { readonly text: string; readonly instant: bigint | undefined } = { text: "", instant: undefined };

function parse(text: string): bigint | undefined {
  if (typeof text !== "string" || !rfc3339.test(text)) return undefined;
  const midnight = parseDay(text.slice(0, 10));
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  const isUtc = text.endsWith("Z") || text.endsWith("z");
  const zoneAt = text.length - (isUtc ? 1 : 6);
  const offsetMinutes = isUtc ? 0 : zoneOffsetMinutes(text.slice(zoneAt));
  if (midnight === undefined || offsetMinutes === undefined) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const minuteSeconds = midnight + hour * 3600 + (minute - offsetMinutes) * 60;
  if (second === 60)
    return (minuteSeconds + 60) % 86_400 === 0 ? BigInt(minuteSeconds + 60) * 1_000_000_000n - 1n : undefined;
  const seconds = minuteSeconds + second;
  const nanoseconds = Number(text.slice(20, Math.min(zoneAt, 29)).padEnd(9, "0"));
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds);
}

const twoDigits = (text: string, at: number) => Number(text.slice(at, at + 2));

/** Seconds of its midnight in UTC; `undefined` for a day that does not exist. */
function parseDay(text: string): number | undefined {
  const [year = 0, month = 0, day = 0] = text.split("-").map(Number);
  const date = new Date(0);
  const midnightMs = date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? midnightMs / 1000 : undefined;
}

function zoneOffsetMinutes(zone: string): number | undefined {
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

/** An RFC 3339 time with a zone, of any precision. */
export const occurredAtSchema = z
  .string()
  .regex(rfc3339, "expected an RFC 3339 time with a zone, such as 2026-03-01T09:30:00.000Z")
  .refine((text) => parseOccurredAt(text) !== undefined, "expected a time that exists")
  .meta({ format: "date-time" });
