export type MediaType = "application/json" | "application/graphql-response+json";

/**
 * The media type of the response: that with the highest `q` in `Accept` which the service supports, the first of equal
 * ones; `application/json` without the header; `null` when it supports none.
 * @see https://http-spec.graphql.org/September2026/#sec-Accept
 */
export function negotiateMediaType(accept: string | undefined): MediaType | null {
  if (!accept) return "application/json";
  let best: MediaType | null = null;
  let bestQuality = 0;
  for (const range of accept.split(",")) {
    const [name = "", ...parameters] = partsOf(range);
    const quality = qualityOf(parameters);
    const type = supported.get(name);
    if (!type || quality <= bestQuality || !isUtf8(parameters)) continue;
    best = type;
    bestQuality = quality;
  }
  return best;
}

/** Whether a `Content-Type` is JSON in UTF-8. Other parameters are ignored. @see RFC 9110 §8.3 */
export function isJson(contentType = ""): boolean {
  const [name, ...parameters] = partsOf(contentType);
  return name === "application/json" && isUtf8(parameters);
}

/** The type and its parameters. A quoted value may contain a semicolon. */
function partsOf(text: string): readonly string[] {
  const parts = text.toLowerCase().matchAll(/(?:[^;"]|"[^"]*"?)+/g);
  return Array.from(parts, ([part]) => part.replace(/\s/g, ""));
}

const supported: ReadonlyMap<string, MediaType> = new Map([
  ["application/graphql-response+json", "application/graphql-response+json"],
  ["application/json", "application/json"],
  ["application/*", "application/json"],
  ["*/*", "application/json"],
]);

/** 1 without a valid `q`. */
function qualityOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "";
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 1;
}

function isUtf8(parameters: readonly string[]): boolean {
  const charset = parameters.find((parameter) => parameter.startsWith("charset="));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset);
}
