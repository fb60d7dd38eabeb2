import type { ProbeResult } from "./connection.ts";

const charsMax = 300;
/** Redacted before it is cut: half of a secret would not be recognised. */
const charsRead = 4_096;

/**
 * The beginning of what a receiver says with an error status, as one line that can be shown in a report: no markup, no stack
 * trace, no control characters, nothing that looks like a secret. Undefined for other responses and for other than text.
 * @param redact removes the secrets of the run
 */
export function responseExcerpt(result: ProbeResult, redact: (text: string) => string): string | undefined {
  if (result.kind !== "response" || result.status < 400 || result.body.includes(0)) return undefined;
  if (!/^(?:identity)?$/i.test(result.headers.get("content-encoding") ?? "")) return undefined;
  const text = result.body.toString("utf8").slice(0, charsRead);
  const isHtml =
    /html/i.test(result.headers.get("content-type") ?? "") || /^\s*<(?:!doctype|html)/i.test(text);
  const words = withoutStack(isHtml ? textOfHtml(text) : text)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  const shown = withoutSecrets(redact(words));
  if (shown === "" || shown.includes("\ufffd")) return undefined;
  return shown.length > charsMax ? `${shown.slice(0, charsMax)}…` : shown;
}

const entities: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  "#39": "'",
  nbsp: " ",
};

const textOfHtml = (html: string) =>
  html
    .replace(/<(script|style|title)\b[\s\S]*?(?:<\/\1>|$)/gi, " ")
    .replace(/<br\b[^>]*>/gi, "\n")
    .replace(/<[^>]*>/g, " ")
    .replace(/&([a-z]+|#39);/g, (entity, name) => entities[name] ?? entity);

/** Without the lines that locate and quote source code in Node and Python, also where JSON holds the lines. */
function withoutStack(text: string): string {
  const lines = text.split(/\n|\\n/);
  const quotesSource = (line = "") => /^\s*File "/.test(line);
  return lines
    .filter((line, index) => !/^\s*at /.test(line) && !quotesSource(line) && !quotesSource(lines[index - 1]))
    .join("\n");
}

const secretForms: readonly (readonly [RegExp, string])[] = [
  [/\/\/[^\s/@]+@/g, "//…@"],
  [/\b(bearer|basic)\s+[\w.~+/=-]+/gi, "$1 …"],
  [/((?:passw(?:or)?d|pwd|secret|token|api[-_]?key|authorization)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi, "$1…"],
  [/\b(?:whsec|wtk|wtp|sk|pk|ghp)_[\w+/=-]+/gi, "…"],
];

function withoutSecrets(text: string): string {
  const named = secretForms.reduce((left, [form, instead]) => left.replace(form, instead), text);
  return named.replace(/[\w+/=-]{32,}/g, (run) => (looksRandom(run) ? "…" : run));
}

/** As base64 of 24 bytes or more, or hexadecimal, and not as a path or a UUID. */
const looksRandom = (run: string) =>
  /^[0-9a-f]+$/i.test(run) || (/\d/.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run));
