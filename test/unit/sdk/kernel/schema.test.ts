import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as s from "../../../../sdk/kernel/schema.ts";

const point = s.strictObject({
  x: s.integerBetween(0, 9),
  y: s.withDefault(s.integerBetween(0, 9), 5),
  note: s.optional(s.string),
});

function messageOf(schema: s.Schema<unknown>, value: unknown): string {
  let message = "valid";
  const keep = (invalid: s.ValidationError) => {
    message = invalid.message;
    return invalid;
  };
  try {
    s.parse(schema, value, keep);
  } catch (error) {
    if (!(error instanceof s.ValidationError)) throw error;
  }
  return message;
}

describe("an object schema", () => {
  it("an object schema returns the defaults, and no names for omitted fields", () => {
    expect(point({ x: 1 }, "")).toStrictEqual({ x: 1, y: 5 });
    expect(point({ x: 1, y: undefined, note: "n" }, "")).toStrictEqual({ x: 1, y: 5, note: "n" });
  });

  it("an object schema returns a copy, so that the caller's later changes have no effect", () => {
    const given = { x: 1 };
    const checked = point(given, "");
    given.x = 99;
    expect(checked.x).toBe(1);
  });

  it("an object schema accepts an instance of a class and reads inherited fields", () => {
    class Point {
      get x() {
        return 3;
      }
    }
    expect(point(new Point(), "")).toStrictEqual({ x: 3, y: 5 });
  });

  it("an object schema rejects unknown fields when it is strict and keeps them when it is loose", () => {
    const given = { x: 1, colour: "red", ["__proto__"]: "own" };
    expect(messageOf(point, given)).toBe("unknown option colour; expected one of x, y, note");
    const kept = s.looseObject({ x: s.integerBetween(0, 9) })(given, "");
    expect(Object.entries(kept)).toEqual(Object.entries(given));
  });

  it.each([
    ["timeoutms", "unknown option timeoutms; did you mean timeoutMs?"],
    ["maxRetrys", "unknown option maxRetrys; did you mean maxRetries?"],
    ["colour", "unknown option colour; expected one of timeoutMs, maxRetries"],
    ["wait", "unknown option wait; set timeoutMs"],
    ["__proto__", "unknown option __proto__; expected one of timeoutMs, maxRetries"],
  ])("an object schema says for the unknown name %s: %s", (name, expected) => {
    const options = s.strictObject(
      { timeoutMs: s.integer, maxRetries: s.anything },
      { wait: "set timeoutMs" },
    );
    expect(messageOf(options, Object.fromEntries([[name, 1]]))).toBe(expected);
  });

  it("an object schema reports the first error with its whole path", () => {
    const shape = s.strictObject({ points: s.array(point), name: s.string });
    expect(messageOf(shape, { points: [{ x: 1 }, { x: 10 }] })).toBe(
      "points.1.x: expected a whole number from 0 to 9, got 10",
    );
    expect(messageOf(shape, { points: [{ x: 1, noet: 1 }], name: "n" })).toBe(
      "points.0: unknown option noet; did you mean note?",
    );
  });
});

describe("schemas", () => {
  it("a plain object is not a Map, which would be empty in JSON", () => {
    const message = (metadata: unknown) =>
      messageOf(s.strictObject({ metadata: s.plainObject }), { metadata });
    expect(message({ deep: { a: 1 } })).toBe("valid");
    expect(message(Object.create(null))).toBe("valid");
    expect(message(new Map([["a", 1]]))).toBe("metadata: expected a plain object, got an object");
  });

  it("an array with a hole is rejected at the hole", () => {
    // biome-ignore lint/suspicious/noSparseArray: this is the error.
    expect(messageOf(s.nonEmptyArray(s.string), ["a", , "b"])).toBe("1: expected a string, got nothing");
  });

  it("null counts as absent only for nullish fields", () => {
    expect(messageOf(s.nullish(s.string), null)).toBe("valid");
    expect(messageOf(s.optional(s.string), null)).toBe("expected a string, got null");
    expect(messageOf(s.withDefault(s.string, "a"), null)).toBe("expected a string, got null");
  });

  it("an error thrown by the caller's getter is passed on unchanged", () => {
    const broken = {
      get x(): number {
        throw new RangeError("mine");
      },
    };
    expect(() => s.parse(point, broken, () => new Error("not this"))).toThrow(new RangeError("mine"));
  });

  it("no message contains a received string", () => {
    const schemas: readonly s.Schema<unknown>[] = [
      s.string,
      s.integerBetween(0, 9),
      s.oneOf("a", "b"),
      s.array(s.integerBetween(0, 9)),
      s.nonEmptyArray(s.array(s.string)),
      point,
    ];
    const shape = s.strictObject(
      Object.fromEntries(schemas.map((schema, index) => [`field${index}`, s.optional(schema)])),
    );
    const secret = "whsec_secret";
    const value = fc.oneof(
      fc.constant(secret),
      fc.array(fc.constant(secret)),
      fc.record({ x: fc.constant(secret) }),
      fc.integer(),
      fc.array(fc.array(fc.constantFrom<unknown>(secret, 1))),
    );
    const names = schemas.map((_, index) => `field${index}`);
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (given) => {
        expect(messageOf(shape, given)).not.toContain(secret);
      }),
    );
    // Control: a name does appear.
    expect(messageOf(s.strictObject({ a: s.anything }), { [secret]: 1 })).toContain(secret);
  });
});

describe("the message with the value", () => {
  const withValueOf = (schema: s.Schema<unknown>, value: unknown) => {
    try {
      schema(value, "name");
      return "valid";
    } catch (error) {
      return (error as s.ValidationError).messageWithValue;
    }
  };
  const letters = s.stringLike(/^[a-z]+$/, "letters");

  it("shows the beginning of a string, which the other message does not", () => {
    expect(withValueOf(letters, "a b")).toBe('name: expected letters, got "a b"');
    expect(withValueOf(letters, "7".repeat(100))).toBe(`name: expected letters, got "${"7".repeat(64)}"`);
    expect(messageOf(s.strictObject({ name: letters }), { name: "a b" })).toBe(
      "name: expected letters, got another",
    );
  });

  it("never shows a string that is the argument as a whole, or a secret", () => {
    expect(() => letters("s3cret", "")).toThrow(
      expect.objectContaining({ messageWithValue: "expected letters, got another" }),
    );
    expect(withValueOf(s.secret(letters), "s3cret")).toBe("name: expected letters, got another");
  });
});
