// Checked without zod, which a mock does not load at its start.

import { closest, distance } from "fastest-levenshtein";
import { MockServerError } from "./errors.ts";
import { isPlainObject } from "./plain-object.ts";

/** A kind of value; `expected` completes the message "expected …, got …". */
export interface Kind {
  readonly expected: string;
  accepts(value: unknown): boolean;
}

export const kind = (expected: string, accepts: (value: unknown) => boolean): Kind => ({ expected, accepts });

export const boolean = kind("true or false", (value) => typeof value === "boolean");
export const object = kind("an object", isPlainObject);
export const functionKind = kind("a function", (value) => typeof value === "function");
export const strings = kind(
  "an array of strings",
  (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
);
export const numberFrom = (min: number) =>
  kind(`a number of at least ${min}`, (value) => Number.isFinite(value) && Number(value) >= min);
export const oneOf = (...values: readonly unknown[]) =>
  kind(values.map((value) => JSON.stringify(value)).join(" or "), (value) => values.includes(value));

/** The function whose options are checked. */
const callerDefault = "createMockServer";

/**
 * Validates options for JavaScript callers, unknown names included.
 * @throws MockServerError CONFIGURATION_INVALID for the first option that is wrong
 */
export function checkOptions(
  options: object,
  kinds: Readonly<Record<string, Kind>>,
  caller = callerDefault,
): void {
  checkValue("", options, object, caller);
  checkNames("", options, Object.keys(kinds), caller);
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) checkValue(name, value, kinds[name] as Kind, caller);
  }
}

/** @throws MockServerError CONFIGURATION_INVALID for a name that is not known */
export function checkNames(
  place: string,
  given: object,
  known: readonly string[],
  caller = callerDefault,
): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const nearest = closest(name, known);
    const isTypo = distance(name.toLowerCase(), nearest.toLowerCase()) <= 3;
    const hint = isTypo ? `did you mean ${nearest}?` : `expected one of ${known.join(", ")}`;
    throw invalidOption(place, `unknown option ${name}; ${hint}`, caller);
  }
}

/** @throws MockServerError CONFIGURATION_INVALID for a value of another kind */
export function checkValue(
  place: string,
  value: unknown,
  { expected, accepts }: Kind,
  caller = callerDefault,
): void {
  if (!accepts(value))
    throw invalidOption(place, `expected ${expected}, got ${describeValue(value)}`, caller);
}

/** @param place the option, or "" for all options together */
export const invalidOption = (place: string, message: string, caller = callerDefault) =>
  new MockServerError("CONFIGURATION_INVALID", `${caller}: ${place === "" ? "" : `${place}: `}${message}`);

function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 64));
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}
