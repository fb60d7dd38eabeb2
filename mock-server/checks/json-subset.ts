import { isPlainObject } from "./plain-object.ts";

/** Whether JSON is as expected: an expected object may lack fields, an expected list has all items. */
export function isJsonSubset(expected: unknown, actual: unknown): boolean {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    return (
      expected.length === actual.length && expected.every((item, index) => isJsonSubset(item, actual[index]))
    );
  }
  if (isPlainObject(expected) && isPlainObject(actual)) {
    return Object.entries(expected).every(
      ([field, value]) => Object.hasOwn(actual, field) && isJsonSubset(value, actual[field]),
    );
  }
  return Object.is(expected, actual);
}
