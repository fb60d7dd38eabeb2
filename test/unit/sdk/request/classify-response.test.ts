import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../../sdk/call/redactor.ts";
import {
  type ClassificationContext,
  failureIn,
  type GraphQLResponse,
  networkFailure,
  parseRetryAfterMs,
  readHeaders,
  readResponseDetails,
} from "../../../../sdk/request/classify-response.ts";

describe("failureIn", () => {
  const context: ClassificationContext = {
    kind: "query",
    redactor: createRedactor(),
    url: new URL("https://service.example/v1/graphql"),
    nowMs: 500,
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
    [
      "an error that says more before Unauthorized",
      { errors: [{ message: "the user is unauthorized" }] },
      "GRAPHQL_ERROR unknown none",
    ],
    ["401 with a page", { status: 401, ...page }, "HTTP_REQUEST_REJECTED rejected fresh_token"],
    ["401 with a page that is GraphQL", { status: 401, ...page, isGraphQL: true }, tokenRejected],
    ["401 with plain text", { status: 401, isGraphQL: false, headers: type("text/plain") }, tokenRejected],
    ["404", { status: 404 }, "HTTP_REQUEST_REJECTED rejected none"],
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

  it.each([
    ["Unsupported webhook event type", undefined, "WEBHOOK_EVENT_TYPE_UNSUPPORTED"],
    ["Unsupported webhook event type: task.paused", "BAD_USER_INPUT", "WEBHOOK_EVENT_TYPE_UNSUPPORTED"],
    ["At least one webhook event type is required", undefined, "WEBHOOK_EVENT_TYPE_REQUIRED"],
    ["At least one endpoint field must be updated", undefined, "WEBHOOK_ENDPOINT_FIELD_REQUIRED"],
    ["Webhook endpoint limit must be between 1 and 100", undefined, "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE"],
    ["Secret grace period must be between 0 and 604800", undefined, "SECRET_GRACE_PERIOD_OUT_OF_RANGE"],
    ["Webhook endpoint url must be an HTTPS URL", undefined, "WEBHOOK_ENDPOINT_URL_INVALID"],
    ["Invalid iterator", "BAD_USER_INPUT", "ITERATOR_INVALID"],
    [" Invalid iterator ", undefined, "ITERATOR_INVALID"],
    ["Webhook endpoint not found", "NOT_FOUND", "NOT_FOUND"],
    ["Provider connection not found", undefined, "NOT_FOUND"],
    ['externalId "x" is already used in this connection', "CONFLICT", "CONFLICT"],
    ["expected something else", "BAD_USER_INPUT", "INPUT_INVALID"],
    ["Cannot query field", "GRAPHQL_VALIDATION_FAILED", "DOCUMENT_INVALID"],
    ["Syntax Error", "GRAPHQL_PARSE_FAILED", "DOCUMENT_INVALID"],
    ["Unauthorized", "FORBIDDEN", "PERMISSION_DENIED"],
    ["oops", "INTERNAL_SERVER_ERROR", "SERVICE_FAILED unknown"],
    ["oops", "SOMETHING_NEW", "GRAPHQL_ERROR unknown"],
    // Of another code, which says what happened, no message decides anything.
    ["Unauthorized", "PROVIDER_ERROR", "GRAPHQL_ERROR unknown"],
    ["Provider account not found", "PROVIDER_ERROR", "GRAPHQL_ERROR unknown"],
    ["Invalid iterator", "PROVIDER_ERROR", "GRAPHQL_ERROR unknown"],
  ])("returns for the error %s (%s): %s", (message, code, expected) => {
    const failure = failed(classify({ errors: [{ message, extensions: { code } }] }));
    expect(failure).toMatchObject({ message, remedy: "none", errors: [{ message, code }] });
    const { outcome } = failure;
    expect(outcome === "rejected" ? failure.code : `${failure.code} ${outcome}`).toBe(expected);
  });

  it("names the host, the status and the kind of what is no response of the service", () => {
    expect(failed(classify({ status: 403, ...page })).message).toMatch(
      /service\.example .*403 \(text\/html\)/,
    );
    const plain = { headers: type("Text/Plain; charset=utf-8") };
    expect(failed(classify(plain)).message).toMatch(/got text\/plain \(HTTP 200\); check baseUrl/);
    const odd = { ...page, status: 403, headers: type("1text/html") };
    expect(failed(classify(odd)).message).toMatch(/^the service, or a proxy in front of it, rejected/);
    for (const headers of [new Headers(), type("application/json")]) {
      expect(failed(classify({ headers })).message).toMatch(/got something else \(HTTP 200\)/);
    }
    expect(failed(classify({ status: 300 })).message).toBe("expected a response, got HTTP 300");
    expect(failed(classify({ status: 301 })).message).toMatch(/got a redirect \(HTTP 301\); check baseUrl/);
    expect(failed(classify({ status: 429 })).message).toMatch(/requests of the key$/);
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
      code: "PERMISSION_DENIED",
      outcome: "unknown",
      remedy: "none",
      data: partial.data,
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
        message: "m",
        path: ["a", 1],
        code: "C",
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

describe("the details of a response", () => {
  const redactor = createRedactor();
  const detailsOf = (extensions: object) =>
    readResponseDetails({ status: 200, headers: new Headers(), extensions }, redactor);

  it("have 100 headers at most, and no cookies", () => {
    const headers = new Headers({ "set-cookie2": "a", "x-set-cookie": "b", "set-cookie-policy": "c" });
    headers.append("set-cookie", "d");
    expect(readHeaders(headers, redactor)).toEqual({ "x-set-cookie": "b", "set-cookie-policy": "c" });
    const many = new Headers(Array.from({ length: 101 }, (_, index) => [`x-${index}`, "v"]));
    expect(Object.keys(readHeaders(many, redactor))).toHaveLength(100);
  });

  it("have the first 100 fields of each object, 1,000 in all and five levels below the extensions", () => {
    const list = [1, "a", null, [true]];
    const sixLevels = { l: { l: { l: { l: { l: { l: {} } } } } } };
    expect(detailsOf({ list, ...sixLevels }).extensions).toEqual({
      list,
      l: { l: { l: { l: { l: { l: undefined } } } } },
    });
    const lists = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [index, Array(101).fill(1)]));
    const copied = Object.values(detailsOf(lists).extensions ?? {}) as unknown[][];
    expect(copied[0]).toHaveLength(100);
    expect(copied.length + copied.flat().length).toBe(1_000);
  });

  it.each(["", 5, null])("have the second name of a request id where the first is %j", (requestId) => {
    expect(detailsOf({ requestId, request_id: "r" }).requestId).toBe("r");
  });
});

describe("Retry-After", () => {
  const nowMs = Date.UTC(2026, 0, 15, 12);
  const parse = (value: string, date?: string) =>
    parseRetryAfterMs(new Headers({ "retry-after": value, ...(date && { date }) }), nowMs);

  it.each([
    ["0", 0],
    ["7", 7_000],
    [" 60 ", 60_000],
    ["Thu, 15 Jan 2026 12:00:30 GMT", 30_000],
    ["Thu, 15 Jan 2026 11:59:00 GMT", 0],
    ["1000000000", 1_000_000_000_000],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
    ["Thu, 01 Jan 2099 00:00:00 GMT", 2_302_430_400_000],
  ])("Retry-After: %s is %i ms", (value, expected) => {
    expect(parse(value)).toBe(expected);
  });

  const unusable = ["", "-5", "1.5", "1e3", "0x10", "NaN", "60s", "1 Jan", "60, 60"];
  it.each([
    ...unusable,
    "2026-01-15T12:00:30Z",
    "Thu, 99 Jan 2026 12:00:30 GMT",
    "at Thu, 15 Jan 2026 12:00:30 GMT",
    "Thu, 15 Jan 2026 12:00:30 GMT+01:00",
  ])("Retry-After: %j is ignored", (value) => {
    expect(parse(value)).toBeUndefined();
  });

  it("a Retry-After date is compared with the Date header", () => {
    const wayOff = "Thu, 15 Jan 2026 18:00:00 GMT";
    expect(parse("Thu, 15 Jan 2026 18:00:20 GMT", wayOff)).toBe(20_000);
  });

  it("an absent Retry-After is undefined", () => {
    expect(parseRetryAfterMs(new Headers(), nowMs)).toBeUndefined();
  });

  it("any Retry-After text is a whole wait or undefined", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), (value) => {
        const waitMs = parse(value);
        expect(waitMs === undefined || (Number.isFinite(waitMs) && waitMs >= 0)).toBe(true);
      }),
    );
  });
});

describe("networkFailure", () => {
  const redactor = createRedactor();
  const of = (error: unknown, hasResponse = false) =>
    networkFailure(error, hasResponse, { redactor, host: "service.example" });
  const systemError = (fields: object) => Object.assign(new Error("system error"), fields);
  const coded = (code: unknown, fields: object = {}) => systemError({ code, ...fields });
  /** The error inside of others, as their cause. */
  const wrapped = (error: Error, times: number): Error =>
    times === 0 ? error : new Error("outer", { cause: wrapped(error, times - 1) });
  const notReached = (code: string) => ({
    code: "NETWORK_FAILED",
    outcome: "not_sent",
    remedy: "repeat",
    cause: { code },
    message: `service.example could not be reached (${code})`,
  });
  const lost = { code: "NETWORK_FAILED", outcome: "unknown", remedy: "repeat" };

  it.each([
    ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
  ])("proves for the code %s that nothing was sent", (code) => {
    expect(of(coded(code))).toMatchObject(notReached(code));
  });

  it.each([
    ...["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "CERT_REVOKED", "CERT_UNTRUSTED"],
    ...["DEPTH_ZERO_SELF_SIGNED_CERT", "ERR_TLS_CERT_ALTNAME_INVALID"],
    ...["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  ])("the certificate error %s is not_sent, and not repeated", (code) => {
    expect(of(wrapped(coded(code), 1))).toMatchObject({
      code: "NETWORK_FAILED",
      outcome: "not_sent",
      remedy: "none",
      cause: { code },
      message: `the TLS certificate of service.example is not accepted (${code})`,
    });
  });

  it("a port without TLS is not_sent, and not tried again", () => {
    expect(of(wrapped(coded("ERR_SSL_WRONG_VERSION_NUMBER"), 1))).toMatchObject({
      code: "NETWORK_FAILED",
      outcome: "not_sent",
      remedy: "none",
      message: "service.example speaks no TLS on this port (ERR_SSL_WRONG_VERSION_NUMBER)",
    });
  });

  it("an error of another realm says the same", () => {
    const foreign = runInNewContext(
      "new TypeError('fetch failed', { cause: Object.assign(new AggregateError([Object.assign(new Error('no'), { code: 'ECONNREFUSED' })])) })",
    );
    expect(foreign).not.toBeInstanceOf(Error);
    expect(of(foreign)).toMatchObject(notReached("ECONNREFUSED"));
  });

  it.each([
    ...["Failed to fetch", "NetworkError when attempting to fetch resource.", "Load failed"],
    ...["Network request failed", "error sending request for url (http://h/)", "fetch failed", "terminated"],
    ...["a fetch: no", "it Failed to parse URL", "they Cannot read it", "their undefined is not ours"],
  ])("a TypeError that browsers throw for a lost connection, %s, is one", (message) => {
    expect(of(new TypeError(message))).toMatchObject(lost);
  });

  it.each([
    "RequestInit: Expected signal (AbortSignal {}) to be an instance of AbortSignal.",
    "Headers.append: x is an invalid header value.",
    "Failed to construct 'Request': member signal is not of type AbortSignal.",
    "Failed to execute 'fetch' on 'Window': invalid name",
    "Window.fetch: a is not a valid value",
    "fetch: a is not a valid value",
    "Request constructor: Expected input to be a string.",
    "Request: a is not a valid value",
    "Request with GET: it has a body",
    "Headers: a is not a valid value",
    "HeadersInit: a is not a valid value",
    "Failed to parse URL from a",
  ])("what fetch says of its arguments, %s, is no lost connection", (message) => {
    expect(of(new TypeError(message))).toMatchObject({
      code: "CONFIGURATION_INVALID",
      outcome: "not_sent",
      remedy: "none",
      message: expect.stringContaining("check the option fetch"),
      cause: { message },
    });
    // Others may throw such a text after they have sent something.
    expect(of(new Error(message))).toMatchObject(lost);
  });

  it.each([
    ["TypeError", "x is not a function"],
    ["TypeError", "Cannot read properties of undefined (reading 'get')"],
    ["ReferenceError", "agent is not defined"],
    ["SyntaxError", "Unexpected end of JSON input"],
    ["RangeError", "Maximum call stack size exceeded"],
  ])("a %s of the option fetch, %s, is not repeated", (name, message) => {
    expect(of(Object.assign(new Error(message), { name }))).toMatchObject({
      code: "RESPONSE_INVALID",
      outcome: "unknown",
      remedy: "none",
      message: `expected the option fetch to return a Response, got a ${name} (${message})`,
    });
    expect(of(new Error(message))).toMatchObject(lost);
  });

  it.each(["connect", "getaddrinfo"])("proves for the call %s that nothing was sent", (syscall) => {
    expect(of(coded("EPERM", { syscall }))).toMatchObject(notReached("EPERM"));
  });

  it.each([
    ["another call", { code: "ECONNRESET", syscall: "read" }],
    ["a call that is no text", { code: "ECONNRESET", syscall: 1 }],
  ])("proves nothing for %s", (_, fields) => {
    const message = "the connection to service.example was lost (ECONNRESET)";
    expect(of(systemError(fields))).toMatchObject({ ...lost, message });
  });

  it.each([undefined, null, "text", { code: "ECONNREFUSED" }])("proves nothing for %j", (error) => {
    expect(of(error)).toMatchObject({ ...lost, message: "the connection to service.example was lost" });
  });

  it("finds the code up to five causes deep, and gives it to the outer error", () => {
    expect(of(wrapped(coded("ECONNREFUSED"), 5))).toMatchObject(notReached("ECONNREFUSED"));
    const deeper = of(wrapped(coded("ECONNREFUSED"), 6));
    expect(deeper).toMatchObject({ ...lost, message: "the connection to service.example was lost" });
    expect(deeper.cause).not.toHaveProperty("code");
  });

  it("keeps a code that the error has, also where it is not that of the system", () => {
    const error = Object.assign(wrapped(coded("ECONNREFUSED"), 1), { code: "lower" });
    expect(of(error)).toMatchObject({ ...notReached("ECONNREFUSED"), cause: { code: "lower" } });
  });

  const noCodes = ["AB", "abc", "1AB", `A${"B".repeat(61)}`, "AB-C", 12, ["ABC"], ["ECONNREFUSED"]];
  it.each([
    ...noCodes.map((code) => [code, ""] as const),
    ...["ABC", `A${"B".repeat(60)}`, "XCERT_OLD", "XECONNREFUSED", "ECONNREFUSEDX"].map(
      (code) => [code, ` (${code})`] as const,
    ),
  ])("adds for the code %s to its message: %j", (code, added) => {
    expect(of(coded(code)).message).toBe(`the connection to service.example was lost${added}`);
  });

  it("proves that nothing was sent to several addresses when it proves that for each", () => {
    const refused = coded("ECONNREFUSED");
    expect(of(new AggregateError([refused, coded("ENETUNREACH")]))).toMatchObject(notReached("ECONNREFUSED"));
    const sent = new AggregateError([refused, coded("ECONNRESET")]);
    expect(of(sent)).toMatchObject({ outcome: "unknown" });
    expect(of(new AggregateError([]))).toMatchObject({ outcome: "unknown" });
    expect(of(wrapped(new AggregateError([refused]), 4))).toMatchObject(notReached("ECONNREFUSED"));
    expect(of(wrapped(new AggregateError([refused]), 5))).toMatchObject({ outcome: "unknown" });
  });

  it("names a response that cannot be decompressed, and one that is cut", () => {
    for (const code of ["Z_BUF_ERROR", "ERR__ERROR_FORMAT_PADDING_2"]) {
      expect(of(coded(code), true)).toMatchObject({
        code: "RESPONSE_INVALID",
        outcome: "unknown",
        remedy: "repeat",
        message: expect.stringContaining(`damaged or incomplete (${code})`),
      });
    }
    expect(of(coded("ECONNREFUSED"), true)).toMatchObject({
      ...lost,
      message: "service.example cut the connection inside the response (ECONNREFUSED)",
    });
    expect(of(coded("EZ_OTHER"), true)).toMatchObject({ code: "NETWORK_FAILED" });
  });

  it("names what fetch or a proxy refuses, up to five causes deep", () => {
    expect(of(wrapped(new Error("bad port"), 5))).toMatchObject({
      code: "NETWORK_FAILED",
      outcome: "not_sent",
      remedy: "none",
      cause: { message: "outer" },
      message:
        "fetch sends nothing to the port of service.example: the port is reserved for another protocol",
    });
    expect(of(wrapped(new Error("Proxy response (407) !== 200 when HTTP Tunneling"), 1))).toMatchObject({
      code: "NETWORK_FAILED",
      outcome: "not_sent",
      remedy: "repeat",
      message: "no connection to service.example: Proxy response (407)",
    });
    for (const message of ["bad ports", "a bad port", "Proxy response (40) ", "no Proxy response (407)"]) {
      expect(of(new Error(message))).toMatchObject({
        ...lost,
        message: "the connection to service.example was lost",
      });
    }
    expect(of(wrapped(new Error("bad port"), 6))).toMatchObject(lost);
  });

  it("redacts the code, the message and the cause", () => {
    const own = createRedactor();
    own.remember("SECRETVALUE");
    const failure = networkFailure(coded("SECRETVALUE"), false, { redactor: own, host: "h" });
    expect(failure).toMatchObject({ message: "the connection to h was lost ([redacted])" });
    expect(JSON.stringify(failure)).not.toContain("SECRETVALUE");
  });
});
