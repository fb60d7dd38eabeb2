// The state of an object of the products as text: all of its fields, private ones included, so that two objects with equal
// texts behave alike. Bundled code has its private fields as `private_…`. Times are relative to now.

export interface VisibleStateOptions {
  readonly nowMs: number;
  /** Text for an object that means more than its fields; undefined to walk it. */
  readonly textOf?: ((value: object) => string | undefined) | undefined;
  /** Fields that decide nothing. */
  readonly ignored: ReadonlySet<string>;
}

export function visibleState(value: unknown, options: VisibleStateOptions): string {
  return JSON.stringify(walk(value, "", options, []));
}

/** Later than any time of a virtual clock that starts at 0: wall times, and differences between clocks. */
const wallTimeMin = 1e11;

/** More than any limit that elapsed times are compared with. */
const longAgoMs = 10_000;

function walk(value: unknown, name: string, options: VisibleStateOptions, path: object[]): unknown {
  if (typeof value === "number") return /Ms$/.test(name) ? relative(value, options) : value;
  if (typeof value === "function" || value === undefined || value === null) return value ? "function" : null;
  if (typeof value !== "object") return value;
  const text = options.textOf?.(value);
  if (text !== undefined) return text;
  if (path.includes(value)) return "cycle";
  path.push(value);
  const walked = walkObject(value, (item, itemName = name) => walk(item, itemName, options, path), options);
  path.pop();
  return walked;
}

function walkObject(
  value: object,
  each: (item: unknown, name?: string) => unknown,
  options: VisibleStateOptions,
): unknown {
  if (value instanceof Promise) return "promise";
  if (value instanceof Uint8Array) return value.byteLength;
  if (Array.isArray(value)) return value.map((item) => each(item));
  if (value instanceof Set) return [...value].map((item) => JSON.stringify(each(item))).sort();
  if (value instanceof Map) {
    return [...value].map(([key, item]) => JSON.stringify([each(key, ""), each(item)])).sort();
  }
  if (value instanceof Error) return value.message;
  const fields = Object.entries(value).filter(([key]) => !options.ignored.has(key));
  return fields.map(([key, item]) => [key.replace("private_", ""), each(item, key)]);
}

function relative(timeMs: number, { nowMs }: VisibleStateOptions): number | string {
  if (!Number.isFinite(timeMs) || timeMs >= wallTimeMin) return String(timeMs);
  return Math.max(-longAgoMs, Math.round((timeMs - nowMs) * 1_000) / 1_000);
}
