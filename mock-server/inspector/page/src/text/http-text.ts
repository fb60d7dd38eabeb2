import { formatDuration, formatRelative, indentJson } from "@workspace-tasks/page-parts/text.ts";

// Texts of requests, responses and bodies.

/** When the window of a rate limit ends. One that has ended is read again, which takes a moment. */
export const formatReset = (atMs: number, nowMs: number): string =>
  atMs <= nowMs ? "frees now" : `frees ${formatRelative(atMs, nowMs)}`;

/** `204 in 12 ms`: a text, a word and a duration, or the text alone: on a virtual clock a response takes no time. */
export const withDuration = (text: string | number, word: string, durationMs: number): string =>
  Math.round(durationMs) > 0 ? `${text}${word} ${formatDuration(durationMs)}` : `${text}`;

/** JSON with indentation; other text, such as an altered or truncated body, unchanged. */
export const formatBody = (body: string): string => indentJson(body) ?? body;

interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * A request as a shell command; single quotes in it are closed, escaped and opened again. `-g` takes braces and brackets
 * of the URL as they are, and `--data-raw` an @ at the start of the body.
 */
export function toCurl({ url, headers, body }: HttpRequest): string {
  const quote = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`;
  const lines = Object.entries(headers)
    .filter(([name]) => !["content-length", "host", "connection"].includes(name.toLowerCase()))
    .map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  return ["curl -g -X POST", quote(url), ...lines, `--data-raw ${quote(body)}`].join(" \\\n  ");
}

/** The text of a page without its markup, in one line; other text unchanged. */
export function firstWords(body: string, charsMax = 300): string {
  const text = /^\s*</.test(body)
    ? body.replace(/<(style|script|head)\b[\s\S]*?<\/\1>/gi, " ").replace(/<[^>]*>/g, " ")
    : body;
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > charsMax ? `${line.slice(0, charsMax)} …` : line;
}

/** @throws Error that begins with `what`, such as "the variables are", for a text that is not JSON */
export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
