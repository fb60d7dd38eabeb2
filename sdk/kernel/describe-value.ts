import { tagOf } from "./realm.ts";

/** A value for messages, at most 64 characters of a string; names what cannot be shown. Not for what may be a secret. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 64));
  if (Array.isArray(value)) return "an array";
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "object" && value !== null) {
    const type = tagOf(value);
    return type === "Object" ? "an object" : `a ${type}`;
  }
  return typeof value === "function" ? "a function" : String(value);
}
