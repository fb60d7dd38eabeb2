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

let hosts = 0;

function engineWith(respond: () => unknown, options: Partial<CreateClientOptions> = {}) {
  const fetch: Fetch = async (_, init) =>
    String(init?.body).includes("ExchangeApiKey") ? Response.json({ data: token }) : (respond() as Response);
  const baseUrl = `http://host-${hosts++}.localhost`;
  return createTestEngine({ apiKey: "key_1234567890", baseUrl, maxRetries: 0, fetch, ...options });
}

describe("a response of another fetch", () => {
  it("is read, with characters split between chunks", async () => {
    const bytes = Buffer.from('{"data":{"probe":"Zürich 🏔"}}');
    const body = ReadableStream.from([...bytes].map((byte) => Uint8Array.of(byte)));
    expect(await engineWith(() => new Response(body)).execute(probe.query, {})).toEqual({
      probe: "Zürich 🏔",
    });
  });

  it("is read from a stream of texts, which ends at maxResponseBytes", async () => {
    const streamOf = (texts: Iterable<string>) => () => ({
      ...{ status: 200, headers: new Headers(), text: async () => "" },
      body: ReadableStream.from(texts),
    });
    const whole = engineWith(streamOf(['{"data":', '{"probe":1}}']));
    expect(await whole.execute(probe.query, {})).toEqual({ probe: 1 });
    let texts = 0;
    const endless = function* () {
      for (;;) {
        texts += 1;
        yield "x".repeat(100);
      }
    };
    const engine = engineWith(streamOf(endless()), { maxResponseBytes: 10_000, timeoutMs: 10_000 });
    expect((await failureOf(engine.execute(probe.query, {}))).message).toContain("maxResponseBytes");
    expect(texts).toBeLessThan(110);
  });

  it("is larger than maxResponseBytes also without a stream", async () => {
    const respond = () => ({ status: 200, headers: new Headers(), text: async () => "x".repeat(10_001) });
    const engine = engineWith(respond, { maxResponseBytes: 10_000 });
    expect((await failureOf(engine.execute(probe.query, {}))).message).toContain("maxResponseBytes");
  });

  it.each(["is cancelled", "that cannot be cancelled does not keep the call from ending"])(
    "%s when it stalls until timeoutMs",
    async (title) => {
      let isCancelled = false;
      const cancel = () => {
        isCancelled = true;
        if (title !== "is cancelled") throw new Error("not now");
      };
      const engine = engineWith(() => new Response(new ReadableStream({ cancel })), { timeoutMs: 50 });
      expect(await failureOf(engine.execute(probe.query, {}))).toMatchObject({ code: "REQUEST_TIMEOUT" });
      expect(isCancelled).toBe(true);
    },
  );

  it("whose headers cannot be read is RESPONSE_INVALID, and its slot is not lost", async () => {
    const forEach = () => {
      throw new Error("no such method");
    };
    const headers = { get: () => null, forEach };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const respond = () => ({ status: 200, headers, text: async () => '{"data":{"probe":1}}' });
    const engine = engineWith(respond, { logger });
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
