// Prototypes, undefined fields and kinds of byte arrays make no difference: results may come from any driver.

import assert from "node:assert/strict";

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  if (value instanceof Set) return [...value].map(plain);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const defined = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(defined.map(([name, field]) => [name, plain(field)]).toSorted(byName));
}

const byName = ([a]: unknown[], [b]: unknown[]) => (String(a) < String(b) ? -1 : 1);

/** Only the fields that `expected` has. */
function picked(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return actual;
    return expected.map((item, index) => picked(actual[index], item));
  }
  if (expected instanceof Uint8Array || typeof expected !== "object" || expected === null) return actual;
  if (typeof actual !== "object" || actual === null) return actual;
  const fields = Object.entries(expected);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, picked((actual as Record<string, unknown>)[name], field)]),
  );
}

/** `what` completes the message "what: expected …, got …". */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [plain(actual), plain(expected)];
  assert.deepEqual(left, right, `${what}: expected ${JSON.stringify(right)}, got ${JSON.stringify(left)}`);
}

/** As `same`, for the fields of `expected` and of the objects in it. */
export function includes(actual: unknown, expected: unknown, what: string): void {
  same(picked(actual, expected), expected, what);
}

export function holds(condition: boolean, what: string): void {
  assert.ok(condition, what);
}

/** @param codes of which the error has one */
export async function rejectsWith(
  work: Promise<unknown>,
  codes: string | readonly string[],
  what: string,
): Promise<void> {
  const expected = [codes].flat();
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown as { readonly code?: unknown },
  );
  holds(error !== undefined, `${what}: expected an error with the code ${expected.join(" or ")}, got none`);
  const { code } = error ?? {};
  holds(
    expected.includes(String(code)),
    `${what}: expected the code ${expected.join(" or ")}, got ${String(code)}`,
  );
}
