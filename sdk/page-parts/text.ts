const unknownTime = "unknown time";

/** `2026-01-15 12:00:00` in UTC; "unknown time" if a response has none. */
export const formatTime = (at: number | string): string => isoOf(at)?.slice(0, -5) ?? unknownTime;

/** `2026-01-15 12:00:00.123 UTC`, for who hovers over a shorter one. */
export const formatExact = (at: number | string): string => isoOf(at)?.replace("Z", " UTC") ?? unknownTime;

/** `12:00:00`, or `01-15 12:00:00` on another day than `nowMs`. */
export function formatTimeNear(at: number | string, nowMs: number): string {
  const time = formatTime(at);
  if (time === unknownTime) return time;
  return time.slice(0, 10) === formatTime(nowMs).slice(0, 10) ? time.slice(11) : time.slice(5);
}

/** `undefined` for what is no time. */
function isoOf(at: number | string): string | undefined {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString().replace("T", " ");
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** A length of time in its two largest units: `2 d 3 h`, `1.4 s`, `12 ms`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${Number((durationMs / 1_000).toFixed(1))} s`;
  const parts: string[] = [];
  let remainingMs = durationMs;
  for (const [unit, unitMs] of units) {
    const count = Math.floor(remainingMs / unitMs);
    remainingMs -= count * unitMs;
    if (count > 0) parts.push(`${count} ${unit}`);
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** `in 5 min`, `2 h ago`, `now`, relative to `nowMs`. */
export function formatRelative(atMs: number, nowMs: number): string {
  const awayMs = atMs - nowMs;
  if (Math.abs(awayMs) < 500) return "now";
  return awayMs > 0 ? `in ${formatDuration(awayMs)}` : `${formatDuration(-awayMs)} ago`;
}

/** The last part of an id, enough to tell rows apart. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}

const bytesPerLine = 16;
const bytesShownMax = 4_096;

/** A hex dump of a text in UTF-8: offset, bytes, printable characters. */
export function formatHex(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const lines: string[] = [];
  for (let start = 0; start < Math.min(bytes.length, bytesShownMax); start += bytesPerLine) {
    const line = [...bytes.slice(start, start + bytesPerLine)];
    const hex = line.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const printable = line.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·"));
    lines.push(
      `${start.toString(16).padStart(4, "0")}  ${hex.padEnd(bytesPerLine * 3)} ${printable.join("")}`,
    );
  }
  if (bytes.length > bytesShownMax) lines.push(`… ${bytes.length - bytesShownMax} bytes more`);
  return lines.join("\n");
}

export const countBytes = (text: string) => new TextEncoder().encode(text).length;

const compact = new Intl.NumberFormat("en", { notation: "compact" });

/** A count where there is room for three characters: `999`, `5K`, `1.2M`. */
export const formatCount = (count: number): string => compact.format(count);

export const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** `1 attempt`, `2 attempts`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`) =>
  `${count} ${count === 1 ? noun : nouns}`;

/** `12:00:00 – 12:05:00`, with dates when they differ; an absent end is open. */
export function formatRange(from: string | undefined, to: string | undefined): string {
  const near = (at: string | undefined, other: string | undefined) =>
    at === undefined ? "…" : formatTimeNear(at, Date.parse(other ?? at));
  return `${near(from, to)} – ${near(to, from)}`;
}

/** Deeper text is left as it is: its indentation would be longer than the text. */
const depthMax = 100;

/**
 * JSON with one value per line, each as it was written: `JSON.parse` would round long numbers, and keep only the last
 * of two equal keys. `null` for a text that is not JSON, or nested more than 100 levels deep.
 */
export function indentJson(text: string): string | null {
  try {
    JSON.parse(text);
  } catch {
    return null; // Also for a text that is too deep for the browser's parser.
  }
  let indented = "";
  let depth = 0;
  let before = "";
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    const isAfterOpening = before === "{" || before === "[";
    const isClosing = token === "}" || token === "]";
    if (isClosing) depth--;
    if (before === "," || isAfterOpening !== isClosing) indented += `\n${"  ".repeat(depth)}`;
    indented += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth++;
    if (depth > depthMax) return null;
    before = token;
  }
  return indented;
}
