import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../../sdk/call/redactor.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { cpuMs, growthOf } from "../../../support/cpu-ms.ts";
import { createTestEngine } from "../../../support/engine-fixture.ts";
import { failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

// Errors of a service, or of the option `fetch`, can be as long as a response. Processor time is compared with that of
// text of the same length in which no pattern begins.

const jwtStarts = "-eyJaaaa";
const hostileParts: Readonly<Record<string, string>> = {
  "beginnings of JWTs": jwtStarts,
  "Bearer and spaces": `Bearer${" ".repeat(1_000)}`,
  "Bearer without a token": "Bearer ",
  "beginnings of signing secrets": "whsec_",
  "dots of a JWT": "eyJaaaa.",
};
const harmlessPart = "harmless text, ";

function filled(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

type Shape = (part: string, length: number) => unknown;
const shapes: Readonly<Record<string, Shape>> = {
  "one error": (part, length) => [{ message: filled(part, length) }],
  "many extensions": (part, length) =>
    Array.from({ length: 100 }, () => ({
      message: "m",
      extensions: Object.fromEntries(
        Array.from({ length: 100 }, (_, name) => [name, filled(part, length / 10_000)]),
      ),
    })),
};

/** Processor time of the call that fails with these errors: the least of three. */
async function msOf(errors: unknown): Promise<number> {
  const body = JSON.stringify({ errors });
  const tokens = { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: "token_1234567890" } };
  const fetch: Fetch = async (_, init) =>
    String(init?.body).includes("ExchangeApiKey") ? Response.json({ data: tokens }) : new Response(body);
  const engine = createTestEngine({ apiKey: "key_1234567890", baseUrl: "http://localhost:1", fetch });
  const all: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const startedMs = cpuMs();
    const { code } = await failureOf(engine.execute(probe.query, {}));
    all.push(cpuMs() - startedMs);
    expect(code).toBe("GRAPHQL_ERROR");
  }
  return Math.min(...all);
}

describe("an error of 3 MB", () => {
  const cases = Object.keys(shapes).flatMap((shape) =>
    Object.keys(hostileParts).map((part) => [shape, part] as const),
  );
  it.each(cases)(
    "costs at most a second more than harmless text of that size: %s of %s",
    async (shape, part) => {
      const build = shapes[shape] as Shape;
      const harmlessMs = await msOf(build(harmlessPart, 3_000_000));
      const hostileMs = await msOf(build(hostileParts[part] as string, 3_000_000));
      expect(hostileMs).toBeLessThan(harmlessMs + 1_000);
    },
  );
});

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
