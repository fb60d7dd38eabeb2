import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Logger } from "../../../../sdk/call/diagnostics.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { openEngine, probe } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";

// What the caller's own functions may do: a call ends with a code, and nothing reaches the process.

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeEach(() => {
  process.on("unhandledRejection", note);
});
afterEach(() => {
  process.off("unhandledRejection", note);
});

const error = () => new Error("of the caller");
const thrower = () => {
  throw error();
};
/** An object whose every field throws. */
const trap = new Proxy(() => {}, { get: thrower, has: thrower, getPrototypeOf: thrower });

type Callback = () => unknown;
const misbehaviours: Readonly<Record<string, Callback>> = {
  throws: thrower,
  "throws undefined": () => {
    throw undefined;
  },
  "throws an object whose fields throw": () => {
    throw trap;
  },
  rejects: async () => thrower(),
  "never settles": () => new Promise(() => {}),
  "returns nothing": () => undefined,
  "returns a number": () => 5,
  "returns a line of text": () => "key_123456\n",
  "returns an object whose fields throw": () => trap,
  // biome-ignore lint/suspicious/noThenProperty: the caller's object.
  "returns a thenable that throws": () => ({ then: thrower }),
};

async function codeWith(options: object, respond?: Fetch): Promise<string> {
  const service = createFakeService(respond && { respond });
  const { clock } = service;
  const engine = openEngine(service, { maxRetries: 0, ...options });
  const code = codeOf(engine.execute(probe.query, {}));
  await clock.advance(60_000);
  const closed = engine.close();
  await clock.advance(60_000);
  await closed;
  // Rejections without a handler are reported after the microtasks.
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled.splice(0)).toEqual([]);
  expect(clock.pending().timers).toBe(0);
  return code;
}

describe.each(Object.entries(misbehaviours))("a function of the caller that %s", (name, misbehave) => {
  it("fails a call with a code when it is the key function", async () => {
    const code = await codeWith({ apiKey: misbehave });
    const isGarbage = name.startsWith("returns") && !name.includes("throw");
    expect(code).toBe(isGarbage ? "CONFIGURATION_INVALID" : "API_KEY_UNAVAILABLE");
  });

  it("fails a call with a code when it is the fetch of an exchange or of a call", async () => {
    const codes = ["NETWORK_FAILED", "REQUEST_TIMEOUT", "RESPONSE_INVALID"];
    expect(codes).toContain(await codeWith({ fetch: misbehave }));
    expect(codes).toContain(await codeWith({}, misbehave as Fetch));
  });

  it("changes no call when it is a logger", async () => {
    const logger = { debug: misbehave, info: misbehave, warn: misbehave, error: misbehave } as Logger;
    expect(await codeWith({ logger })).toBe("no error");
  });
});

describe.each<[string, () => number]>([
  ["returns NaN", () => Number.NaN],
  ["returns 1", () => 1],
  ["returns a text", () => "0.5" as never],
  ["throws", thrower],
])("a random function that %s", (_, misbehave) => {
  it.each([429, 503])("leaves a pause before a call that got a %i is repeated", async (status) => {
    const requests: number[] = [];
    const service = createFakeService({
      respond: async () => {
        requests.push(service.clock.monotonic());
        return new Response("", { status });
      },
    });
    const engine = openEngine(service, { random: misbehave, maxRetries: 1, deadlineMs: 2_500 });
    const failure = failureOf(engine.execute(probe.query, {}));
    await service.clock.advance(60_000);
    expect((await failure).attempts).toBe(requests.length);
    const [first = 0, second = 0] = requests;
    expect(second - first).toBeGreaterThan(100);
  });
});

it("variables that JSON cannot express end a call unsent", async () => {
  const service = createFakeService();
  const engine = openEngine(service);
  const failure = failureOf(engine.execute(probe.mutation, { ref: 1n as never }));
  await service.clock.advance(1_000);
  expect(await failure).toMatchObject({ code: "ARGUMENT_INVALID", outcome: "not_sent", attempts: 0 });
  expect(service.log.applied).toEqual([]);
});

it("a key function that rejects after its call ended reaches no one", async () => {
  let reject: (reason: Error) => void = () => {};
  const pending = new Promise<string>((_, late) => {
    reject = late;
  });
  expect(await codeWith({ apiKey: () => pending, timeoutMs: 1_000 })).toBe("API_KEY_UNAVAILABLE");
  reject(error());
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled.splice(0)).toEqual([]);
});
