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
  // An event is validated, ordered and dispatched by its time.
  if (text !== last.text) last = { text, instant: parse(text) };
  return last.instant;
}

let last: { readonly text: string; readonly instant: bigint | undefined } = { text: "", instant: undefined };

function parse(text: string): bigint | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const date = new Date(0);
  const midnightMs = date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const [fraction = "", zone = "Z"] = match.slice(7);
  const offsetMinutes = zoneOffsetMinutes(zone);
  if (offsetMinutes === undefined) return undefined;
  const seconds = midnightMs / 1000 + hour * 3600 + (minute - offsetMinutes) * 60 + second;
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
