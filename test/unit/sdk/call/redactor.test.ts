import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { Logger } from "../../../../sdk/call/diagnostics.ts";
import { diagnosticsChannels } from "../../../../sdk/call/diagnostics.ts";
import { createRedactor } from "../../../../sdk/call/redactor.ts";
import { isWorkspaceTasksError } from "../../../../sdk/errors.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { createTestEngine, jitteryLegs } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { seeded, withLatency } from "../../../support/latency.ts";
import { probe } from "../../../support/probe-operations.ts";

const signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** Everything a person or a machine could print of a value. */
function everyRendering(value: unknown): string {
  const parts = [
    inspect(value, { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null }),
  ];
  parts.push(inspect(value), String(value), JSON.stringify(value) ?? "");
  for (let error = value; error instanceof Error; error = error.cause) {
    parts.push(error.message, error.stack ?? "", error.name);
    for (const name of Object.getOwnPropertyNames(error)) parts.push(String(Reflect.get(error, name)));
  }
  return parts.join("\n");
}

/** A hostile service: it echoes the secrets it received in every kind of response. */
function echo(random: () => number, secrets: readonly string[]): Fetch {
  return async (_, init) => {
    const said = `${init?.body} ${JSON.stringify([...new Headers(init?.headers)])} ${secrets.join(" ")}`;
    const failures: readonly (() => Response)[] = [
      () => new Response(said, { status: 500 }),
      () => new Response(`<html>${said}</html>`),
      () => new Response(said, { status: 404 }),
      () => Response.json({ data: null, errors: [{ message: said, path: [said] }] }),
      () =>
        Response.json({
          data: null,
          errors: [{ message: `Unauthorized ${said}`, extensions: { code: "FORBIDDEN" } }],
        }),
      () =>
        Response.json({ data: { probe: { signingSecret: said } }, errors: [{ message: said.slice(-200) }] }),
      () => Response.json({ errors: [{ message: "Unauthorized" }] }),
      () =>
        Response.json({ errors: [{ message: said, extensions: { code: "RATE_LIMITED" } }] }, { status: 429 }),
      () => {
        throw new TypeError(`fetch failed ${said}`, {
          cause: Object.assign(new Error(said), { headers: said }),
        });
      },
      () => {
        throw said;
      },
      () => {
        throw Object.assign(new Error("x"), { config: { body: said }, name: said, code: said });
      },
      () => new Response(said.slice(0, 40), { status: 200 }),
    ];
    const failure = failures[Math.floor(random() * failures.length)];
    if (!failure) throw new Error("no such failure");
    return failure();
  };
}

function listen() {
  const heard: unknown[] = [];
  const note = (...said: unknown[]) => void heard.push(...said);
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  for (const name of diagnosticsChannels) subscribe(name, note);
  const stop = () => {
    for (const name of diagnosticsChannels) unsubscribe(name, note);
  };
  return { heard, logger, [Symbol.dispose]: stop };
}

describe("secrets", () => {
  it("secrets appear in no message, stack, inspection, JSON, log or event, whatever the service responds", async () => {
    using ears = listen();
    let failures = 0;
    for (let seed = 0; seed < 150; seed += 1) {
      const random = seeded(seed);
      const service = createFakeService();
      const { baseUrl, clock } = service;
      const key = seed % 3 === 0 ? `${service.apiKey}"\\/+%` : service.apiKey;
      const tokens: string[] = [];
      const hostile = echo(random, [key, signingSecret]);
      const exchangeFails = seed % 4 === 0;
      const fetch: Fetch = async (input, init) => {
        if (exchangeFails || !String(init?.body).includes("ExchangeApiKey")) return hostile(input, init);
        const workspaceToken =
          seed % 2 === 0 ? `opaque-${seed}-${random()}` : `eyJhbGciOi.eyJ${random()}.c2ln`;
        tokens.push(workspaceToken);
        return Response.json({ data: { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken } } });
      };
      const engine = createTestEngine({
        apiKey: key,
        baseUrl,
        clock,
        random,
        fetch: withLatency(fetch, clock, jitteryLegs(100, 1, random)),
        logger: ears.logger,
        maxRetries: 1,
      });
      const calls = [probe.mutation, probe.query].map((operation) =>
        engine.execute(operation, { ref: signingSecret }).catch((error: unknown) => error),
      );
      await clock.advance(60_000);
      for (const error of await Promise.all(calls)) {
        expect(isWorkspaceTasksError(error), `seed ${seed}: ${inspect(error)}`).toBe(true);
        failures += 1;
        const rendered = everyRendering(error) + everyRendering(ears.heard.splice(0));
        for (const secret of [key, signingSecret, ...tokens]) {
          expect(rendered.includes(secret), `seed ${seed}`).toBe(false);
        }
      }
    }
    expect(failures).toBe(300);
  });

  it("control: the errors of graphql-request contain them", async () => {
    const { GraphQLClient } = await import("graphql-request");
    const client = new GraphQLClient("http://127.0.0.1/graphql", {
      fetch: async () => Response.json({ errors: [{ message: "no" }] }),
    });
    const error: unknown = await client
      .request("mutation($refreshToken: String!) { x(refreshToken: $refreshToken) }", {
        refreshToken: "key_1234567890",
      })
      .catch((reason: unknown) => reason);
    expect(everyRendering(error)).toContain("key_1234567890");
  });
});

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
          expect(printed).toContain("[redacted]");
          const kept = Buffer.from(printed.replace(/^.* (.*)\[redacted\](.*)$/, "$2"), encoding);
          expect(kept.toString()).not.toContain(key.slice(-3));
        }
      }
    }
  });

  it("the redactor ends at a circular cause", () => {
    const loop = new Error("loop");
    loop.cause = loop;
    expect(createRedactor().cause(loop)).toBeInstanceOf(Error);
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
      ...{ code: "ECONNRESET", errno: -104, syscall: secret, address: "::1", port: 443, hostname: "h" },
      ...{ config: { secret }, name: `Odd ${secret}`, stack: `at ${secret}` },
    });
    const copy = copyOf(error);
    expect(copy).toMatchObject({
      name: "Odd [redacted]",
      message: "sent [redacted]",
      stack: "at [redacted]",
    });
    expect({ ...copy }).toEqual({
      ...{ code: "ECONNRESET", errno: -104, syscall: "[redacted]", address: "::1", port: 443, hostname: "h" },
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
    ["whsec_a+/=_-!", "[redacted]!"],
  ])("%j is written as %j", (text, redacted) => {
    expect(createRedactor().text(text)).toBe(redacted);
  });
});
