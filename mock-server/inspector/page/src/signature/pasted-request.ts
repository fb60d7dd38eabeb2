/** The parts of a delivery that its signature is about. */
export interface PastedRequest {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
}

/**
 * Finds headers and body in whatever was copied: a raw HTTP request, a curl command, headers printed as an
 * object. The body is what follows the first empty line, or curl's `--data`. What is not found is empty.
 */
export function readPastedRequest(text: string): PastedRequest {
  const header = (name: string) =>
    new RegExp(`${name}["']?\\s*[:=]\\s*["'\`]?([^"'\`\\r\\n]*)`, "i").exec(text)?.[1]?.trim() ?? "";
  return {
    id: header("webhook-id"),
    timestamp: header("webhook-timestamp"),
    signature: header("webhook-signature"),
    body: bodyIn(text),
  };
}

function bodyIn(text: string): string {
  const quoted = /--data(?:-binary|-raw)?[ =]'((?:[^']|'\\'')*)'/.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(`'\\''`, "'");
  return /\r?\n\r?\n([\s\S]*)$/.exec(text)?.[1] ?? "";
}
