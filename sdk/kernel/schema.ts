// The checks of options and arguments, named after zod's. A check stops at the first error; its message gives the path,
// what was expected and the type received, never a received string: it may be a secret. Data that others send is checked
// with zod itself, whose import takes longer than that of the whole SDK (docs/benchmarks.md).

import { type Clock, timerDelayMsMax } from "./clock.ts";
import { describeValue } from "./describe-value.ts";
import { didYouMean } from "./did-you-mean.ts";
import { isPlainObject } from "./plain-object.ts";

/** Returns the value with defaults applied, or throws a `ValidationError`. `path` is "" for the value as a whole. */
export type Schema<Value> = (value: unknown, path: string) => Value;

// Recognised by a brand and not by class: each package has a copy of this module, and one checks with schemas of another.
const brand: unique symbol = Symbol.for("workspace-tasks/validation-error/v1") as never;

export class ValidationError extends Error {
  /** The message with the beginning of the received string: for options that are no secrets. */
  readonly messageWithValue: string;

  constructor(path: string, complaint: string, complaintWithValue = complaint) {
    const place = path === "" ? "" : `${path}: `;
    super(place + complaint);
    this.messageWithValue = place + complaintWithValue;
    Object.defineProperty(this, brand, { value: true });
  }
}

const isValidationError = (value: unknown): value is ValidationError =>
  typeof value === "object" && value !== null && brand in value;

/** Returns the checked value; `toError` turns a `ValidationError` into the error that the caller gets. */
export function parse<Value>(
  schema: Schema<Value>,
  value: unknown,
  toError: (invalid: ValidationError) => Error,
): Value {
  try {
    return schema(value, "");
  } catch (error) {
    throw isValidationError(error) ? toError(error) : error;
  }
}

/**
 * A value that satisfies `accepts`; `expected` completes the message "expected …, got …", and `describe` describes one
 * that does not. A string that is the argument as a whole is never shown.
 */
export function refine<Value>(
  expected: string,
  accepts: (value: unknown) => boolean,
  describe: (value: unknown) => string = kindOf,
): Schema<Value> {
  return (value, path) => {
    if (accepts(value)) return value as Value;
    const isShown = path !== "" || typeof value !== "string";
    const got = describe(value);
    const shown = isShown ? describeValue(value) : got;
    throw new ValidationError(path, `expected ${expected}, got ${got}`, `expected ${expected}, got ${shown}`);
  };
}

/** A number that satisfies `accepts`. The rejected number appears in the message: numbers are never secrets. */
export function refineNumber(expected: string, accepts: (value: number) => boolean): Schema<number> {
  return refine(
    expected,
    (value) => typeof value === "number" && accepts(value),
    (value) => (typeof value === "number" ? String(value) : kindOf(value)),
  );
}

/** A string that satisfies `accepts`; `description` describes one that does not. */
export function refineString<Value extends string = string>(
  expected: string,
  accepts: (value: string) => boolean,
  description: string,
): Schema<Value> {
  return refine(
    expected,
    (value) => typeof value === "string" && accepts(value),
    (value) => (typeof value === "string" ? description : kindOf(value)),
  );
}

export const anything: Schema<unknown> = (value) => value;
export const boolean = refine<boolean>("true or false", (value) => typeof value === "boolean");

export const string = refine<string>("a string", (value) => typeof value === "string");
export const nonEmptyString = refineString("a string", (value) => value !== "", "an empty one");
export const nonBlankString = refineString(
  "a string that is not blank",
  (value) => value.trim() !== "",
  "a blank one",
);

/** A string of this form. */
export const stringLike = (pattern: RegExp, expected: string): Schema<string> =>
  refineString(expected, (value) => pattern.test(value), "another");

export const number = refineNumber("a number", Number.isFinite);
export const numberFrom = (min: number): Schema<number> =>
  refineNumber(`a number of at least ${min}`, (value) => Number.isFinite(value) && value >= min);
export const integer = refineNumber("a whole number", Number.isSafeInteger);
export const positiveInteger = refineNumber(
  "a positive whole number",
  (value) => Number.isSafeInteger(value) && value >= 1,
);
const isIntegerBetween = (min: number, max: number) => (value: number) =>
  Number.isInteger(value) && value >= min && value <= max;
export const integerBetween = (min: number, max: number): Schema<number> =>
  refineNumber(`a whole number from ${min} to ${max}`, isIntegerBetween(min, max));
/** A delay of a timer. */
export const durationMs = refineNumber(
  `a whole number of milliseconds from 1 to ${timerDelayMsMax}`,
  isIntegerBetween(1, timerDelayMsMax),
);

export function oneOf<Value extends string>(...values: readonly Value[]): Schema<Value> {
  return refineString(
    `one of ${values.join(", ")}`,
    (value) => values.some((each) => each === value),
    "another",
  );
}

export const functionOf = <Value extends (...args: never[]) => unknown>() =>
  refine<Value>("a function", (value) => typeof value === "function");

/** An object with these methods, whatever else it has; a function can have them too. */
export const objectWith = <Value extends object>(
  expected: string,
  ...methods: readonly (keyof Value & string)[]
) => refine<Value>(expected, (value) => hasMethods(value, methods));

export const clock = objectWith<Clock>(
  "a clock with now, monotonic and schedule",
  ...(["now", "monotonic", "schedule"] as const),
);

/** Recognised by the members that are used: a signal may come from another realm or a polyfill. */
export const abortSignal = refine<AbortSignal>(
  "an AbortSignal",
  (value) => hasMethods(value, ["addEventListener", "removeEventListener"]) && "aborted" in value,
);

/** Any object but an array. */
export const object = refine<object>("an object", isPlainObject);

/** An object that JSON writes completely: a Map or a Set would arrive empty. */
export const plainObject = refine<Readonly<Record<string, unknown>>>("a plain object", (value) => {
  if (!isPlainObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
});

export function array<Value>(entry: Schema<Value>): Schema<readonly Value[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new ValidationError(path, `expected an array, got ${kindOf(value)}`);
    return Array.from(value, (each, index) => entry(each, inside(path, index)));
  };
}

export function nonEmptyArray<Value>(entry: Schema<Value>): Schema<readonly Value[]> {
  const entries = array(entry);
  return (value, path) => {
    const checked = entries(value, path);
    if (checked.length > 0) return checked;
    throw new ValidationError(path, "expected at least one entry, got an empty array");
  };
}

type Fields = Readonly<Record<string, Schema<unknown>>>;
type Checked<Shape extends Fields> = { readonly [Name in keyof Shape]: ReturnType<Shape[Name]> };

/**
 * An object with these fields and no others; the first unknown name is reported before anything else, because it usually
 * explains the rest. `hints` has what to say about names that others use for the same.
 */
export function strictObject<Shape extends Fields>(
  shape: Shape,
  hints: Readonly<Record<string, string>> = {},
): Schema<Checked<Shape>> {
  const fields = looseObject(shape);
  const known = Object.keys(shape);
  return (value, path) => {
    const unknown = isPlainObject(value) && Object.keys(value).find((name) => !Object.hasOwn(shape, name));
    if (typeof unknown !== "string") return fields(value, path);
    const hint = Object.hasOwn(hints, unknown) ? `; ${hints[unknown]}` : didYouMean(unknown, known);
    throw new ValidationError(
      path,
      `unknown option ${unknown}${hint || `; expected one of ${known.join(", ")}`}`,
    );
  };
}

/** An object with these options and no others. Each option of the interface `Options` must have a schema. */
export const strictOptions =
  <Options>() =>
  <Shape extends { readonly [Name in keyof Required<Options>]: Schema<unknown> }>(shape: Shape) =>
    strictObject(shape as Shape & Fields);

/** An object with these fields; other fields are kept as they are. */
export function looseObject<Shape extends Fields>(shape: Shape): Schema<Checked<Shape>> {
  const schemas = Object.entries(shape);
  return (value, path) => {
    const given = object(value, path);
    const checked: Record<string, unknown> = { ...given };
    for (const [name, schema] of schemas) {
      const field = schema(Reflect.get(given, name), inside(path, name));
      if (field !== undefined) checked[name] = field;
    }
    return checked as Checked<Shape>;
  };
}

export const optional =
  <Value>(schema: Schema<Value>): Schema<Value | undefined> =>
  (value, path) =>
    value === undefined ? undefined : schema(value, path);

export const nullish =
  <Value>(schema: Schema<Value>): Schema<Value | null | undefined> =>
  (value, path) =>
    value === undefined || value === null ? value : schema(value, path);

export const withDefault =
  <Value>(schema: Schema<Value>, fallback: unknown): Schema<Value> =>
  (value = fallback, path) =>
    schema(value, path);

/** A value that is a secret or holds one: no message shows it. */
export const secret =
  <Value>(schema: Schema<Value>): Schema<Value> =>
  (value, path) =>
    parse(
      () => schema(value, path),
      value,
      ({ message }) => new ValidationError("", message),
    );

/** What `change` makes of the checked value. */
export const transform =
  <Value, Result>(schema: Schema<Value>, change: (value: Value) => Result): Schema<Result> =>
  (value, path) =>
    change(schema(value, path));

export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function hasMethods(value: unknown, methods: readonly string[]): value is object {
  if (!isPlainObject(value) && typeof value !== "function") return false;
  return methods.every((method) => typeof Reflect.get(value, method) === "function");
}

function inside(path: string, name: string | number): string {
  return path === "" ? String(name) : `${path}.${name}`;
}
