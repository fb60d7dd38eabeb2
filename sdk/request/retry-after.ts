import { parseHttpDateMs } from "./http-date.ts";

const seconds = /^\d+$/;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; undefined without a usable header.
 *
 * A date is compared with the response's own `Date` header if there is one, because the two clocks may differ. Anything
 * but whole seconds or an HTTP date is ignored: a lenient parser makes `1 Jan` one second.
 */
export function parseRetryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  if (seconds.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  const date = parseHttpDateMs(value);
  if (date === undefined) return undefined;
  const serverNowMs = parseHttpDateMs(headers.get("date") ?? "") ?? nowMs;
  return Math.max(0, date - serverNowMs);
}
