import type { Line } from "./messages.ts";

const textCharsMax = 10_000;

/** A value as text, for people. */
export function describe(value: unknown): string {
  const text = typeof value === "string" ? value : value instanceof Error ? messageOf(value) : inJson(value);
  return text.length > textCharsMax ? `${text.slice(0, textCharsMax)}…` : text;
}

/** An error as a line, with its code when it is a typed one. */
export function describeError(error: unknown): Line {
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
  return { kind: "error", text: describe(error), code };
}

function messageOf(error: Error): string {
  const code = "code" in error ? ` ${error.code}` : "";
  return `${error.name}${code}: ${error.message}`;
}

function inJson(value: unknown): string {
  try {
    return JSON.stringify(value, plain, 2) ?? String(value);
  } catch {
    // A cycle.
    return String(value);
  }
}

function plain(_name: string, value: unknown): unknown {
  if (value instanceof Error) return messageOf(value);
  if (value instanceof Map || value instanceof Set) return [...value];
  return typeof value === "bigint" || typeof value === "function" ? String(value) : value;
}
