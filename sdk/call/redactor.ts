import { BoundedCache } from "./bounded-cache.ts";

// Removes secrets from everything a person may read, in two ways: the values this process knows (keys and the tokens
// it received), and patterns that are always secret (signing secrets, Bearer headers, JWTs). A key is known before it
// is first sent, so even a response that echoes it cannot carry it into a message.

export interface Redactor {
  /** Remembers a value that must never be printed. */
  remember(secret: string): void;
  text(text: string): string;
  /** A copy of an error that holds only its name, message, code and causes, redacted. */
  cause(error: unknown): unknown;
}

const mask = "[redacted]";
const shapes =
  /whsec_[A-Za-z0-9+/=_-]+|\bBearer\s+[^\s"',;]+|\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g;
// Shorter values occur in ordinary words, and a key of this length protects nothing.
const secretLengthMin = 6;
// Tokens are replaced every few minutes; when one is dropped here, it expired long before.
const secretsMax = 256;
const causeDepthMax = 5;
const systemFields = ["code", "errno", "syscall", "address", "port", "hostname"] as const;

export function createRedactor(): Redactor {
  const secrets = new BoundedCache<string, string>(secretsMax);

  function text(value: string): string {
    let redacted = value;
    for (const secret of secrets.values()) redacted = redacted.replaceAll(secret, mask);
    return redacted.replace(shapes, mask);
  }

  return {
    remember(secret) {
      for (const form of writtenForms(secret)) secrets.set(form, form);
    },
    text,
    cause: (error) => copyCause(error, text, 0),
  };
}

// A secret with a quote or a slash looks different inside JSON and inside a URL.
function writtenForms(secret: string): readonly string[] {
  if (secret.length < secretLengthMin) return [];
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), ...base64Forms(secret)];
}

// In base64 a text looks different at each of three positions, because each group of four characters holds three bytes.
// The characters that also depend on what is before or after it are left out.
function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const whole = Math.floor((before + bytes.length) / 3) * 3 - before;
    const aligned = bytes.subarray(before === 0 ? 0 : 3 - before, whole);
    return [aligned.toString("base64"), aligned.toString("base64url")];
  });
}

function copyCause(error: unknown, text: (value: string) => string, depth: number): unknown {
  if (typeof error === "string") return text(error);
  if (!(error instanceof Error) || depth >= causeDepthMax) return undefined;
  const nested = "cause" in error ? copyCause(error.cause, text, depth + 1) : undefined;
  const copy = new Error(text(error.message), nested === undefined ? undefined : { cause: nested });
  Object.defineProperty(copy, "name", { value: text(error.name), configurable: true });
  if (error.stack !== undefined) copy.stack = text(error.stack);
  for (const field of systemFields) {
    const value: unknown = Reflect.get(error, field);
    if (typeof value === "number") Object.assign(copy, { [field]: value });
    if (typeof value === "string") Object.assign(copy, { [field]: text(value) });
  }
  return copy;
}
