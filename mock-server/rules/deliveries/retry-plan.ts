/**
 * When the next scheduled attempt is due after one that failed.
 *
 * The schedule decides. A receiver that answers 429 or 503 with `Retry-After` may put the attempt off, up
 * to twice the scheduled wait and never before it: it may ask for mercy, not for haste.
 */
export function nextAttemptDelayMs(failed: {
  readonly scheduleMs: readonly number[];
  /** Scheduled attempts made so far. */
  readonly attempts: number;
  readonly status: number | null;
  /** The header as it came. */
  readonly retryAfter: string | undefined;
  readonly nowMs: number;
}): number | null {
  const scheduledMs = failed.scheduleMs[failed.attempts];
  if (scheduledMs === undefined) return null;
  if (failed.status !== 429 && failed.status !== 503) return scheduledMs;
  const askedMs = parseRetryAfterMs(failed.retryAfter, failed.nowMs);
  if (askedMs === null) return scheduledMs;
  return Math.min(Math.max(askedMs, scheduledMs), 2 * scheduledMs);
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function parseRetryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

/** Why an answer does not acknowledge a delivery (D3), or `null` when it does. */
export function rejectionOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `status ${status}; redirects are not followed`;
  return `status ${status}`;
}
