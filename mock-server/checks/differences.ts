import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";

/** `operation: expected me, got createClient`, or nothing when the value is as expected. */
export function difference(place: string, expected: unknown, actual: unknown): readonly string[] {
  if (expected === undefined || Object.is(expected, actual)) return [];
  return [`${place}: expected ${shown(expected)}, got ${shown(actual)}`];
}

/** Differences of JSON: an expected object may lack fields, an expected list has all items. */
export function jsonDifferences(place: string, expected: unknown, actual: unknown): readonly string[] {
  if (expected === undefined) return [];
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = difference(`${place}.length`, expected.length, actual.length);
    if (length.length > 0) return length;
    return expected.flatMap((item, index) => jsonDifferences(`${place}.${index}`, item, actual[index]));
  }
  if (isPlainObject(expected) && isPlainObject(actual)) {
    return Object.entries(expected).flatMap(([field, value]) =>
      jsonDifferences(`${place}.${field}`, value, Object.hasOwn(actual, field) ? actual[field] : undefined),
    );
  }
  return difference(place, expected, actual);
}

/** Whether two values are the same as JSON; the order of fields makes no difference. */
export const isSameJson = (one: unknown, other: unknown): boolean =>
  jsonDifferences("", one, other).length + jsonDifferences("", other, one).length === 0;

const shown = (value: unknown) => (value === undefined ? "nothing" : describeValue(value));
