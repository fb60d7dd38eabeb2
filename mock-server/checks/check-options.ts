// Checked without zod, which a mock does not load at its start.

import { describeValue } from "../../sdk/kernel/describe-value.ts";
import { didYouMean } from "../../sdk/kernel/did-you-mean.ts";
import { isPlainObject } from "../../sdk/kernel/plain-object.ts";
import { MockServerError } from "../errors.ts";

/** A kind of value; `expected` completes the message "expected …, got …". */
export interface Kind {
  readonly expected: string;
  accepts(value: unknown): boolean;
  /** What is wrong about a value that is not accepted. Default: the value. */
  wrongPart?(value: unknown): unknown;
}

export const kind = (expected: string, accepts: (value: unknown) => boolean): Kind => ({ expected, accepts });

/** An array; a message shows the first item that is wrong. */
export const list = (expected: string, acceptsItem: (item: unknown) => boolean): Kind => ({
  expected,
  accepts: (value) => Array.isArray(value) && value.every(acceptsItem),
  wrongPart: (value) => (Array.isArray(value) ? value.find((item) => !acceptsItem(item)) : value),
});

export const boolean = kind("true or false", (value) => typeof value === "boolean");
export const object = kind("an object", isPlainObject);
export const functionKind = kind("a function", (value) => typeof value === "function");
export const urlKind = kind(
  "a URL such as http://127.0.0.1:4010",
  (value) => typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value),
);
export const strings = list("an array of strings", (item) => typeof item === "string");
export const number = kind("a number", Number.isFinite);
export const oneOf = (...values: readonly unknown[]) =>
  kind(values.map((value) => JSON.stringify(value)).join(" or "), (value) => values.includes(value));
export const numberFrom = (min: number) =>
  kind(`a number of at least ${min}`, (value) => Number.isFinite(value) && Number(value) >= min);

/**
 * Validates options for JavaScript callers, unknown names included.
 * @param caller the function whose options they are, for the message
 * @throws MockServerError CONFIGURATION_INVALID for the first option that is wrong
 */
export function checkOptions(caller: string, options: object, kinds: Readonly<Record<string, Kind>>): void {
  checkValue(caller, "", options, object);
  checkNames(caller, "", options, Object.keys(kinds));
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) checkValue(caller, name, value, kinds[name] as Kind);
  }
}

/** @throws MockServerError CONFIGURATION_INVALID for a name that is not known */
export function checkNames(caller: string, place: string, given: object, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const hint = didYouMean(name, known) || `; expected one of ${known.join(", ")}`;
    throw invalidOption(caller, place, `unknown option ${name}${hint}`);
  }
}

/** @throws MockServerError CONFIGURATION_INVALID for a value of another kind */
export function checkValue(caller: string, place: string, value: unknown, kind: Kind): void {
  if (kind.accepts(value)) return;
  const wrong = kind.wrongPart ? kind.wrongPart(value) : value;
  throw invalidOption(caller, place, `expected ${kind.expected}, got ${describeValue(wrong)}`);
}

/** @param place the option, or "" for all options together */
export const invalidOption = (caller: string, place: string, message: string) =>
  new MockServerError("CONFIGURATION_INVALID", `${caller}: ${place === "" ? "" : `${place}: `}${message}`);
