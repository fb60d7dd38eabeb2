/** An RFC 3339 time in UTC with milliseconds. */
export const formatDate = (timeMs: number): string => new Date(timeMs).toISOString();

export const formatOptionalDate = (timeMs: number | null): string | null =>
  timeMs === null ? null : formatDate(timeMs);
