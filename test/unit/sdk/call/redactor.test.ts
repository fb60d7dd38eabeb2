import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../../sdk/call/redactor.ts";

describe("the redactor", () => {
  it("the redactor removes a remembered value in every written form", () => {
    const redactor = createRedactor();
    redactor.remember('se"cret/1+2');
    const text = redactor.text(
      `a se"cret/1+2 b ${JSON.stringify('se"cret/1+2')} c ${encodeURIComponent('se"cret/1+2')}`,
    );
    expect(text).toBe('a [redacted] b "[redacted]" c [redacted]');
  });

  it("the redactor removes a remembered value that is part of a base64 text, whatever is around it", () => {
    const key = "key_1?>~1234567890abc";
    const redactor = createRedactor();
    redactor.remember(key);
    for (const before of ["", "u:", "user:", "a:b:", "name:"]) {
      for (const after of ["", ":", "::", "\n"]) {
        for (const encoding of ["base64", "base64url"] as const) {
          const encoded = Buffer.from(before + key + after).toString(encoding);
          const printed = redactor.text(`Basic realm ${encoded}`);
          expect(printed).toMatch(before === "" ? /^Basic realm \[redacted\]/ : /\[redacted\]/);
          const kept = Buffer.from(printed.replace(/^.* (.*)\[redacted\](.*)$/, "$2"), encoding);
          expect(kept.toString()).not.toContain(key.slice(-3));
        }
      }
    }
  });
});

describe("a text of the service", () => {
  it("cannot control a terminal nor begin a line, and of a stack the lines stay", () => {
    const redactor = createRedactor();
    expect(redactor.text("a\u001b[31m\u202e\nFORGED")).toBe("a\\u001b[31m\\u202e\\nFORGED");
    const error = Object.assign(new Error("b\u0007\nFORGED"), { stack: "Error\n    at here\u001b" });
    const { message, stack } = redactor.cause(error) as Error;
    expect(message).toBe("b\\u0007\\nFORGED");
    expect(stack).toBe("Error\n    at here\\u001b");
  });
});

describe("a text that is cut", () => {
  const secret = `key-${"s3cr3t".repeat(10)}`;

  it("holds no beginning of a secret, wherever the cut is", () => {
    const redactor = createRedactor();
    redactor.remember(secret);
    for (let before = 0; before < 120; before++) {
      const text = redactor.text(`${".".repeat(before)}${secret} and more`.repeat(3), 100);
      expect(text.replaceAll("[redacted]", "")).not.toContain("key-s");
      expect(text.length).toBeLessThanOrEqual(100);
    }
  });

  it("has as many characters as are allowed, when no secret is known or none is near", () => {
    const redactor = createRedactor();
    expect(redactor.text("a".repeat(200), 100)).toBe("a".repeat(100));
    expect(redactor.text("\u0007".repeat(100), 100)).toHaveLength(100);
    redactor.remember(secret);
    expect(redactor.text("a".repeat(200), 100)).toBe("a".repeat(100));
    expect(redactor.text("a".repeat(100), 100)).toBe("a".repeat(100));
  });
});

describe("the values that are remembered", () => {
  it("are the last ones: an older value is dropped, unless it was remembered again", () => {
    const redactor = createRedactor();
    const keyOf = (number: number) => `key-number-${String(number).padStart(6, "0")}`;
    for (let number = 0; number < 200; number++) {
      redactor.remember(keyOf(number));
      redactor.remember(keyOf(0));
    }
    expect([0, 1, 199].map((number) => redactor.text(keyOf(number)))).toEqual([
      "[redacted]",
      keyOf(1),
      "[redacted]",
    ]);
  });

  it.each([
    [8_192, "[redacted]."],
    [8_193, `${"k".repeat(8_193)}.`],
  ])("are at most as long as a header can be: %i characters", (length, printed) => {
    const redactor = createRedactor();
    redactor.remember("k".repeat(length));
    expect(redactor.text(`${"k".repeat(length)}.`, 10_000)).toBe(printed);
  });
});

describe("the copy of a cause", () => {
  const secret = "key-8f3a9d2c71";
  const cause = (error: unknown) => {
    const redactor = createRedactor();
    redactor.remember(secret);
    return redactor.cause(error);
  };
  const copyOf = (error: unknown) => cause(error) as Error & Record<string, unknown>;

  it("has name, message, stack and system fields, redacted, and nothing else", () => {
    const error = Object.assign(new TypeError(`sent ${secret}`), {
      code: "ECONNRESET",
      errno: -104,
      syscall: secret,
      address: "::1",
      port: 443,
      hostname: "h",
      config: { secret },
      name: `Odd ${secret}`,
      stack: `at ${secret}`,
    });
    const copy = copyOf(error);
    expect(copy).toMatchObject({
      name: "Odd [redacted]",
      message: "sent [redacted]",
      stack: "at [redacted]",
    });
    expect({ ...copy }).toEqual({
      code: "ECONNRESET",
      errno: -104,
      syscall: "[redacted]",
      address: "::1",
      port: 443,
      hostname: "h",
    });
  });

  it("can be renamed, and has no cause and no fields that the error does not have", () => {
    const copy = copyOf(new Error("a"));
    expect(Object.getOwnPropertyDescriptor(copy, "name")).toMatchObject({ configurable: true });
    expect("cause" in copy).toBe(false);
    expect(Object.keys(copy)).toEqual([]);
  });

  it("keeps the stack of an error as its own, unless it has none", () => {
    const bare = new Error("a");
    delete bare.stack;
    expect(copyOf(bare).stack).not.toBe("undefined");
  });

  it("has five causes at most, and texts among them", () => {
    const nested = (depth: number): Error =>
      new Error(`e${depth}`, depth > 0 ? { cause: nested(depth - 1) } : {});
    const messages: string[] = [];
    for (let error: unknown = copyOf(nested(9)); error instanceof Error; error = error.cause)
      messages.push(error.message);
    expect(messages).toEqual(["e9", "e8", "e7", "e6", "e5"]);
    expect(copyOf(new Error("a", { cause: `was ${secret}` })).cause).toBe("was [redacted]");
    expect(cause(`was ${secret}`)).toBe("was [redacted]");
    expect([cause(5), cause({ message: secret }), cause(undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("what counts as a secret", () => {
  it("values of six characters do, shorter ones do not", () => {
    const redactor = createRedactor();
    for (const secret of ["abc123", "other"]) redactor.remember(secret);
    expect(redactor.text("abc123 other abc12")).toBe("[redacted] other abc12");
  });

  it.each([
    ["Bearer   abc", "[redacted]"],
    ["a Bearer\tabc, b", "a [redacted], b"],
    ["eyJhbGci.eyJzdWIi.c2ln", "[redacted]"],
    ["eyJhbGci.eyJzdWIi", "[redacted]"],
    ["eyJhbGci.eyJzdWIi rest", "[redacted] rest"],
    ["eyJhb.c", "eyJhb.c"],
    ["eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9"],
    ["whsec_a+/=_-!", "[redacted]!"],
  ])("%j is written as %j", (text, redacted) => {
    expect(createRedactor().text(text)).toBe(redacted);
  });
});

// Errors of a service, or of the option `fetch`, can be as long as a response.

const jwtStarts = "-eyJaaaa";
const hostileParts: Readonly<Record<string, string>> = {
  "beginnings of JWTs": jwtStarts,
  "Bearer and spaces": `Bearer${" ".repeat(1_000)}`,
  "Bearer without a token": "Bearer ",
  "beginnings of signing secrets": "whsec_",
  "dots of a JWT": "eyJaaaa.",
};

function filled(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

describe("the redactor and long texts", () => {
  // Without the limit of length. A pattern that takes each character more than once needs minutes.
  it.each(Object.entries(hostileParts))("takes every character once: %s", (_, part) => {
    const redactor = createRedactor();
    redactor.remember("key_1234567890");
    const text = filled(part, 600_000);
    expect(redactor.text(text, text.length).length).toBeLessThanOrEqual(text.length);
  });

  it.each([["message"], ["stack"], ["code"], ["name"]])(
    "limits the %s of a cause, however long it is",
    (field) => {
      const long = filled(jwtStarts, 3_000_000);
      const error = Object.assign(new Error("x"), { [field]: long });
      const redactor = createRedactor();
      const copy = redactor.cause(Object.assign(new Error("outer"), { cause: error })) as Error;
      const text: unknown = Reflect.get(copy.cause as object, field);
      expect(String(text).length).toBeLessThanOrEqual(5_000);
      expect(String(redactor.cause(long)).length).toBeLessThanOrEqual(1_000);
      const bells = redactor.cause(Object.assign(new Error("x"), { [field]: "\u0007".repeat(5_000) }));
      expect(String(Reflect.get(bells as object, field)).length).toBeLessThanOrEqual(5_000);
    },
  );

  it("leaves no part of a secret where a text is cut, however much the secrets before it are shortened", () => {
    const redactor = createRedactor();
    const secret = "0123456789abcdef".repeat(20);
    redactor.remember(secret);
    for (let offset = 0; offset < 700; offset += 7) {
      const text = redactor.text(`${"x".repeat(offset)}${secret.repeat(20)}`, 300);
      expect(text).toMatch(/^x*(\[redacted\])*\[?r?e?d?a?c?t?e?d?$/);
    }
  });

  it("drops a cause whose fields throw", () => {
    const error = new Error("x");
    Object.defineProperty(error, "message", {
      get() {
        throw new Error("no");
      },
    });
    expect(createRedactor().cause(error)).toBeUndefined();
  });
});
