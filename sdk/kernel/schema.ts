// The checks of what a caller passes in, named after zod's. A check stops at the first error; its message gives the
// path, what was expected and the type received, never a received string: it may be a secret. The events use zod
// itself; here it would add about 50 ms to an import of about 130 ms (docs/maintainers/decisions.md).

import { timerDelayMsMax } from "./clock.ts";
import { didYouMean } from "./did-you-mean.ts";

/** Returns the value with defaults applied, or throws a `ValidationError`. `path` is "" for the value as a whole. */
export type Schema<Value> = (value: unknown, path: string) => Value;

export class ValidationError extends Error {
  constructor(path: string, complaint: string) {
    super(path === "" ? complaint : `${path}: ${complaint}`);
  }
}

/** Returns the checked value; `toError` turns a `ValidationError` into the error that the caller gets. */
export function parse<Value>(
  schema: Schema<Value>,
  value: unknown,
  toError: (invalid: ValidationError) => Error,
): Value {
  try {
    return schema(value, "");
  } catch (error) {
    throw error instanceof ValidationError ? toError(error) : error;
  }
}

/** A value that satisfies `accepts`; `describe` describes one that does not. */
export function refine<Value>(
  expected: string,
  accepts: (value: unknown) => boolean,
  describe: (value: unknown) => string = kindOf,
): Schema<Value> {
  return (value, path) => {
    if (accepts(value)) return value as Value;
    throw new ValidationError(path, `expected ${expected}, got ${describe(value)}`);
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
export const boolean = refine<boolean>("a boolean", (value) => typeof value === "boolean");

export const string = refine<string>("a string", (value) => typeof value === "string");
export const nonEmptyString = refineString("a string", (value) => value !== "", "an empty one");
export const nonBlankString = refineString(
  "a string that is not blank",
  (value) => value.trim() !== "",
  "a blank one",
);

export const integer = refineNumber("an integer", Number.isSafeInteger);
export const integerBetween = (min: number, max: number): Schema<number> =>
  refineNumber(
    `an integer from ${min} to ${max}`,
    (value) => Number.isInteger(value) && value >= min && value <= max,
  );
export const durationMs = integerBetween(1, timerDelayMsMax);

export function oneOf<Value extends string>(...values: readonly Value[]): Schema<Value> {
  return refineString(
    `one of ${values.join(", ")}`,
    (value) => values.some((each) => each === value),
    "another",
  );
}

export const functionOf = <Value extends (...args: never[]) => unknown>() =>
  refine<Value>("a function", (value) => typeof value === "function");

export const objectWith = <Value extends object>(...methods: readonly (keyof Value & string)[]) =>
  refine<Value>(`an object with ${methods.join(", ")}`, (value) => hasMethods(value, methods));

/** Recognised by the members that are used: a signal may come from another realm or a polyfill. */
export const abortSignal = refine<AbortSignal>(
  "an AbortSignal",
  (value) => hasMethods(value, ["addEventListener", "removeEventListener"]) && "aborted" in value,
);

/** An object that JSON writes completely: a Map or a Set would arrive empty. */
export const plainObject = refine<Readonly<Record<string, unknown>>>("a plain object", isPlainObject);

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

/** An object with these fields and no others. `hints` has what to say about names that others use for the same. */
export function strictObject<Shape extends Fields>(
  shape: Shape,
  hints: Readonly<Record<string, string>> = {},
): Schema<Checked<Shape>> {
  const fields = looseObject(shape);
  const names = Object.keys(shape);
  return (value, path) => {
    const checked = fields(value, path);
    const others = Object.keys(checked).filter((name) => !Object.hasOwn(shape, name));
    if (others.length === 0) return checked;
    const found = others.map((name) => inside(path, name) + hintOn(name, hints, names));
    throw new ValidationError("", `expected only known fields, got ${found.join(", ")}`);
  };
}

/** An object with these fields; other fields are kept as they are. */
export function looseObject<Shape extends Fields>(shape: Shape): Schema<Checked<Shape>> {
  const schemas = Object.entries(shape);
  return (value, path) => {
    if (!isObject(value)) throw new ValidationError(path, `expected an object, got ${kindOf(value)}`);
    const checked: Record<string, unknown> = { ...value };
    for (const [name, schema] of schemas) {
      const field = schema(Reflect.get(value, name), inside(path, name));
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

export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The hint, else the known name that is nearest, when a typing error may have made `given` of it. */
function hintOn(given: string, hints: Readonly<Record<string, string>>, known: readonly string[]): string {
  if (Object.hasOwn(hints, given)) return ` (${hints[given]})`;
  return didYouMean(given, known);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlainObject(value: unknown): boolean {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function hasMethods(value: unknown, methods: readonly string[]): value is object {
  if (!isObject(value) && typeof value !== "function") return false;
  return methods.every((method) => typeof Reflect.get(value, method) === "function");
}

function inside(path: string, name: string | number): string {
  return path === "" ? String(name) : `${path}.${name}`;
}
