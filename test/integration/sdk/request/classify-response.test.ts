import type { RequestListener } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import type { CreateClientOptions } from "../../../../sdk/options.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { closeServers, responding, serveGraphQL } from "../../../support/graphql-server.ts";
import { failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

afterEach(closeServers);

async function failureFrom(respond: RequestListener, options: Partial<CreateClientOptions> = {}) {
  const { open } = await serveGraphQL(respond);
  return failureOf(open(options).execute(probe.mutation, { ref: "r" }));
}

function errors(...entries: readonly object[]): RequestListener {
  return responding(200, JSON.stringify({ data: null, errors: entries }));
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

  it.each([undefined, "text/plain", "text/html", "application/problem"])(
    "is read whatever its label says: %s",
    async (label) => {
      const headers = label === undefined ? {} : { "content-type": label };
      const { open } = await serveGraphQL(responding(200, '{"data":{"probe":"1"}}', headers));
      expect(await open().execute(probe.query, {})).toEqual({ probe: "1" });
    },
  );
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

describe("an unusual response", () => {
  it.each([
    ["text/plain", { "content-type": "text/plain" }],
    [
      "application/graphql-response+json",
      { "content-type": "application/graphql-response+json; charset=utf-8" },
    ],
  ])("data with the content type %s is accepted", async (_, headers) => {
    const { open } = await serveGraphQL(responding(200, '{"data":{"probe":"é"}}', headers));
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

describe("a response with GraphQL errors", () => {
  it.each([
    ["Unsupported webhook event type", undefined, "WEBHOOK_EVENT_TYPE_UNSUPPORTED"],
    ["Unsupported webhook event type: task.paused", "BAD_USER_INPUT", "WEBHOOK_EVENT_TYPE_UNSUPPORTED"],
    ["At least one webhook event type is required", undefined, "WEBHOOK_EVENT_TYPE_REQUIRED"],
    ["At least one endpoint field must be updated", undefined, "WEBHOOK_ENDPOINT_FIELD_REQUIRED"],
    ["Webhook endpoint limit must be between 1 and 100", undefined, "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE"],
    [
      "Secret grace period must be between 0 and 604800 seconds",
      undefined,
      "SECRET_GRACE_PERIOD_OUT_OF_RANGE",
    ],
    ["Webhook endpoint url must be an HTTPS URL", undefined, "WEBHOOK_ENDPOINT_URL_INVALID"],
    ["Invalid iterator", "BAD_USER_INPUT", "ITERATOR_INVALID"],
    ["Webhook endpoint not found", "NOT_FOUND", "NOT_FOUND"],
    ["Provider connection not found", undefined, "NOT_FOUND"],
    ['externalId "x" is already used in this connection', "CONFLICT", "CONFLICT"],
    ["expected something else", "BAD_USER_INPUT", "INPUT_INVALID"],
    ["Cannot query field", "GRAPHQL_VALIDATION_FAILED", "DOCUMENT_INVALID"],
    ["Unauthorized", "FORBIDDEN", "PERMISSION_DENIED"],
  ])("the error %s (%s) is %s with outcome rejected", async (message, extensionCode, code) => {
    const entry = extensionCode ? { message, extensions: { code: extensionCode } } : { message };
    const failure = await failureFrom(errors(entry));
    expect(failure).toMatchObject({ code, outcome: "rejected", attempts: 1 });
    expect(failure.message).toContain(message);
    expect(failure.operationName).toBe("ProbeMutation");
  });

  it.each([
    ["INTERNAL_SERVER_ERROR", "SERVICE_FAILED"],
    ["SOMETHING_NEW", "GRAPHQL_ERROR"],
  ])("an error with code %s is %s with outcome unknown", async (extensionCode, code) => {
    const failure = await failureFrom(errors({ message: "oops", extensions: { code: extensionCode } }));
    expect(failure).toMatchObject({ code, outcome: "unknown" });
    expect(failure.errors).toEqual([
      { message: "oops", code: extensionCode, extensions: { code: extensionCode } },
    ]);
  });

  it.each([
    ["Unauthorized", "GRAPHQL_ERROR"],
    ["Provider account not found", "GRAPHQL_ERROR"],
    ["Invalid iterator", "GRAPHQL_ERROR"],
  ])("the message %s of an error with an unknown code decides nothing", async (message, code) => {
    const { open, requests } = await serveGraphQL(
      errors({ message, extensions: { code: "PROVIDER_ERROR" } }),
    );
    const failure = await failureOf(open({ maxRetries: 3 }).execute(probe.mutation, { ref: "r" }));
    expect(failure).toMatchObject({ code, outcome: "unknown", attempts: 1 });
    expect(requests).toHaveLength(1);
  });
});
