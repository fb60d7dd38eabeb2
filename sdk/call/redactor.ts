/**
 * Takes secrets out of whatever a person may read. Two nets: the values this process knows (keys and the tokens it
 * was given), and shapes nobody should print (signing secrets, Bearer headers, JWTs). Keys are known before they are
 * first sent, so even an answer that echoes one cannot carry it into a message.
 */
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
// Shorter values appear in ordinary words; a key of this length protects nothing anyway.
const secretLengthMin = 6;
const secretsMax = 64;
const causeDepthMax = 5;
const systemFields = ["code", "errno", "syscall", "address", "port", "hostname"] as const;

export function createRedactor(): Redactor {
  const secrets = new Set<string>();

  function text(value: string): string {
    let redacted = value;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, mask);
    return redacted.replace(shapes, mask);
  }

  return {
    remember(secret) {
      for (const form of writtenForms(secret)) remember(secrets, form);
    },
    text,
    cause: (error) => copyCause(error, text, 0),
  };
}

// A secret with a quote or a slash looks different inside JSON and inside a URL.
function writtenForms(secret: string): readonly string[] {
  if (secret.length < secretLengthMin) return [];
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])];
}

// Tokens come for ever; the oldest ones have expired long before they are forgotten here.
function remember(secrets: Set<string>, secret: string): void {
  secrets.delete(secret);
  secrets.add(secret);
  if (secrets.size > secretsMax) {
    const [oldest] = secrets;
    if (oldest !== undefined) secrets.delete(oldest);
  }
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
