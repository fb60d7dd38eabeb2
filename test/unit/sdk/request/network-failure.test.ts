import { afterEach, describe, expect, it } from "vitest";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { createTestEngine } from "../../../support/engine-fixture.ts";
import { closeServers, responding, serveGraphQL } from "../../../support/graphql-server.ts";
import { failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

afterEach(closeServers);

/** The error of a mutation whose `fetch` fails with `error`; the token exchange succeeds. */
async function failureWith(error: unknown) {
  const { open } = await serveGraphQL(responding(200, ""));
  const fetch: Fetch = async (input, init) => {
    if (String(init?.body).includes("ExchangeApiKey")) return globalThis.fetch(input, init);
    throw error;
  };
  return failureOf(open({ fetch }).execute(probe.mutation, { ref: "r" }));
}

const fetchFailed = (cause: unknown) => new TypeError("fetch failed", { cause });
const systemError = (fields: object) => Object.assign(new Error("system error"), fields);

describe("an error of fetch", () => {
  it("names the host, and its cause has the code of the system", async () => {
    const { open, close, baseUrl } = await serveGraphQL(responding(200, ""));
    await close();
    const failure = await failureOf(open().execute(probe.mutation, {}));
    expect(failure.message).toBe(
      `ProbeMutation: apiKey exchange: ${new URL(baseUrl).host} could not be reached (ECONNREFUSED)`,
    );
    expect(failure).toMatchObject({ outcome: "not_sent", cause: { code: "ECONNREFUSED" } });
  });

  it("a lost connection names the host and has outcome unknown", async () => {
    const failure = await failureWith(fetchFailed(systemError({ code: "ECONNRESET", syscall: "read" })));
    expect(failure.message).toMatch(/the connection to 127\.0\.0\.1:\d+ was lost \(ECONNRESET\)$/);
    expect(failure).toMatchObject({ outcome: "unknown", cause: { code: "ECONNRESET" } });
  });

  it.each([
    ["a connect call that timed out", { code: "ETIMEDOUT", syscall: "connect" }],
    ["a firewall that forbids the connection", { code: "EPERM", syscall: "connect" }],
    ["a resolver that fails", { code: "EBUSY", syscall: "getaddrinfo" }],
    ["a certificate that is not valid yet", { code: "CERT_NOT_YET_VALID" }],
    ["a server that does not speak TLS", { code: "ERR_SSL_WRONG_VERSION_NUMBER" }],
  ])("%s is not_sent", async (_, fields) => {
    expect(await failureWith(fetchFailed(systemError(fields)))).toMatchObject({ outcome: "not_sent" });
  });

  it("control: a read that timed out is unknown", async () => {
    const error = fetchFailed(systemError({ code: "ETIMEDOUT", syscall: "read" }));
    expect(await failureWith(error)).toMatchObject({ outcome: "unknown" });
  });

  it("a port that fetch blocks is not_sent and named as such", async () => {
    const engine = createTestEngine({ apiKey: "key_1234567890", baseUrl: "http://127.0.0.1:9" });
    const failure = await failureOf(engine.execute(probe.mutation, {}));
    expect(failure).toMatchObject({ code: "NETWORK_FAILED", outcome: "not_sent", attempts: 0 });
    expect(failure.message).toContain("fetch sends nothing to the port of 127.0.0.1:9");
  });

  it("a proxy that opens no tunnel is not_sent and named as such", async () => {
    const failure = await failureWith(
      fetchFailed(new Error("Proxy response (407) !== 200 when HTTP Tunneling")),
    );
    expect(failure).toMatchObject({ code: "NETWORK_FAILED", outcome: "not_sent" });
    expect(failure.message).toContain("Proxy response (407)");
  });

  it.each([
    ["nothing", undefined],
    ["a string", "ok"],
    ["an object", {}],
  ])("a fetch that returns %s instead of a response is named as such", async (got, value) => {
    const fetch = (async () => value) as unknown as Fetch;
    const engine = createTestEngine({ apiKey: "key_1234567890", baseUrl: "http://localhost:1", fetch });
    const failure = await failureOf(engine.execute(probe.query, {}));
    expect(failure.code).toBe("RESPONSE_INVALID");
    expect(failure.message).toContain(`expected the option fetch to return a Response, got ${got}`);
  });
});
