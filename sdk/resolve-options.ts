import * as z from "zod";
import type { RateLimitStore } from "./allowance/rate-limit-store.ts";
import { systemClock, systemRandom } from "./clock.ts";
import { ConfigurationError, WorkspaceTasksError } from "./errors.ts";
import type { CallOptions, CreateClientOptions, Fetch, KeySource } from "./options.ts";

/** Options with every default filled in; the URLs are base addresses without a slash at the end. */
export type ResolvedOptions = ReturnType<typeof resolveOptions>;

export interface ResolvedRateLimit {
  readonly requests: number;
  readonly windowMs: number;
  readonly share: number;
  readonly maxQueued: number;
  readonly maxWaitMs: number;
  readonly store: RateLimitStore | undefined;
}

// Node's timers hold no longer delay.
const durationMsMax = 2_147_483_647;

const shown = (input: unknown) => (typeof input === "number" ? String(input) : nameOfType(input));
const integer = (min: number, max: number) =>
  z
    .number({ error: ({ input }) => `expected an integer from ${min} to ${max}, got ${shown(input)}` })
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, {
      error: ({ input }) => `expected an integer from ${min} to ${max}, got ${shown(input)}`,
    });
const durationMs = integer(1, durationMsMax);
const anyFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === "function", {
  error: ({ input }) => `expected a function, got ${nameOfType(input)}`,
});
const objectWith = (...methods: readonly string[]) =>
  z.custom<object>((value) => hasMethods(value, methods), {
    error: ({ input }) => `expected an object with ${methods.join(", ")}, got ${nameOfType(input)}`,
  });

const keySource = z.custom<KeySource>(
  (value) => typeof value === "function" || (typeof value === "string" && isWritableKey(value)),
  {
    error: ({ input }) =>
      typeof input === "string"
        ? "expected a key without spaces or line ends, got one with them, or an empty one"
        : `expected a string or a function, got ${nameOfType(input)}`,
  },
);
const address = z.union([z.string(), z.instanceof(URL)], {
  error: ({ input }) => `expected a URL, got ${nameOfType(input)}`,
});

const rateLimitSchema = z.strictObject({
  requests: integer(1, 1_000_000).default(120),
  windowMs: durationMs.default(60_000),
  share: z
    .number({ error: ({ input }) => `expected a number above 0 and at most 1, got ${shown(input)}` })
    .refine((value) => value > 0 && value <= 1, {
      error: ({ input }) => `expected a number above 0 and at most 1, got ${shown(input)}`,
    })
    .default(1),
  maxQueued: integer(0, 1_000_000).default(1_000),
  maxWaitMs: integer(0, durationMsMax).default(600_000),
  store: objectWith("acquire", "release", "block").optional(),
});

const optionsSchema = z.strictObject(
  {
    apiKey: keySource.optional(),
    baseUrl: address,
    gatewayUrl: address.optional(),
    partnerApiKey: keySource.optional(),
    sourcePlatform: z
      .string({ error: ({ input }) => `expected a string, got ${nameOfType(input)}` })
      .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, {
        error: "expected visible ASCII characters, as in any HTTP header",
      })
      .optional(),
    timeoutMs: durationMs.default(15_000),
    deadlineMs: durationMs.optional(),
    maxRetries: integer(0, 20).default(3),
    responseBytesMax: integer(1, 2 ** 31).default(32 * 1024 * 1024),
    rateLimit: z
      .union([z.literal(false), rateLimitSchema], {
        error: ({ input }) =>
          typeof input === "object" && input !== null
            ? undefined
            : `expected false or an object, got ${nameOfType(input)}`,
      })
      .prefault({}),
    dangerouslyAllowBrowser: z.boolean().default(false),
    fetch: anyFunction.optional(),
    clock: objectWith("now", "monotonic", "schedule").optional(),
    random: anyFunction.optional(),
    logger: objectWith("debug", "info", "warn", "error").optional(),
  },
  { error: ({ input }) => (input === undefined ? "expected options, got nothing" : undefined) },
);

/** Checks the options of `createClient`. Throws `ConfigurationError`; its message never holds a key. */
export function resolveOptions(options: CreateClientOptions) {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw new ConfigurationError(`createClient: ${describeIssue(parsed.error)}`);
  const checked = parsed.data;
  if (checked.apiKey === undefined && checked.partnerApiKey === undefined) {
    throw new ConfigurationError("createClient: expected apiKey or partnerApiKey, got neither");
  }
  const { logger, clock, random, fetch } = options;
  return {
    ...checked,
    baseUrl: checkAddress("baseUrl", checked.baseUrl),
    gatewayUrl: checked.gatewayUrl === undefined ? undefined : checkAddress("gatewayUrl", checked.gatewayUrl),
    rateLimit: checked.rateLimit === false ? undefined : (checked.rateLimit as ResolvedRateLimit),
    // Looked up at each call, so that a fetch patched later (tracing, interception in tests) is used.
    fetch: fetch ?? (((input, init) => globalThis.fetch(input, init)) satisfies Fetch),
    clock: clock ?? systemClock,
    hasOwnClock: clock !== undefined,
    random: random ?? systemRandom,
    logger,
  };
}

/** Checks the options of one call. Throws `ARGUMENT_INVALID`. */
export function checkCallOptions(call: CallOptions): void {
  const { signal } = call;
  for (const name of ["timeoutMs", "deadlineMs"] as const) {
    const value = call[name];
    if (value === undefined || durationMs.safeParse(value).success) continue;
    throw invalidArgument(`${name}: expected an integer from 1 to ${durationMsMax}, got ${shown(value)}`);
  }
  if (signal === undefined) return;
  if (!hasMethods(signal, ["addEventListener", "removeEventListener"]) || !("aborted" in signal)) {
    throw invalidArgument(`signal: expected an AbortSignal, got ${nameOfType(signal)}`);
  }
}

/** True for a key that can be sent as it is; a line end at its end is the usual accident. */
export function isWritableKey(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key);
}

function checkAddress(name: string, value: string | URL): URL {
  const url = parseUrl(value);
  if (!url)
    throw new ConfigurationError(`createClient: ${name}: expected an absolute URL, got something else`);
  const problem = addressProblem(url);
  if (problem) throw new ConfigurationError(`createClient: ${name}: ${problem}`);
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url;
}

function parseUrl(value: string | URL): URL | undefined {
  try {
    return new URL(value);
  } catch {
    // The error's message quotes the value, which may hold a password.
    return undefined;
  }
}

function addressProblem(url: URL): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return `expected https, got ${url.protocol.slice(0, -1)}`;
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return "expected https, got http to a host that is not loopback: keys would travel readable";
  }
  if (url.username !== "" || url.password !== "") return "expected a URL without user and password";
  if (url.search !== "" || url.hash !== "") return "expected a URL without query and fragment";
  if (/\/graphql\/*$/.test(url.pathname)) return "expected the base address, got one that ends with /graphql";
  return undefined;
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return "expected valid options";
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    return `expected known options, got ${issue.keys.map((key) => [...issue.path, key].join(".")).join(", ")}`;
  }
  // Of a union the last member is the one a value was meant for.
  const nested = issue.code === "invalid_union" ? issue.errors.at(-1)?.[0] : undefined;
  if (nested && nested.path.length > 0) return `${path}.${nested.path.join(".")}: ${nested.message}`;
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

function invalidArgument(message: string): WorkspaceTasksError {
  return new WorkspaceTasksError("ARGUMENT_INVALID", message);
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return methods.every((method) => typeof Reflect.get(value, method) === "function");
}

function nameOfType(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
