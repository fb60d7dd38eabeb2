import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { CreateClientOptions } from "../../../../sdk/options.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { createTestEngine } from "../../../support/engine-fixture.ts";
import { closeServers, serveGraphQL } from "../../../support/graphql-server.ts";
import { failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

afterEach(closeServers);

const token = { exchangeSurfaceRefreshTokenForAccessTokens: { userToken: "user", workspaceToken: "opaque" } };

/** As node-fetch and cross-fetch respond: the body is a stream of Node. */
function nodeFetch(bodies: Readable[], create: () => Readable): Fetch {
  return async (_, init) => {
    const isExchange = String(init?.body).includes("ExchangeApiKey");
    const body = isExchange ? Readable.from([JSON.stringify({ data: token })]) : create();
    bodies.push(body);
    return { ok: true, status: 200, headers: new Headers(), body } as unknown as Response;
  };
}

let hosts = 0;

function engineWith(create: () => Readable, options: Partial<CreateClientOptions> = {}) {
  const bodies: Readable[] = [];
  const fetch = nodeFetch(bodies, create);
  const engine = createTestEngine({
    apiKey: "key_1234567890",
    // Clients of one address share a token.
    baseUrl: `http://host-${hosts++}.localhost`,
    maxRetries: 0,
    fetch,
    ...options,
  });
  return { engine, bodies };
}

describe("a response whose body is a stream of Node", () => {
  it("is read, with characters split between chunks", async () => {
    const bytes = Buffer.from('{"data":{"probe":"Zürich 🏔"}}');
    const { engine } = engineWith(() => Readable.from([...bytes].map((byte) => Buffer.of(byte))));
    expect(await engine.execute(probe.query, {})).toEqual({ probe: "Zürich 🏔" });
  });

  it("is destroyed at maxResponseBytes", async () => {
    const endless = () => Readable.from(Array.from({ length: 1_000 }, () => Buffer.alloc(1_000)));
    const { engine, bodies } = engineWith(endless, { maxResponseBytes: 10_000 });
    const failure = await failureOf(engine.execute(probe.query, {}));
    expect(failure.message).toContain("maxResponseBytes");
    expect(bodies[1]?.destroyed).toBe(true);
  });

  it("is destroyed when it stalls until timeoutMs", async () => {
    const stalled = () => new Readable({ read() {} });
    const { engine, bodies } = engineWith(stalled, { timeoutMs: 50 });
    expect(await failureOf(engine.execute(probe.query, {}))).toMatchObject({ code: "REQUEST_TIMEOUT" });
    expect(bodies[1]?.destroyed).toBe(true);
  });
});

describe("a response of another fetch", () => {
  it("whose body cannot be closed does not keep a call from ending at timeoutMs", async () => {
    const deaf = () =>
      Object.assign(new Readable({ read() {} }), {
        destroy() {
          throw new Error("not now");
        },
      }) as Readable;
    const { engine } = engineWith(deaf, { timeoutMs: 50 });
    expect(await failureOf(engine.execute(probe.query, {}))).toMatchObject({ code: "REQUEST_TIMEOUT" });
  });

  it("whose headers cannot be read is RESPONSE_INVALID, and its slot is not lost", async () => {
    const fetch = nodeFetch([], () => Readable.from(['{"data":null}']));
    const forEach = () => {
      throw new Error("no such method");
    };
    const headers = { get: () => null, forEach };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    let calls = 0;
    const hostile: Fetch = async (input, init) =>
      calls++ === 0
        ? fetch(input, init)
        : ({ status: 200, headers, text: async () => '{"data":{"probe":1}}' } as unknown as Response);
    const engine = createTestEngine({
      apiKey: "key_1234567890",
      baseUrl: `http://host-${hosts++}.localhost`,
      maxRetries: 0,
      fetch: hostile,
      logger,
    });
    for (let call = 0; call < 121; call += 1) {
      const failure = await failureOf(engine.execute(probe.mutation, {}, { deadlineMs: 5_000 }));
      const code = call < 120 ? "RESPONSE_INVALID" : "RATE_LIMIT_WAIT_EXCEEDED";
      expect(failure.code).toBe(code);
    }
    await engine.close();
  });
});

describe("a truncated response", () => {
  it.each([
    ["JSON", (text: string) => Buffer.from(text), {}],
    ["gzip", (text: string) => gzipSync(text), { "content-encoding": "gzip" }],
  ] as const)("of a query is repeated when its %s is cut", async (_, encode, headers) => {
    const text = JSON.stringify({ data: { probe: Array.from({ length: 500 }, (_, index) => `v${index}`) } });
    let responses = 0;
    const { open } = await serveGraphQL((_, response) => {
      const bytes = encode(text);
      const isCut = responses++ === 0;
      response.writeHead(200, { "content-type": "application/json", ...headers });
      response.end(isCut ? bytes.subarray(0, bytes.byteLength - 40) : bytes);
    });
    const { meta } = await open({ maxRetries: 1, random: () => 0 })
      .execute(probe.query, {})
      .withMeta();
    expect(meta.attempts).toBe(2);
  });

  it("of a query is repeated when its gzip is damaged", async () => {
    const text = JSON.stringify({ data: { probe: Array.from({ length: 500 }, (_, index) => `v${index}`) } });
    let responses = 0;
    const { open } = await serveGraphQL((_, response) => {
      const bytes = gzipSync(text);
      if (responses++ === 0) bytes.fill(0xff, 100, 200);
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end(bytes);
    });
    const { meta } = await open({ maxRetries: 1, random: () => 0 })
      .execute(probe.query, {})
      .withMeta();
    expect(meta.attempts).toBe(2);
  });

  it("of a mutation is RESPONSE_INVALID and not repeated", async () => {
    const { open, requests } = await serveGraphQL((_, response) => response.end('{"data":{"probe":"1"}'));
    const failure = await failureOf(open({ maxRetries: 3 }).execute(probe.mutation, {}));
    expect(failure).toMatchObject({ code: "RESPONSE_INVALID", outcome: "unknown", attempts: 1 });
    expect(failure.message).toContain("ends inside its JSON text");
    expect(requests).toHaveLength(1);
  });
});
