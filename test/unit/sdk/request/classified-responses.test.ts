import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../../sdk/call/redactor.ts";
import {
  type ClassificationContext,
  failureIn,
  type GraphQLResponse,
} from "../../../../sdk/request/classify-response.ts";

describe("failureIn", () => {
  const context: ClassificationContext = {
    ...{
      kind: "query",
      redactor: createRedactor(),
      url: new URL("https://service.example/v1/graphql"),
      nowMs: 500,
    },
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
    failureIn(responseOf(fields), { ...context, ...changes });
  const failed = (failure: ReturnType<typeof failureIn>) => {
    if (!failure) throw new Error("expected a failure, got data");
    return failure;
  };
  const type = (contentType: string) => new Headers({ "content-type": contentType });
  const retryAfter = (value: string) => new Headers({ "retry-after": value });
  const other = { message: "other" };
  const coded = (code: string) => ({ message: "coded", extensions: { code } });
  const page = { isGraphQL: false, headers: type("text/html") };

  const limited = "RATE_LIMITED rejected wait_for_rate_limit";
  const tokenRejected = "TOKEN_REJECTED rejected fresh_token";
  const unavailable = "SERVICE_UNAVAILABLE unknown repeat";
  it("a 404 names the address: baseUrl may have a path too much", () => {
    expect(failed(classify({ status: 404, ...page })).message).toBe(
      "nothing is at service.example/v1/graphql (HTTP 404); check baseUrl and gatewayUrl",
    );
  });

  it.each<[string, Partial<GraphQLResponse>, string]>([
    ["429", { status: 429 }, limited],
    ["429 with Retry-After", { status: 429, headers: retryAfter("7") }, limited],
    ["one error RATE_LIMITED", { errors: [other, coded("RATE_LIMITED")] }, limited],
    ["one error FORBIDDEN", { errors: [other, coded("FORBIDDEN")] }, "PERMISSION_DENIED rejected none"],
    ["one error UNAUTHENTICATED", { errors: [other, coded("UNAUTHENTICATED")] }, tokenRejected],
    [
      "one error that says Unauthorized",
      { errors: [other, { message: " UnAuthorized. " }] },
      "PERMISSION_DENIED rejected fresh_token",
    ],
    [
      "an error that says more than Unauthorized",
      { errors: [{ message: "unauthorized user" }] },
      "GRAPHQL_ERROR unknown none",
    ],
    ["401 with a page", { status: 401, ...page }, "HTTP_REQUEST_REJECTED rejected fresh_token"],
    ["401 with a page that is GraphQL", { status: 401, ...page, isGraphQL: true }, tokenRejected],
    ["401 with plain text", { status: 401, isGraphQL: false, headers: type("text/plain") }, tokenRejected],
    ["403 with an error", { status: 403, errors: [other] }, "PERMISSION_DENIED rejected none"],
    ["400", { status: 400 }, "HTTP_REQUEST_REJECTED rejected none"],
    ["408", { status: 408 }, unavailable],
    ["500", { status: 500 }, unavailable],
    ["503 with all details", { status: 503, headers: retryAfter("7"), errors: [other] }, unavailable],
    [
      "a known error after an unknown one",
      { errors: [other, { message: "Invalid iterator" }] },
      "ITERATOR_INVALID unknown none",
    ],
    [
      "two known errors",
      { errors: [{ message: "Invalid iterator" }, coded("NOT_FOUND")] },
      "ITERATOR_INVALID rejected none",
    ],
    ["an error without a message", { errors: [{}] }, "GRAPHQL_ERROR unknown none"],
    ["an error that is no list", { errors: { message: "alone" } }, "GRAPHQL_ERROR unknown none"],
    ["300", { status: 300 }, "RESPONSE_INVALID unknown none"],
    ["301", { status: 301 }, "RESPONSE_INVALID unknown none"],
    ["307", { status: 307 }, "RESPONSE_INVALID rejected none"],
    ["data that is a list", { data: [] }, "RESPONSE_INVALID unknown none"],
    ["data that is not GraphQL", { data: {}, isGraphQL: false }, "RESPONSE_INVALID unknown none"],
    ["plain text", { headers: type("Text/Plain; charset=utf-8") }, "RESPONSE_INVALID unknown none"],
    [
      "the beginning of a JSON text",
      { isGraphQL: false, isTruncated: true },
      "RESPONSE_INVALID unknown repeat",
    ],
    ["a query whose field me is null", { data: { me: null } }, tokenRejected],
  ])("returns for a response with %s %o: %s", (_, fields, expected) => {
    const { code, outcome, remedy } = failed(classify(fields));
    expect(`${code} ${outcome} ${remedy}`).toBe(expected);
  });

  it("names the host, the status and the kind of what is no response of the service", () => {
    expect(failed(classify({ status: 403, ...page })).message).toMatch(
      /service\.example .*403 \(text\/html\)/,
    );
    const plain = { headers: type("Text/Plain; charset=utf-8") };
    expect(failed(classify(plain)).message).toMatch(/got text\/plain \(HTTP 200\); check baseUrl/);
    const long = { headers: type(`text/${"a".repeat(80)}`) };
    expect(failed(classify(long)).message).toMatch(/got text\/a{60} \(/);
    expect(failed(classify({ status: 503, headers: retryAfter("7"), errors: [other] })).message).toMatch(
      /503.* 7 s.*other/,
    );
  });

  it("returns the data of a response without errors", () => {
    for (const errors of [undefined, null, []]) {
      expect(classify({ data: { probe: 1 }, errors })).toBeUndefined();
    }
    expect(classify({ data: { me: null } }, { kind: "mutation" })).toBeUndefined();
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
      expect(failure.data).toBeUndefined();
    }
  });

  it("returns status, headers and id of the response, and no errors where it has none", () => {
    const headers = new Headers({ "x-request-id": "r-1" });
    const failure = failed(classify({ status: 500, headers }));
    expect(failure).toMatchObject({ httpStatus: 500, requestId: "r-1", headers: { "x-request-id": "r-1" } });
    expect(failure.errors).toBeUndefined();
  });

  it("copies of each error what has the documented type", () => {
    const errors = [
      {
        message: "m",
        path: ["a", 1, null, {}],
        extensions: { code: "C", more: 1 },
      },
      { message: 1, path: "a", extensions: ["code"] },
      { message: "n", extensions: { code: 1 } },
    ];
    expect(failed(classify({ errors })).errors).toEqual([
      {
        ...{ message: "m", path: ["a", 1], code: "C" },
        extensions: { code: "C", more: 1 },
      },
      { message: "the service sent no message" },
      { message: "n", extensions: { code: 1 } },
    ]);
  });

  it("keeps at most 100 errors, 100 path segments and 300 characters, and no part of a secret", () => {
    const redactor = createRedactor();
    redactor.remember("secret-value");
    const long = `${"a".repeat(295)}secret-value`;
    const errors = Array.from({ length: 101 }, () => ({
      message: long,
      path: Array(101).fill(long),
    }));
    const found = failed(classify({ errors }, { redactor })).errors ?? [];
    expect(found).toHaveLength(100);
    expect(found[0]?.message).toBe(`${"a".repeat(295)}[reda`);
    expect(found[0]?.path).toEqual(Array(100).fill(`${"a".repeat(295)}[reda`));
    const far = { message: "secret-value".repeat(1_000), extensions: { code: long } };
    const { message, code } = failed(classify({ errors: [far] }, { redactor })).errors?.[0] ?? {};
    expect(message).toMatch(/^(\[redacted\]){20,}\[?r?e?d?a?c?t?e?d?$/);
    expect(code).toBe(`${"a".repeat(295)}[reda`);
  });
});
