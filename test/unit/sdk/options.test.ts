import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createClient } from "../../../sdk/client.ts";
import { isWorkspaceTasksError } from "../../../sdk/errors.ts";
import { type CallOptions, type CreateClientOptions, resolveOptions } from "../../../sdk/options.ts";
import { postgresRateLimitStore } from "../../../sdk/rate-limit/postgres-rate-limit-store.ts";
import { createTestEngine, probe } from "../../support/engine-fixture.ts";
import { failureOf } from "../../support/outcome-of.ts";

type Loose = Readonly<Record<string, unknown>>;

const good: CreateClientOptions = { apiKey: "key_1234567890", baseUrl: "https://api.example.com" };

function problemWith(options: unknown): string {
  try {
    createClient(options as CreateClientOptions);
  } catch (error) {
    if (!isWorkspaceTasksError(error)) throw error;
    expect(error).toMatchObject({ code: "CONFIGURATION_INVALID", outcome: "not_sent" });
    return error.message;
  }
  return "no problem";
}

describe("createClient", () => {
  it("createClient names the Node that it needs", () => {
    const { versions } = process;
    onTestFinished(() => void Object.defineProperty(process, "versions", { value: versions }));
    Object.defineProperty(process, "versions", { value: { node: "18.20.4" }, configurable: true });
    expect(problemWith(good)).toBe("createClient: expected Node 20.19.0 or newer, got 18.20.4; update Node");
  });

  it.each([
    ["https://api.example.com"],
    ["https://api.example.com/v1/"],
    [new URL("https://api.example.com")],
    ["http://127.0.0.1:4010"],
    ["http://localhost:4010"],
    ["http://mock.localhost"],
    ["http://[::1]:4010"],
  ])("createClient accepts the baseUrl %s", (baseUrl) => {
    expect(problemWith({ ...good, baseUrl })).toBe("no problem");
  });

  it("createClient accepts HTTP URLs of the hosts in httpHostsAllowed", () => {
    const urls = { baseUrl: "http://MOCK:4010", gatewayUrl: "http://[fd00::2]/gateway" };
    const httpHostsAllowed = ["Mock", "[fd00::2]"];
    expect(problemWith({ ...good, ...urls, httpHostsAllowed })).toBe("no problem");
    expect(problemWith({ ...good, baseUrl: "http://mock.example", httpHostsAllowed })).toMatch(
      /expected https/,
    );
  });

  it.each([
    [{ baseUrl: "http://api.example.com" }, /baseUrl: expected https, got http/],
    [{ baseUrl: "ftp://api.example.com" }, /baseUrl: expected https, got ftp/],
    [{ baseUrl: "/graphql" }, /baseUrl: expected an absolute URL/],
    [{ baseUrl: "" }, /baseUrl: expected an absolute URL .+, got an empty text/],
    [{ baseUrl: "localhost:4010" }, /baseUrl: expected an absolute URL .+, got one without https:/],
    [{ baseUrl: "https://user:pw@api.example.com" }, /without user and password/],
    [{ baseUrl: "https://api.example.com?x=1" }, /without query/],
    [{ baseUrl: "https://api.example.com/graphql" }, /base address/],
    [
      { baseUrl: "http://mock:4010" },
      /baseUrl: expected https, got http to mock, .+ set httpHostsAllowed: \["mock"\]$/,
    ],
    [{ baseUrl: "http://[fd00::2]" }, /got http to \[fd00::2\], .+: \["fd00::2"\]$/],
    [{ httpHostsAllowed: ["mock:4010"] }, /httpHostsAllowed.0: expected a host name without a scheme/],
    [{ httpHostsAllowed: "mock" }, /httpHostsAllowed: expected an array, got a string/],
    [{ gatewayUrl: "http://gateway.example.com" }, /gatewayUrl: expected https/],
    [
      { apiKey: undefined },
      /expected apiKey or partnerApiKey, got apiKey undefined; is the environment variable set\?$/,
    ],
    [{ apiKey: "" }, /apiKey: expected a key, got an empty string; is the environment variable set\?$/],
    [
      { baseUrl: '"https://api.example.com"' },
      /baseUrl: the URL is in quotes, which docker --env-file keeps/,
    ],
    [
      { apiKey: '"key_1234567890"' },
      /apiKey: the key is in quotes, which docker --env-file keeps; remove them$/,
    ],
    [{ partnerApiKey: "'key_1234567890'" }, /partnerApiKey: the key is in quotes/],
    [{ apiKey: "key_1234567890\n" }, /apiKey: expected a key without spaces/],
    [{ apiKey: 12 }, /apiKey: expected a string or a function, got a number/],
    [{ rateLimit: true }, /rateLimit: expected false or an object, got a boolean/],
    [{ rateLimit: { maxQueueed: 3 } }, /rateLimit: unknown option maxQueueed; did you mean maxQueued\?/],
    [{ rateLimit: { store: {} } }, /rateLimit.store: expected a store with acquire and block/],
    [{ timeout: 3 }, /unknown option timeout; did you mean timeoutMs\?/],
    [{ fetch: "node-fetch" }, /fetch: expected a function, got a string/],
    [{ clock: {} }, /clock: expected a clock with now, monotonic and schedule/],
    [{ logger: console.log }, /logger: expected a logger with debug, info, warn and error/],
    [{ sourcePlatform: "a\r\nb" }, /sourcePlatform: expected visible ASCII/],
  ])("createClient rejects %j", (options, message) => {
    expect(problemWith({ ...good, ...options })).toMatch(message);
  });

  it.each([
    [{ apiKey: "key_1234567890" }, /baseUrl: expected a URL, got nothing/],
    [undefined, /createClient: expected an object, got nothing/],
  ])("createClient rejects %j alone", (options, message) => {
    expect(problemWith(options)).toMatch(message);
  });

  it("createClient prints no rejected key, address or password", () => {
    expect(problemWith({ ...good, apiKey: "secret key 123" })).not.toContain("secret key");
    expect(problemWith({ ...good, baseUrl: "https://u:hunter22@api.example.com" })).not.toContain("hunter22");
    expect(problemWith({ ...good, baseUrl: "u:hunter22@api" })).not.toContain("hunter22");
  });

  it("createClient takes undefined as the default, so that options can be built from an environment", () => {
    const none = {
      gatewayUrl: undefined,
      partnerApiKey: undefined,
      timeoutMs: undefined,
      rateLimit: undefined,
    };
    expect(problemWith({ ...good, ...none })).toBe("no problem");
  });
});

describe("a numeric option of createClient", () => {
  const timerMsMax = 2 ** 31 - 1;
  // Name, default by the documentation, least and largest value.
  const numbers = [
    ["timeoutMs", 15_000, 1, timerMsMax],
    ["deadlineMs", undefined, 1, timerMsMax],
    ["maxRetries", 3, 0, 20],
    ["maxResponseBytes", 32 * 1_024 * 1_024, 1, 2 ** 31],
    ["rateLimit.requests", 120, 1, 1_000_000],
    ["rateLimit.windowMs", 60_000, 1, timerMsMax],
    ["rateLimit.maxQueued", 1_000, 0, 1_000_000],
  ] as const;

  const withNumber = (name: string, value: number) => {
    const [group = "", inner] = name.split(".");
    return { ...good, [group]: inner ? { [inner]: value } : value } as CreateClientOptions;
  };

  it.each(numbers)(
    "%s has the default %s, and takes the values from %s to %s",
    (name, preset, least, most) => {
      expect(
        name.split(".").reduce((value, key) => (value as Loose)[key], resolveOptions(good) as unknown),
      ).toBe(preset);
      for (const value of [least, most]) expect(problemWith(withNumber(name, value))).toBe("no problem");
      const unit = name.endsWith("Ms") ? " of milliseconds" : "";
      for (const value of [least - 1, most + 1])
        expect(problemWith(withNumber(name, value))).toBe(
          `createClient: ${name}: expected a whole number${unit} from ${least} to ${most}, got ${value}`,
        );
    },
  );
});

describe("postgresRateLimitStore", () => {
  it.each([undefined, "postgres://user:pw@127.0.0.1/app", {}])("rejects %j in place of a pool", (pool) => {
    const message = /^postgresRateLimitStore: pool: expected a pool with query, got (?!.*pw).+; pass a Pool/;
    expect(() => postgresRateLimitStore(pool as never)).toThrow(
      expect.objectContaining({ code: "CONFIGURATION_INVALID" }),
    );
    expect(() => postgresRateLimitStore(pool as never)).toThrow(message);
  });
});

describe("a call", () => {
  const never = () => Promise.reject(new Error("nothing may be sent"));

  it.each([
    [{ timeoutMs: 0 }, /timeoutMs: expected a whole number/],
    [{ deadlineMs: Number.POSITIVE_INFINITY }, /deadlineMs: expected a whole number/],
    [{ signal: {} as AbortSignal }, /signal: expected an AbortSignal, got an object/],
    [{ timeoutms: 5 } as CallOptions, /unknown option timeoutms; did you mean timeoutMs\?/],
  ])("a call with the options %j is rejected before anything is sent", async (call, message) => {
    const client = createClient({ ...good, fetch: never });
    for (const failing of [client.me(call), client.request("{ me { id } }", {}, call)]) {
      const { code, message: found } = await failureOf(failing);
      expect(code).toBe("ARGUMENT_INVALID");
      expect(found).toMatch(message);
    }
    expect((await failureOf(client.me(call))).message).toMatch(/^me: /);
  });

  const partnerOnly = { partnerApiKey: "pk_1234567890", baseUrl: good.baseUrl };
  it.each([
    ["to the gateway without gatewayUrl", good, { ...probe.mutation, router: "gateway" }, "gatewayUrl"],
    ["to the base router of a partner-only client", partnerOnly, probe.query, "apiKey"],
  ] as const)("a call %s fails and names the option", async (_, options, operation, option) => {
    const call = createTestEngine({ ...options, fetch: never }).execute(operation, {});
    const message = expect.stringContaining(option);
    await expect(call).rejects.toMatchObject({ code: "CONFIGURATION_INVALID", message });
  });
});

it("rateLimit takes the name of a router", () => {
  const message = "rateLimit: expected one of base, gateway, got another";
  expect(() => createClient(good).rateLimit("gatway" as never)).toThrow(message);
});

describe("createClient in a browser", () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each([
    ["page", { window: { document: {} } }],
    ["web worker", { importScripts: () => {}, location: {} }],
  ])("createClient rejects use in a %s unless dangerouslyAllowBrowser is set", (_, globals) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    expect(problemWith(good)).toMatch(/every visitor could read the key/);
    expect(problemWith({ ...good, dangerouslyAllowBrowser: true })).toBe("no problem");
  });

  it("workerd is none, also where it has importScripts", () => {
    vi.stubGlobal("importScripts", () => {});
    expect(problemWith(good)).toBe("no problem");
  });
});
