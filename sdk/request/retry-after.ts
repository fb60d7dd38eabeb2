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

// RFC 9110 §5.6.7: the one date format that senders may generate.
const httpDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;

export function parseHttpDateMs(value: string): number | undefined {
  if (!httpDate.test(value)) return undefined;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? undefined : parsed;
}
