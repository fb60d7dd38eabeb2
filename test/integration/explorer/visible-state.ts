// The state of an object of the products as text: all of its fields, private ones included, so that two objects with equal
// texts behave alike. Bundled code has its private fields as `private_…`. Times are relative to now.

export interface VisibleStateOptions {
  readonly nowMs: number;
  /** Text for an object that means more than its fields; undefined to walk it. */
  readonly textOf?: ((value: object) => string | undefined) | undefined;
  /** Fields that decide nothing. */
  readonly ignored: ReadonlySet<string>;
}

export const visibleState = (value: unknown, options: VisibleStateOptions): string =>
  walk(value, "", options, []);

/** Later than any time of a virtual clock that starts at 0: wall times, and differences between clocks. */
const wallTimeMin = 1e11;

/** More than any limit that elapsed times are compared with. */
const longAgoMs = 10_000;

/** Writes the text itself: it is needed for each state, and takes a third of the time of an exploration. */
function walk(value: unknown, name: string, options: VisibleStateOptions, path: object[]): string {
  if (typeof value === "number") return name.endsWith("Ms") ? relative(value, options) : String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "function";
  if (typeof value !== "object" || value === null) return String(value ?? null);
  const text = options.textOf?.(value);
  if (text !== undefined) return JSON.stringify(text);
  if (path.includes(value)) return "cycle";
  path.push(value);
  const walked = walkObject(value, name, options, path);
  path.pop();
  return walked;
}

function walkObject(value: object, name: string, options: VisibleStateOptions, path: object[]): string {
  const each = (item: unknown) => walk(item, name, options, path);
  if (value instanceof Promise) return "promise";
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  if (Array.isArray(value)) return `[${value.map(each).join()}]`;
  if (value instanceof Set) return `{${[...value].map(each).sort().join()}}`;
  if (value instanceof Map) {
    const entries = [...value].map(([key, item]) => `${walk(key, "", options, path)}:${each(item)}`);
    return `{${entries.sort().join()}}`;
  }
  if (value instanceof Error) return JSON.stringify(value.message);
  let fields = "";
  for (const field in value) {
    if (!Object.hasOwn(value, field) || options.ignored.has(field)) continue;
    fields += `${field}:${walk((value as Record<string, unknown>)[field], field, options, path)},`;
  }
  return `(${fields})`;
}

function relative(timeMs: number, { nowMs }: VisibleStateOptions): string {
  if (!Number.isFinite(timeMs) || timeMs >= wallTimeMin) return String(timeMs);
  return String(Math.max(-longAgoMs, Math.round((timeMs - nowMs) * 1_000) / 1_000));
}
