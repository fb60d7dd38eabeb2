import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../../sdk/call/redactor.ts";
import {
  type Classification,
  type ClassificationContext,
  classifyResponse,
} from "../../../../sdk/request/classify-response.ts";
import type { GraphQLResponse, SendResult } from "../../../../sdk/request/transport.ts";

describe("classifyResponse", () => {
  const context: ClassificationContext = {
    ...{ kind: "query", redactor: createRedactor(), host: "service.example", nowMs: 500 },
  };
  const responseOf = (fields: Partial<GraphQLResponse>): GraphQLResponse => {
    return {
      status: 200,
      headers: new Headers(),
      isGraphQL: true,
      isTruncated: false,
      data: undefined,
      ...fields,
    };
  };
  const classify = (fields: Partial<GraphQLResponse>, changes: Partial<ClassificationContext> = {}) =>
    classifyResponse({ type: "response", response: responseOf(fields) }, { ...context, ...changes });
  const failed = (classification: Classification) => {
    if (classification.ok) throw new Error("expected a failure, got data");
    return classification.failure;
  };
  const type = (contentType: string) => new Headers({ "content-type": contentType });
  const retryAfter = (value: string) => new Headers({ "retry-after": value });
  const other = { message: "other" };
  const coded = (code: string) => ({ message: "coded", extensions: { code } });
  const page = { isGraphQL: false, headers: type("text/html") };

  const responses: Readonly<Record<string, Partial<GraphQLResponse>>> = {
    "429": { status: 429 },
    "429 with Retry-After": { status: 429, headers: retryAfter("7") },
    "429 with a date 1.5 s ahead": { status: 429, headers: retryAfter("Thu, 01 Jan 1970 00:00:02 GMT") },
    "one error RATE_LIMITED": { errors: [other, coded("RATE_LIMITED")] },
    "one error FORBIDDEN": { errors: [other, coded("FORBIDDEN")] },
    "one error UNAUTHENTICATED": { errors: [other, coded("UNAUTHENTICATED")] },
    "one error that says Unauthorized": { errors: [other, { message: " UnAuthorized. " }] },
    "an error that says more than Unauthorized": { errors: [{ message: "unauthorized user" }] },
    "an error that ends with unauthorized": { errors: [{ message: "you are unauthorized" }] },
    "401 with a page": { status: 401, ...page },
    "401 with a page that is GraphQL": { status: 401, ...page, isGraphQL: true },
    "401 with a page and an error": { status: 401, ...page, errors: [other] },
    "401 with plain text": { status: 401, isGraphQL: false, headers: type("text/plain") },
    "403 with an error": { status: 403, errors: [other] },
    "403 without an error": { status: 403 },
    "400 with an error": { status: 400, errors: [other] },
    "400": { status: 400 },
    "499 with a page": { status: 499, ...page },
    "408": { status: 408 },
    "500": { status: 500 },
    "503 with all details": { status: 503, headers: retryAfter("7"), errors: [other] },
    "a known error after an unknown one": { errors: [other, { message: "Invalid iterator" }] },
    "two known errors": { errors: [{ message: "Invalid iterator" }, coded("NOT_FOUND")] },
    "an error without a message": { errors: [{}] },
    "an error with an empty message": { errors: [{ message: "" }] },
    "an error that is no list": { errors: { message: "alone" } },
    "300": { status: 300 },
    "301": { status: 301 },
    "304": { status: 304 },
    "307": { status: 307 },
    "308": { status: 308 },
    "299": { status: 299 },
    "data that is a list": { data: [] },
    "data that is null": { data: null, errors: null },
    "data that is not GraphQL": { data: {}, isGraphQL: false },
    "other JSON": { headers: type("application/problem+json") },
    "plain text": { headers: type("Text/Plain; charset=utf-8") },
    "a long content type": { headers: type(`text/${"a".repeat(80)}`) },
    "a content type that is none": { headers: type("x text/plain") },
    "the beginning of a JSON text": { isGraphQL: false, isTruncated: true },
    "a query whose field me is null": { data: { me: null } },
  };
  // Code, outcome, remedy and message.
  const expected = `
429 => RATE_LIMITED rejected wait_for_rate_limit: the service accepts no more requests of the key
429 with Retry-After => RATE_LIMITED rejected wait_for_rate_limit: the service accepts no more requests of the key and asks to wait 7 s
429 with a date 1.5 s ahead => RATE_LIMITED rejected wait_for_rate_limit: the service accepts no more requests of the key and asks to wait 2 s
one error RATE_LIMITED => RATE_LIMITED rejected wait_for_rate_limit: the service accepts no more requests of the key
one error FORBIDDEN => PERMISSION_DENIED rejected none: other
one error UNAUTHENTICATED => TOKEN_REJECTED rejected fresh_token: the service did not accept the token: other
one error that says Unauthorized => PERMISSION_DENIED rejected fresh_token: other
an error that says more than Unauthorized => GRAPHQL_ERROR unknown none: unauthorized user
an error that ends with unauthorized => GRAPHQL_ERROR unknown none: you are unauthorized
401 with a page => HTTP_REQUEST_REJECTED rejected fresh_token: a proxy or firewall in front of service.example rejected the request with HTTP 401 (text/html)
401 with a page that is GraphQL => TOKEN_REJECTED rejected fresh_token: the service did not accept the token
401 with a page and an error => TOKEN_REJECTED rejected fresh_token: the service did not accept the token: other
401 with plain text => TOKEN_REJECTED rejected fresh_token: the service did not accept the token
403 with an error => PERMISSION_DENIED rejected none: other
403 without an error => HTTP_REQUEST_REJECTED rejected none: the service, or a proxy in front of it, rejected the request with HTTP 403
400 with an error => GRAPHQL_ERROR unknown none: other
400 => HTTP_REQUEST_REJECTED rejected none: the service, or a proxy in front of it, rejected the request with HTTP 400
499 with a page => HTTP_REQUEST_REJECTED rejected none: a proxy or firewall in front of service.example rejected the request with HTTP 499 (text/html)
408 => SERVICE_UNAVAILABLE unknown repeat: the service responded with HTTP 408
500 => SERVICE_UNAVAILABLE unknown repeat: the service responded with HTTP 500
503 with all details => SERVICE_UNAVAILABLE unknown repeat: the service responded with HTTP 503 and asks to wait 7 s: other
a known error after an unknown one => ITERATOR_INVALID unknown none: Invalid iterator
two known errors => ITERATOR_INVALID rejected none: Invalid iterator
an error without a message => GRAPHQL_ERROR unknown none: the service sent no message
an error with an empty message => GRAPHQL_ERROR unknown none: the service sent no message
an error that is no list => GRAPHQL_ERROR unknown none: alone
300 => RESPONSE_INVALID unknown none: expected a response, got HTTP 300
304 => RESPONSE_INVALID unknown none: expected a response, got HTTP 304
301 => RESPONSE_INVALID unknown none: expected a response, got a redirect (HTTP 301); check baseUrl and gatewayUrl
307 => RESPONSE_INVALID rejected none: expected a response, got a redirect (HTTP 307); check baseUrl and gatewayUrl
308 => RESPONSE_INVALID rejected none: expected a response, got a redirect (HTTP 308); check baseUrl and gatewayUrl
299 => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got something else (HTTP 299); check baseUrl and gatewayUrl
data that is a list => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got something else (HTTP 200); check baseUrl and gatewayUrl
data that is null => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got something else (HTTP 200); check baseUrl and gatewayUrl
data that is not GraphQL => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got something else (HTTP 200); check baseUrl and gatewayUrl
other JSON => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got something else (HTTP 200); check baseUrl and gatewayUrl
plain text => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got text/plain (HTTP 200); check baseUrl and gatewayUrl
a long content type => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got text/a{60} (HTTP 200); check baseUrl and gatewayUrl
a content type that is none => RESPONSE_INVALID unknown none: expected a GraphQL response with data, got something else (HTTP 200); check baseUrl and gatewayUrl
the beginning of a JSON text => RESPONSE_INVALID unknown repeat: the response ends inside its JSON text (HTTP 200)
a query whose field me is null => TOKEN_REJECTED rejected fresh_token: the service did not accept the token
`;
  const failures = expected
    .trim()
    .split("\n")
    .map((line) => line.split(" => "));

  it.each(failures)("returns for a response with %s: %s", (name = "", text) => {
    const { code, outcome, remedy, message } = failed(classify(responses[name] ?? {}));
    const shown = message.replace(/a{60}(?!a)/, "a{60}");
    expect(`${code} ${outcome} ${remedy}: ${shown}`).toBe(text);
  });

  it("returns the data of a response without errors", () => {
    for (const errors of [undefined, null, []]) {
      expect(classify({ data: { probe: 1 }, errors })).toEqual({ ok: true, data: { probe: 1 } });
    }
    expect(classify({ data: { me: null } }, { kind: "mutation" })).toEqual({ ok: true, data: { me: null } });
  });

  it("returns how long the service asks to wait, and undefined where it does not", () => {
    for (const status of [429, 503]) {
      expect(failed(classify({ status, headers: retryAfter("7") })).retryAfterMs).toBe(7_000);
      expect(failed(classify({ status })).retryAfterMs).toBeUndefined();
    }
  });

  it("keeps partial data, and does not call a mutation with a part of its data rejected", () => {
    const partial = { data: { probe: 1, rest: null }, errors: [coded("FORBIDDEN")] };
    expect(failed(classify(partial))).toMatchObject({ data: partial.data, outcome: "rejected" });
    const unauthorized = { ...partial, errors: [{ message: "Unauthorized" }] };
    expect(failed(classify(unauthorized, { kind: "mutation" }))).toMatchObject({
      ...{ code: "PERMISSION_DENIED", outcome: "unknown", remedy: "none", data: partial.data },
    });
    for (const data of [{ probe: null }, {}, null, [1]]) {
      const failure = failed(classify({ data, errors: unauthorized.errors }, { kind: "mutation" }));
      expect(failure).toMatchObject({ outcome: "rejected", remedy: "fresh_token" });
      expect(failure).not.toHaveProperty("data");
    }
  });

  it("returns status, headers and id of the response, and no errors where it has none", () => {
    const headers = new Headers({ "x-request-id": "r-1" });
    const failure = failed(classify({ status: 500, headers }));
    expect(failure).toMatchObject({ httpStatus: 500, requestId: "r-1", headers: { "x-request-id": "r-1" } });
    expect(failure).not.toHaveProperty("errors");
  });

  it("copies of each error what has the documented type", () => {
    const errors = [
      {
        message: "m",
        path: ["a", 1, null, {}],
        locations: [{ line: 1, column: 2 }, { line: "1", column: 2 }, { line: 1, column: "2" }, null],
        extensions: { code: "C", more: 1 },
      },
      { message: 1, path: "a", locations: {}, extensions: ["code"] },
      { message: "n", extensions: { code: 1 } },
    ];
    expect(failed(classify({ errors })).errors).toEqual([
      {
        ...{ message: "m", path: ["a", 1], locations: [{ line: 1, column: 2 }], code: "C" },
        extensions: { code: "C", more: 1 },
      },
      { message: "the service sent no message" },
      { message: "n", extensions: { code: 1 } },
    ]);
  });

  it("keeps at most 100 errors, 100 locations, 100 path segments and 300 characters, and no part of a secret", () => {
    const redactor = createRedactor();
    redactor.remember("secret-value");
    const long = `${"a".repeat(295)}secret-value`;
    const locations = Array.from({ length: 101 }, () => ({ line: 1, column: 1 }));
    const errors = Array.from({ length: 101 }, () => ({
      message: long,
      path: Array(101).fill(long),
      locations,
    }));
    const found = failed(classify({ errors }, { redactor })).errors ?? [];
    expect(found).toHaveLength(100);
    expect(found[0]?.locations).toHaveLength(100);
    expect(found[0]?.message).toBe(`${"a".repeat(295)}[reda`);
    expect(found[0]?.path).toEqual(Array(100).fill(`${"a".repeat(295)}[reda`));
    const far = { message: "secret-value".repeat(1_000), extensions: { code: long } };
    const { message, code } = failed(classify({ errors: [far] }, { redactor })).errors?.[0] ?? {};
    expect(message).toMatch(/^(\[redacted\]){20,}\[?r?e?d?a?c?t?e?d?$/);
    expect(code).toBe(`${"a".repeat(295)}[reda`);
  });

  it.each<[string, SendResult, object]>([
    [
      "a response that is too large",
      { type: "too_large", response: responseOf({}) },
      {
        ...{ code: "RESPONSE_INVALID", outcome: "unknown", remedy: "none", httpStatus: 200 },
        message: "the response is larger than maxResponseBytes",
      },
    ],
    [
      "a fetch that returns no response",
      { type: "no_response", got: "nothing" },
      {
        ...{ code: "RESPONSE_INVALID", outcome: "unknown", remedy: "none" },
        message: "expected the option fetch to return a Response, got nothing",
      },
    ],
    [
      "variables that JSON cannot express",
      { type: "unsendable", cause: new Error("circular") },
      {
        ...{ code: "ARGUMENT_INVALID", outcome: "not_sent", remedy: "none" },
        ...{ message: "expected variables that can be written as JSON", cause: { message: "circular" } },
      },
    ],
    [
      "a response that is cut",
      { type: "broken", cause: new Error("cut"), response: responseOf({ status: 203 }) },
      {
        ...{ code: "NETWORK_FAILED", outcome: "unknown", remedy: "repeat", httpStatus: 203 },
        message: "service.example cut the connection inside the response",
      },
    ],
    [
      "a connection that is lost",
      { type: "broken", cause: new Error("lost"), response: undefined },
      {
        ...{ code: "NETWORK_FAILED", outcome: "unknown", remedy: "repeat" },
        message: "the connection to service.example was lost",
      },
    ],
  ])("returns a failure for %s", (_, result, expected) => {
    const failure = failed(classifyResponse(result, context));
    expect(failure).toMatchObject(expected);
    expect("httpStatus" in failure).toBe("httpStatus" in expected);
  });
});
