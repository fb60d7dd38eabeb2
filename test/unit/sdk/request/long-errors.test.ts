import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../../sdk/call/redactor.ts";
import { growthOf } from "../../../support/cpu-ms.ts";

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

describe("the redactor", () => {
  // Without its limit of length. A quadratic pattern needs a second for 40 KB, and minutes for ten times that.
  it.each(Object.entries(hostileParts))(
    "needs ten times the time for ten times the text, not a hundred times: %s",
    async (_, part) => {
      const redactor = createRedactor();
      redactor.remember("key_1234567890");
      const texts = new Map([40_000, 400_000].map((length) => [length, filled(part, length)]));
      const run = (length: number) => redactor.text(texts.get(length) as string, length);
      expect(await growthOf(40_000, run)).toBeLessThan(40);
    },
  );

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
