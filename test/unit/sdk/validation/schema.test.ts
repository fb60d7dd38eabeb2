import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  anything,
  atLeast,
  type Check,
  check,
  filledList,
  integer,
  list,
  nullish,
  oneOf,
  only,
  optional,
  plainObject,
  text,
  ValidationError,
  withDefault,
} from "../../../../sdk/validation/schema.ts";

const point = only({ x: integer(0, 9), y: withDefault(integer(0, 9), 5), note: optional(text) });

function messageOf(by: Check<unknown>, value: unknown): string {
  let message = "no mistake";
  const keep = (mistake: ValidationError) => {
    message = mistake.message;
    return mistake;
  };
  try {
    check(by, value, keep);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
  }
  return message;
}

describe("an object", () => {
  test("comes back with its defaults, and without names for what was left out", () => {
    expect(point({ x: 1 }, "")).toStrictEqual({ x: 1, y: 5 });
    expect(point({ x: 1, y: undefined, note: "n" }, "")).toStrictEqual({ x: 1, y: 5, note: "n" });
  });

  test("is copied, so that a change of the caller's own does not reach what was checked", () => {
    const given = { x: 1 };
    const checked = point(given, "");
    given.x = 99;
    expect(checked.x).toBe(1);
  });

  test("may be of a class: what it inherits is read as well", () => {
    class Point {
      get x() {
        return 3;
      }
    }
    expect(point(new Point(), "")).toStrictEqual({ x: 3, y: 5 });
  });

  test("with an unknown field is refused by one check and kept whole by the other", () => {
    const given = { x: 1, colour: "red", ["__proto__"]: "own" };
    expect(messageOf(point, given)).toBe("expected only known fields, got colour, __proto__");
    const kept = atLeast({ x: integer(0, 9) })(given, "");
    expect(Object.entries(kept)).toEqual(Object.entries(given));
  });

  test("is told of its first mistake, by the whole path", () => {
    const shape = only({ points: list(point), name: text });
    expect(messageOf(shape, { points: [{ x: 1 }, { x: 10 }] })).toBe(
      "points.1.x: expected an integer from 0 to 9, got 10",
    );
    expect(messageOf(shape, { points: [{ x: 1, z: 1 }], name: "n" })).toBe(
      "expected only known fields, got points.0.z",
    );
  });

  test.each([
    [null, "null"],
    [undefined, "nothing"],
    [[], "an array"],
    ["x", "a string"],
    [() => {}, "a function"],
  ])("is not %j", (value, kind) => {
    expect(messageOf(point, value)).toBe(`expected an object, got ${kind}`);
  });

  test("is a plain one where the service reads it as JSON: a Map would arrive empty", () => {
    const message = (metadata: unknown) => messageOf(only({ metadata: plainObject }), { metadata });
    expect(message({ deep: { a: 1 } })).toBe("no mistake");
    expect(message(Object.create(null))).toBe("no mistake");
    expect(message(new Map([["a", 1]]))).toBe("metadata: expected a plain object, got an object");
  });
});

test("an array with a hole in it is refused there", () => {
  // biome-ignore lint/suspicious/noSparseArray: this is the mistake.
  expect(messageOf(filledList(text), ["a", , "b"])).toBe("1: expected a string, got nothing");
});

test("null stands for an absent value only where it may", () => {
  expect(messageOf(nullish(text), null)).toBe("no mistake");
  expect(messageOf(optional(text), null)).toBe("expected a string, got null");
  expect(messageOf(withDefault(text, "a"), null)).toBe("expected a string, got null");
});

test("an error of the caller's own getter passes through as it is", () => {
  const broken = {
    get x(): number {
      throw new RangeError("mine");
    },
  };
  expect(() => check(point, broken, () => new Error("not this"))).toThrow(new RangeError("mine"));
});

test("a text that was found stands in no message", () => {
  const checks: readonly Check<unknown>[] = [
    text,
    integer(0, 9),
    oneOf("a", "b"),
    list(integer(0, 9)),
    filledList(list(text)),
    point,
  ];
  const shape = only(Object.fromEntries(checks.map((by, index) => [`field${index}`, optional(by)])));
  const secret = "whsec_secret";
  const value = fc.oneof(
    fc.constant(secret),
    fc.array(fc.constant(secret)),
    fc.record({ x: fc.constant(secret) }),
    fc.integer(),
    fc.array(fc.array(fc.constantFrom<unknown>(secret, 1))),
  );
  const names = checks.map((_, index) => `field${index}`);
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value), (given) => {
      expect(messageOf(shape, given)).not.toContain(secret);
    }),
  );
  // The property can fail: a name is told.
  expect(messageOf(only({ a: anything }), { [secret]: 1 })).toContain(secret);
});
