/** An RFC 3339 time in UTC with milliseconds. */
export function formatDate(timeMs: number): string {
  const known = texts.get(timeMs);
  if (known !== undefined) return known;
  const text = new Date(timeMs).toISOString();
  if (texts.size >= textsMax) texts.clear();
  texts.set(timeMs, text);
  return text;
}

export const formatOptionalDate = (timeMs: number | null): string | null =>
  timeMs === null ? null : formatDate(timeMs);

// Writing times took a quarter of answering a list of tasks, and a client that polls asks for the same ones
// again and again. A full cache is about a megabyte.
const texts = new Map<number, string>();
const textsMax = 10_000;
