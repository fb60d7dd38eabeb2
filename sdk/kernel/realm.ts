// A vm context of Jest or vitest, a DOM environment and a second copy of a package have classes and symbols of their own:
// what may come from there is recognised by its form.

/** The method that `await using` calls; in a vm context without the symbol, compiled code looks for the second. */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** The method that `using` calls, found like `asyncDispose`. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");

export const isError = (value: unknown): value is Error =>
  value instanceof Error ||
  (typeof value === "object" &&
    value !== null &&
    "message" in value &&
    typeof value.message === "string" &&
    "stack" in value);

/** What a value is by its tag: `Uint8Array`, `Blob`, `URL`, `Object` and so on. */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice("[object ".length, -1);

/** The bytes of a `Uint8Array`, `Buffer` or `ArrayBuffer`, not copied; `undefined` for anything else. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (tagOf(value) === "ArrayBuffer") return new Uint8Array(value as ArrayBuffer);
  return ArrayBuffer.isView(value) && tagOf(value) === "Uint8Array" ? (value as Uint8Array) : undefined;
}
