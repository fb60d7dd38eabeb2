import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";

/**
 * A value without these texts. A service that repeats a key where a word of its own belongs would bring it past the lists of
 * what is kept: a key may look like such a word.
 */
export function withoutTexts<Value>(value: Value, texts: readonly string[]): Value {
  return replace(value, texts) as Value;
}

function replace(value: unknown, texts: readonly string[]): unknown {
  if (typeof value === "string") return texts.some((text) => value.includes(text)) ? "…" : value;
  if (Array.isArray(value)) return value.map((item) => replace(item, texts));
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [replace(name, texts), replace(inner, texts)]);
  return Object.fromEntries(entries);
}
