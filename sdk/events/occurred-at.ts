import { z } from "zod";

const rfc3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Parses an RFC 3339 time to nanoseconds since the Unix epoch; `undefined` for any other text.
 *
 * `Date.parse` keeps milliseconds only, so two changes a few microseconds apart would be equal; here every digit up to
 * the ninth counts. A time without a zone, a leap second and a date that does not exist (30 February) are rejected.
 *
 * @see interface §6, `occurredAt`
 */
export function parseOccurredAt(text: string): bigint | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", zone = "Z"] = match;
  const midnight = new Date(`${year}-${month}-${day}T00:00:00.000Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.getUTCDate() !== Number(day)) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const offsetMinutes = zoneOffsetMinutes(zone);
  if (offsetMinutes === undefined) return undefined;
  const seconds =
    midnight.getTime() / 1000 + Number(hour) * 3600 + (Number(minute) - offsetMinutes) * 60 + Number(second);
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
}

function zoneOffsetMinutes(zone: string): number | undefined {
  if (zone === "Z" || zone === "z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

/** An RFC 3339 time with a zone, of any precision. */
export const occurredAtSchema = z
  .string()
  .regex(rfc3339, "expected an RFC 3339 time with a zone, such as 2026-03-01T09:30:00.000Z")
  .refine((text) => parseOccurredAt(text) !== undefined, "expected a time that exists");
