import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { createRedactor } from "../../../../sdk/call/redactor.ts";
import { networkFailure } from "../../../../sdk/request/classify-response.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { createTestEngine } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { closeServers, responding, serveGraphQL } from "../../../support/graphql-server.ts";
import { failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

afterEach(closeServers);

const systemError = (fields: object) => Object.assign(new Error("system error"), fields);

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

describe("networkFailure", () => {
  const redactor = createRedactor();
  const of = (error: unknown, hasResponse = false) =>
    networkFailure(error, hasResponse, { redactor, host: "service.example" });
  const coded = (code: unknown, fields: object = {}) => systemError({ code, ...fields });
  /** The error inside of others, as their cause. */
  const wrapped = (error: Error, times: number): Error =>
    times === 0 ? error : new Error("outer", { cause: wrapped(error, times - 1) });
  const notReached = (code: string) => ({
    ...{ code: "NETWORK_FAILED", outcome: "not_sent", remedy: "repeat", cause: { code } },
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
      ...{ code: "NETWORK_FAILED", outcome: "not_sent", remedy: "none", cause: { code } },
      message: `the TLS certificate of service.example is not accepted (${code})`,
    });
  });

  it("a port without TLS is not_sent, and not tried again", () => {
    expect(of(wrapped(coded("ERR_SSL_WRONG_VERSION_NUMBER"), 1))).toMatchObject({
      ...{ code: "NETWORK_FAILED", outcome: "not_sent", remedy: "none" },
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
  ])("a TypeError that browsers throw for a lost connection, %s, is one", (message) => {
    expect(of(new TypeError(message))).toMatchObject(lost);
  });

  it.each([
    "RequestInit: Expected signal (AbortSignal {}) to be an instance of AbortSignal.",
    "Headers.append: x is an invalid header value.",
    "Failed to construct 'Request': member signal is not of type AbortSignal.",
    "Failed to execute 'fetch' on 'Window': invalid name",
    "Window.fetch: a is not a valid value",
  ])("what fetch says of its arguments, %s, is no lost connection", (message) => {
    expect(of(new TypeError(message))).toMatchObject({
      ...{ code: "CONFIGURATION_INVALID", outcome: "not_sent", remedy: "none" },
      message: expect.stringContaining("check the option fetch"),
    });
    // Others may throw such a text after they have sent something.
    expect(of(new Error(message))).toMatchObject(lost);
  });

  it.each([
    ["TypeError", "x is not a function"],
    ["TypeError", "Cannot read properties of undefined (reading 'get')"],
    ["ReferenceError", "agent is not defined"],
    ["RangeError", "Maximum call stack size exceeded"],
  ])("a %s of the option fetch, %s, is not repeated", (name, message) => {
    expect(of(Object.assign(new Error(message), { name }))).toMatchObject({
      ...{ code: "RESPONSE_INVALID", outcome: "unknown", remedy: "none" },
      message: `expected the option fetch to return a Response, got a ${name} (${message})`,
    });
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

  it.each(["AB", "abc", "1AB", `A${"B".repeat(61)}`, "AB-C", 12, ["ABC"]])(
    "does not read %s as a code",
    (code) => {
      expect(of(coded(code)).message).toBe("the connection to service.example was lost");
    },
  );

  it.each(["ABC", `A${"B".repeat(60)}`])("reads %s as a code", (code) => {
    expect(of(coded(code)).message).toBe(`the connection to service.example was lost (${code})`);
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
        ...{ code: "RESPONSE_INVALID", outcome: "unknown", remedy: "repeat" },
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
      ...{ code: "NETWORK_FAILED", outcome: "not_sent", remedy: "none", cause: { message: "outer" } },
      message:
        "fetch sends nothing to the port of service.example: the port is reserved for another protocol",
    });
    expect(of(wrapped(new Error("Proxy response (407) !== 200 when HTTP Tunneling"), 1))).toMatchObject({
      ...{ code: "NETWORK_FAILED", outcome: "not_sent", remedy: "repeat" },
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
