import { toBase64, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { visible, visibleLines } from "@workspace-tasks/kernel/visible.ts";

// Removes secrets from everything a person may read, in two ways: the values this process knows (keys and the tokens
// it received), and patterns that are always secret (signing secrets, Bearer headers, JWTs). A key is known before it
// is first sent, so even a response that echoes it cannot carry it into a message.
//
// The texts come from others and can be as long as a response. Each is cut before it is searched, and each pattern takes
// every character once: time is linear in the length of the text, and bounded.

export interface Redactor {
  /** Remembers a value that must never be printed. */
  remember(secret: string): void;
  /** The beginning of a text, at most `lengthMax` characters (default 1,000), redacted, as one line
   * without characters that a terminal obeys. */
  text(text: string, lengthMax?: number): string;
  /** A copy of an error that holds only its name, message, stack, code and causes, cut and redacted. */
  cause(error: unknown): unknown;
}

const mask = "[redacted]";
// A part of a JWT without the dot that follows is matched too: the search would otherwise begin again inside of it.
const shapes =
  /whsec_[A-Za-z0-9+/=_-]+|\bBearer\s+[^\s"',;]+|\beyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?)?/g;
// Shorter values occur in ordinary words, and a key of this length protects nothing.
const secretLengthMin = 6;
/** No header can hold a longer key or token. */
export const secretLengthMax = 8_192;
// Tokens are replaced every few minutes; when one is dropped here, it expired long before.
const secretsMax = 128;
const textLengthMax = 1_000;
const stackLengthMax = 5_000;
const causeDepthMax = 5;
const systemFields = ["code", "errno", "syscall", "address", "port", "hostname", "digest"] as const;

export function createRedactor(): Redactor {
  const secrets = new Set<string>();
  let longest = 0;

  const text: Redact = (value, lengthMax = textLengthMax) =>
    visible(redact(value, lengthMax)).slice(0, lengthMax);
  const lines: Redact = (value, lengthMax = textLengthMax) =>
    visibleLines(redact(value, lengthMax)).slice(0, lengthMax);

  function redact(value: string, lengthMax: number): string {
    const cut = value.slice(0, lengthMax + longest);
    let redacted = cut;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, mask);
    redacted = redacted.replace(shapes, (found) => (isMaskable(found) ? mask : found));
    // Where the text was cut, the beginning of a secret may be left.
    const isWhole = cut.length === value.length;
    const end = isWhole ? lengthMax : Math.min(lengthMax, Math.max(0, redacted.length - longest));
    return redacted.slice(0, end);
  }

  return {
    remember(secret) {
      for (const form of writtenForms(secret)) {
        // Those remembered longest ago are first, and the first to be dropped.
        secrets.delete(form);
        secrets.add(form);
        const [oldest] = secrets;
        if (secrets.size > secretsMax && oldest !== undefined) secrets.delete(oldest);
        longest = Math.max(longest, form.length);
      }
    },
    text,
    cause: (error) => copyCause(error, { text, lines }, 0),
  };
}

function isMaskable(found: string): boolean {
  return !found.startsWith("eyJ") || found.includes(".");
}

// A secret with a quote or a slash looks different inside JSON and inside a URL.
function writtenForms(secret: string): Iterable<string> {
  if (secret.length < secretLengthMin || secret.length > secretLengthMax) return [];
  const escaped = [JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
  return new Set([secret, ...escaped, ...base64Forms(secret)]);
}

// In base64 a text looks different at each of three positions, because each group of four characters holds three bytes.
// The characters that also depend on what is before or after it are left out.
function base64Forms(secret: string): readonly string[] {
  const bytes = utf8(secret);
  return [0, 1, 2].flatMap((before) => {
    const whole = Math.floor((before + bytes.length) / 3) * 3 - before;
    const aligned = bytes.subarray(before === 0 ? 0 : 3 - before, whole);
    const text = toBase64(aligned);
    return [text, text.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

type Redact = (value: string, lengthMax?: number) => string;
type Redacts = { readonly text: Redact; readonly lines: Redact };

function copyCause(error: unknown, redact: Redacts, depth: number): unknown {
  if (typeof error === "string") return redact.text(error);
  try {
    return isError(error) && depth < causeDepthMax ? copyError(error, redact, depth) : undefined;
  } catch {
    // An error of the caller's functions can have fields that throw.
    return undefined;
  }
}

function copyError(error: Error, { text, lines }: Redacts, depth: number): Error {
  const nested = "cause" in error ? copyCause(error.cause, { text, lines }, depth + 1) : undefined;
  const copy = new Error(text(String(error.message)), nested === undefined ? undefined : { cause: nested });
  Object.defineProperty(copy, "name", { value: text(String(error.name)), configurable: true });
  if (error.stack !== undefined) copy.stack = lines(String(error.stack), stackLengthMax);
  for (const field of systemFields) {
    const value: unknown = Reflect.get(error, field);
    if (typeof value === "number") Object.assign(copy, { [field]: value });
    if (typeof value === "string") Object.assign(copy, { [field]: text(value) });
  }
  return copy;
}
