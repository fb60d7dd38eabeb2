export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of JSON; `undefined` when there is none. */
export const valueAt = (json: unknown, ...names: readonly string[]): unknown =>
  names.reduce((value, name) => (isPlainObject(value) ? value[name] : undefined), json);
