// What a caller gives is checked where it comes in. The first mistake ends the check; it is told by its place, by
// what was expected and by the kind of what was found. A text that was found is never told: it may be a secret.
//
// The events are described with zod, but loading zod takes longer than loading all of this SDK.

import type { ErrorCode } from "../errors.ts";

/** Returns the value, defaults filled in, or throws a `ValidationError`. `path` is where the value stands, "" for the whole. */
export type Check<Value> = (value: unknown, path: string) => Value;

export class ValidationError extends Error {
  /** Of the service's own answer to the same mistake; then the message is the service's too. */
  readonly code: ErrorCode | undefined;

  constructor(path: string, complaint: string, code?: ErrorCode) {
    super(path === "" ? complaint : `${path}: ${complaint}`);
    this.code = code;
  }
}

/** Checks a value; `toError` makes of a mistake the error that the caller gets. */
export function check<Value>(
  by: Check<Value>,
  value: unknown,
  toError: (mistake: ValidationError) => Error,
): Value {
  try {
    return by(value, "");
  } catch (error) {
    throw error instanceof ValidationError ? toError(error) : error;
  }
}

/** A value that `accepts` accepts; `found` says in the message what another value is. */
export function such<Value>(
  expected: string,
  accepts: (value: unknown) => boolean,
  found: (value: unknown) => string = kindOf,
): Check<Value> {
  return (value, path) => {
    if (accepts(value)) return value as Value;
    throw new ValidationError(path, `expected ${expected}, got ${found(value)}`);
  };
}

export const anything: Check<unknown> = (value) => value;
export const text = such<string>("a string", (value) => typeof value === "string");
export const flag = such<boolean>("a boolean", (value) => typeof value === "boolean");
export const wholeNumber = numberSuch("an integer", Number.isSafeInteger);

export function integer(min: number, max: number): Check<number> {
  const accepts = (value: number) => Number.isInteger(value) && value >= min && value <= max;
  return numberSuch(`an integer from ${min} to ${max}`, accepts);
}

/** Node's timers hold no longer delay. */
export const durationMsMax = 2_147_483_647;
export const durationMs = integer(1, durationMsMax);

/** A number for which `accepts` holds. One for which it does not is told: where a number belongs, no secret does. */
export function numberSuch(expected: string, accepts: (value: number) => boolean): Check<number> {
  return such(
    expected,
    (value) => typeof value === "number" && accepts(value),
    (value) => (typeof value === "number" ? String(value) : kindOf(value)),
  );
}

/** A text for which `accepts` holds; `found` says what one is for which it does not. */
export function textSuch<Value extends string = string>(
  expected: string,
  accepts: (value: string) => boolean,
  found: string,
): Check<Value> {
  return such(
    expected,
    (value) => typeof value === "string" && accepts(value),
    (value) => (typeof value === "string" ? found : kindOf(value)),
  );
}

export function oneOf<Value extends string>(...values: readonly Value[]): Check<Value> {
  const known: ReadonlySet<string> = new Set(values);
  return textSuch(`one of ${values.join(", ")}`, (value) => known.has(value), "another");
}

export const functionOf = <Value extends (...args: never[]) => unknown>() =>
  such<Value>("a function", (value) => typeof value === "function");

export const objectWith = <Value extends object>(...methods: readonly (keyof Value & string)[]) =>
  such<Value>(`an object with ${methods.join(", ")}`, (value) => hasMethods(value, methods));

/** Known by what is used of it: a signal may come from another realm or a polyfill. */
export const abortSignal = such<AbortSignal>(
  "an AbortSignal",
  (value) => hasMethods(value, ["addEventListener", "removeEventListener"]) && "aborted" in value,
);

/** What JSON writes as it is: a Map or a Set would arrive empty. */
export const plainObject = such<Readonly<Record<string, unknown>>>("a plain object", isPlainObject);

export function list<Value>(entry: Check<Value>): Check<readonly Value[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new ValidationError(path, `expected an array, got ${kindOf(value)}`);
    return Array.from(value, (each, index) => entry(each, inside(path, index)));
  };
}

export function filledList<Value>(entry: Check<Value>): Check<readonly Value[]> {
  const checkList = list(entry);
  return (value, path) => {
    const entries = checkList(value, path);
    if (entries.length > 0) return entries;
    throw new ValidationError(path, "expected at least one entry, got an empty array");
  };
}

type Fields = Readonly<Record<string, Check<unknown>>>;
type Checked<Shape extends Fields> = { readonly [Name in keyof Shape]: ReturnType<Shape[Name]> };

/** An object with these fields and no others. */
export function only<Shape extends Fields>(shape: Shape): Check<Checked<Shape>> {
  const checkFields = atLeast(shape);
  return (value, path) => {
    const checked = checkFields(value, path);
    const others = Object.keys(checked).filter((name) => !Object.hasOwn(shape, name));
    if (others.length === 0) return checked;
    const places = others.map((name) => inside(path, name));
    throw new ValidationError("", `expected only known fields, got ${places.join(", ")}`);
  };
}

/** An object with these fields; others are kept as they are. */
export function atLeast<Shape extends Fields>(shape: Shape): Check<Checked<Shape>> {
  const checks = Object.entries(shape);
  return (value, path) => {
    if (!isObject(value)) throw new ValidationError(path, `expected an object, got ${kindOf(value)}`);
    const checked: Record<string, unknown> = { ...value };
    for (const [name, by] of checks) {
      const field = by(Reflect.get(value, name), inside(path, name));
      if (field !== undefined) checked[name] = field;
    }
    return checked as Checked<Shape>;
  };
}

export const optional =
  <Value>(by: Check<Value>): Check<Value | undefined> =>
  (value, path) =>
    value === undefined ? undefined : by(value, path);

export const nullish =
  <Value>(by: Check<Value>): Check<Value | null | undefined> =>
  (value, path) =>
    value === undefined || value === null ? value : by(value, path);

export const withDefault =
  <Value>(by: Check<Value>, fallback: unknown): Check<Value> =>
  (value = fallback, path) =>
    by(value, path);

/** What fails a condition of the service is told with the service's own code and words. */
export const refusedUnless =
  <Value>(
    by: Check<Value>,
    holds: (value: Value) => boolean,
    code: ErrorCode,
    message: string,
  ): Check<Value> =>
  (value, path) => {
    const checked = by(value, path);
    if (holds(checked)) return checked;
    throw new ValidationError("", message, code);
  };

export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
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
