import { parseHttpDateMs } from "./http-date.ts";

const seconds = /^\d{1,9}$/;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; undefined when it says nothing usable.
 *
 * A date is measured against the answer's own `Date` header where there is one, because the two clocks need
 * not agree. Anything but whole seconds or an HTTP date is ignored: a lenient reader makes `1 Jan` one second.
 */
export function parseRetryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined) return undefined;
  if (seconds.test(value)) return Number(value) * 1_000;
  const date = parseHttpDateMs(value);
  if (date === undefined) return undefined;
  const serverNowMs = parseHttpDateMs(headers.get("date") ?? "") ?? nowMs;
  return Math.max(0, date - serverNowMs);
}
