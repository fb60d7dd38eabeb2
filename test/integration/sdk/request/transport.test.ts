import type { RequestListener } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { CreateClientOptions } from "../../../../sdk/options.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import {
  closeServers,
  createTestEngine,
  probe,
  responding,
  serveGraphQL,
} from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { failureOf } from "../../../support/outcome-of.ts";

afterEach(closeServers);

async function failureFrom(respond: RequestListener, options: Partial<CreateClientOptions> = {}) {
  const { open } = await serveGraphQL(respond);
  return failureOf(open(options).execute(probe.mutation, { ref: "r" }));
}

describe("a request", () => {
  it("a request contains the document as generated, its name and its variables", async () => {
    const { open, requests } = await serveGraphQL(responding(200, '{"data":{"probe":"1"}}'));
    expect(await open().execute(probe.mutation, { ref: "r" })).toEqual({ probe: "1" });
    expect(requests.map((body) => JSON.parse(body))).toEqual([
      { query: probe.mutation.document, variables: { ref: "r" }, operationName: "ProbeMutation" },
    ]);
  });

  it("a request has a Bearer token and, to the gateway only, the source platform", async () => {
    const seen: (readonly [string | undefined, unknown, unknown])[] = [];
    const { baseUrl, open } = await serveGraphQL((request, response) => {
      seen.push([request.url, request.headers.authorization, request.headers["source-platform"]]);
      responding(200, '{"data":{}}')(request, response);
    });
    const engine = open({
      baseUrl: `${baseUrl}/`,
      gatewayUrl: `${baseUrl}/gateway`,
      sourcePlatform: "acme-portal",
    });
    await engine.execute(probe.query, {});
    await engine.execute({ ...probe.query, router: "gateway" }, {});
    await engine.execute({ ...probe.query, authenticated: false }, {});
    expect(seen).toEqual([
      ["/graphql", "Bearer opaque-token", undefined],
      ["/gateway/graphql", "Bearer opaque-token", "acme-portal"],
      ["/graphql", undefined, undefined],
    ]);
  });
});

describe("a response of GraphQL", () => {
  it.each([
    ["with errors and extensions that are null", { data: { probe: "1" }, errors: null, extensions: null }],
    ["with an empty list of errors", { data: { probe: "1" }, errors: [] }],
    ["with other fields", { data: { probe: "1" }, hasNext: false }],
  ])("%s has data", async (_, body) => {
    const { open } = await serveGraphQL(responding(200, JSON.stringify(body)));
    expect(await open().execute(probe.query, {})).toEqual({ probe: "1" });
  });

  it.each([
    "text/plain",
    "text/html",
    "application/problem",
    "application/graphql-response+json; charset=utf-8",
  ])("is read whatever its label says: %s", async (label) => {
    const { open } = await serveGraphQL(responding(200, '{"data":{"probe":"é"}}', { "content-type": label }));
    expect(await open().execute(probe.query, {})).toEqual({ probe: "é" });
  });

  it("a byte order mark and characters split between chunks are decoded", async () => {
    const { open } = await serveGraphQL((_, response) => {
      const bytes = Buffer.from('\uFEFF{"data":{"probe":"Zürich 🏔"}}');
      response.writeHead(200, { "content-type": "application/json" });
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
    });
    expect(await open().execute(probe.query, {})).toEqual({ probe: "Zürich 🏔" });
  });
});

describe("a response that is not GraphQL", () => {
  it.each([
    ["HTML with 200", responding(200, "<html>Sign in</html>", { "content-type": "text/html" })],
    ["an empty body", responding(200, "")],
    ["a list", responding(200, '[{"data":{}}]')],
    ["half of a JSON text", responding(200, '{"data":{"probe"')],
    ["JSON with a zero byte", responding(200, '{"data":\u0000}')],
  ])("%s is RESPONSE_INVALID with outcome unknown", async (_, respond) => {
    const failure = await failureFrom(respond);
    expect(failure).toMatchObject({
      code: "RESPONSE_INVALID",
      outcome: "unknown",
      attempts: 1,
      httpStatus: 200,
    });
    expect(failure.message).not.toContain("Sign in");
  });

  it("a redirect is not followed, so the token is not sent elsewhere", async () => {
    const followed: string[] = [];
    const elsewhere = await serveGraphQL((request, response) => {
      followed.push(String(request.headers.authorization));
      responding(200, '{"data":{}}')(request, response);
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const failure = await failureFrom(responding(status, "", { location: `${elsewhere.baseUrl}/graphql` }));
      const outcome = status >= 307 ? "rejected" : "unknown";
      expect(failure).toMatchObject({ code: "RESPONSE_INVALID", outcome, httpStatus: status });
    }
    expect(followed).toEqual([]);
  });

  it("an endless body is cancelled at maxResponseBytes, whatever its content-length", async () => {
    let sentBytes = 0;
    let cancelled = false;
    const endless = new ReadableStream({
      pull(stream) {
        sentBytes += 1_000;
        stream.enqueue(new Uint8Array(1_000));
      },
      cancel() {
        cancelled = true;
      },
    });
    const { open } = await serveGraphQL(responding(200, ""));
    const fetch: Fetch = async (input, init) =>
      String(init?.body).includes("ExchangeApiKey")
        ? globalThis.fetch(input, init)
        : new Response(endless, { headers: { "content-length": "10" } });
    const failure = await failureOf(open({ fetch, maxResponseBytes: 10_000 }).execute(probe.query, {}));
    expect(failure).toMatchObject({ code: "RESPONSE_INVALID", httpStatus: 200 });
    expect(cancelled).toBe(true);
    expect(sentBytes).toBeLessThan(15_000);
  });
});

describe("an error of fetch", () => {
  it("names the host, and its cause has the code of the system", async () => {
    const { open, close, baseUrl } = await serveGraphQL(responding(200, ""));
    await close();
    const failure = await failureOf(open().execute(probe.mutation, {}));
    expect(failure.message).toBe(
      `probe: apiKey exchange: ${new URL(baseUrl).host} could not be reached (ECONNREFUSED)`,
    );
    expect(failure).toMatchObject({ outcome: "not_sent", cause: { code: "ECONNREFUSED" } });
  });

  it("a port that fetch blocks is not_sent and named as such", async () => {
    const engine = createTestEngine({ apiKey: "key_1234567890", baseUrl: "http://127.0.0.1:9" });
    const failure = await failureOf(engine.execute(probe.mutation, {}));
    expect(failure).toMatchObject({ code: "NETWORK_FAILED", outcome: "not_sent", attempts: 0 });
    expect(failure.message).toContain("fetch sends nothing to the port of 127.0.0.1:9");
  });

  it.each([
    ["nothing", undefined],
    ["a string", "ok"],
    ["an object", {}],
  ])("a fetch that returns %s instead of a response is named as such", async (got, value) => {
    const fetch = (async () => value) as unknown as Fetch;
    const { apiKey, baseUrl } = createFakeService();
    const engine = createTestEngine({ apiKey, baseUrl, fetch });
    const failure = await failureOf(engine.execute(probe.query, {}));
    expect(failure.code).toBe("RESPONSE_INVALID");
    expect(failure.message).toContain(`expected the option fetch to return a Response, got ${got}`);
  });
});

describe("an argument that fetch does not take", () => {
  const dispatcher = {
    dispatch() {
      throw Object.assign(new Error("invalid onRequestStart method"), { code: "UND_ERR_INVALID_ARG" });
    },
  };
  it.each([
    ["a signal of another realm", { signal: {} }, "signal"],
    ["a dispatcher of another version", { dispatcher }, "invalid onRequestStart method"],
  ])("%s is no lost connection: the call is tried once, and was not sent", async (_, given, detail) => {
    let calls = 0;
    const fetch = ((url: string, init: object) => {
      calls += 1;
      return globalThis.fetch(url, { ...init, ...given } as RequestInit);
    }) as Fetch;
    const { apiKey, baseUrl } = createFakeService();
    const engine = createTestEngine({ apiKey, baseUrl, fetch });
    const failure = await failureOf(engine.execute(probe.query, {}));
    expect(failure).toMatchObject({ code: "CONFIGURATION_INVALID", outcome: "not_sent", attempts: 0 });
    expect(failure.message).toContain(detail);
    expect(calls).toBe(1);
  });
});

const token = { exchangeSurfaceRefreshTokenForAccessTokens: { userToken: "user", workspaceToken: "opaque" } };

let hosts = 0;

function engineWith(respond: () => unknown, options: Partial<CreateClientOptions> = {}) {
  const fetch: Fetch = async (_, init) =>
    String(init?.body).includes("ExchangeApiKey") ? Response.json({ data: token }) : (respond() as Response);
  const baseUrl = `http://host-${hosts++}.localhost`;
  return createTestEngine({ apiKey: "key_1234567890", baseUrl, maxRetries: 0, fetch, ...options });
}

describe("a response of another fetch", () => {
  it("is read from a stream of texts, which ends at maxResponseBytes", async () => {
    const streamOf = (texts: Iterable<string>) => () => ({
      status: 200,
      headers: new Headers(),
      text: async () => "",
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
  const cut = (bytes: Buffer) => bytes.subarray(0, bytes.byteLength - 40);
  const gzip = { "content-encoding": "gzip" };
  it.each([
    ["JSON is cut", (text: string) => Buffer.from(text), cut, {}],
    ["gzip is cut", gzipSync, cut, gzip],
    ["gzip is damaged", gzipSync, (bytes: Buffer) => bytes.fill(0xff, 100, 200), gzip],
  ] as const)("of a query is repeated when its %s", async (_, encode, damage, headers) => {
    const text = JSON.stringify({ data: { probe: Array.from({ length: 500 }, (_, index) => `v${index}`) } });
    let responses = 0;
    const { open } = await serveGraphQL((_, response) => {
      const bytes = encode(text);
      response.writeHead(200, { "content-type": "application/json", ...headers });
      response.end(responses++ === 0 ? damage(bytes) : bytes);
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
