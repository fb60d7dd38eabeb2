import type { Logger } from "./call/diagnostics.ts";
import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";
import { type ApiKeySource, isWritableKey } from "./credentials/key-exchange.ts";
import { ConfigurationError, WorkspaceTasksError } from "./errors.ts";
import type { RateLimitSettings } from "./rate-limit/limiter-registry.ts";
import type { RateLimitStore } from "./rate-limit/rate-limit-store.ts";
import type { Fetch } from "./request/transport.ts";
import { isLoopback } from "./validation/loopback.ts";
import {
  abortSignal,
  type Check,
  check,
  durationMs,
  durationMsMax,
  flag,
  functionOf,
  integer,
  kindOf,
  numberSuch,
  objectWith,
  only,
  optional,
  textSuch,
  ValidationError,
  withDefault,
} from "./validation/schema.ts";

export interface RateLimitOptions {
  /** Requests the service accepts in one window. Default 120. @see interface §8 */
  readonly requests?: number | undefined;
  /** Length of the window. Default 60,000 ms. */
  readonly windowMs?: number | undefined;
  /** Part of the allowance this process may use, above 0 and at most 1. Default 1. */
  readonly share?: number | undefined;
  /** Calls that may wait at once; the next one fails with `RATE_LIMIT_QUEUE_FULL`. Default 1,000. */
  readonly maxQueued?: number | undefined;
  /** Longest time one call waits for the allowance in all. Default 600,000 ms, the time `maxQueued` calls need. */
  readonly maxWaitMs?: number | undefined;
  /** Lets several processes share one allowance. Default: none, the processes do not know of each other. */
  readonly store?: RateLimitStore | undefined;
}

export interface CreateClientOptions {
  /** The workspace's API key. Needed for everything but the catalog and partner-only clients. */
  readonly apiKey?: ApiKeySource | undefined;
  /** The interface's `{base_url}`. HTTPS, or HTTP to a loopback host. */
  readonly baseUrl: string | URL;
  /** The interface's `{gateway_url}`. Partner calls without it fail with `CONFIGURATION_INVALID`. */
  readonly gatewayUrl?: string | URL | undefined;
  /** When set, gateway calls use a token of this key. Beyond the interface. */
  readonly partnerApiKey?: ApiKeySource | undefined;
  /** Sent as `source-platform` on gateway calls. */
  readonly sourcePlatform?: string | undefined;
  /** Limit for one attempt, body included. Default 15,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Limit for a whole call: queue, token, retries and body. Default: none but the sum of the other limits. */
  readonly deadlineMs?: number | undefined;
  /** Repeats after a failure, of what is safe to repeat. Waiting for the allowance does not count. Default 3. */
  readonly maxRetries?: number | undefined;
  /** Largest answer that is read. Default 32 MiB. */
  readonly responseBytesMax?: number | undefined;
  /** `false` sends without pacing. */
  readonly rateLimit?: RateLimitOptions | false | undefined;
  /** Allows use in a browser, where every visitor can read the key. Default false. */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
  readonly fetch?: Fetch | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** Silent by default. */
  readonly logger?: Logger | undefined;
}

/** Options every call takes. */
export interface CallOptions {
  /** Ends the call wherever it is. */
  readonly signal?: AbortSignal | undefined;
  /** Limit for one attempt of this call, body included. */
  readonly timeoutMs?: number | undefined;
  /** Limit for this call: queue, token, retries and body. */
  readonly deadlineMs?: number | undefined;
}

/** Options with every default filled in; the URLs are base addresses without a slash at the end. */
export type ResolvedOptions = ReturnType<typeof resolveOptions>;

const share = numberSuch("a number above 0 and at most 1", (value) => value > 0 && value <= 1);
const headerValue = textSuch(
  "visible ASCII characters, as in any HTTP header",
  (value) => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value),
  "others, or none",
);

const rateLimit = only({
  requests: withDefault(integer(1, 1_000_000), 120),
  windowMs: withDefault(durationMs, 60_000),
  share: withDefault(share, 1),
  maxQueued: withDefault(integer(0, 1_000_000), 1_000),
  maxWaitMs: withDefault(integer(0, durationMsMax), 600_000),
  store: optional(objectWith<RateLimitStore>("acquire", "release", "block")),
});

const clientOptions = only({
  apiKey: optional(keySource),
  baseUrl: address,
  gatewayUrl: optional(address),
  partnerApiKey: optional(keySource),
  sourcePlatform: optional(headerValue),
  timeoutMs: withDefault(durationMs, 15_000),
  deadlineMs: optional(durationMs),
  maxRetries: withDefault(integer(0, 20), 3),
  responseBytesMax: withDefault(integer(1, 2 ** 31), 32 * 1024 * 1024),
  rateLimit: withDefault(rateLimitOrNone, {}),
  dangerouslyAllowBrowser: withDefault(flag, false),
  fetch: optional(functionOf<Fetch>()),
  clock: optional(objectWith<Clock>("now", "monotonic", "schedule")),
  random: optional(functionOf<Random>()),
  logger: optional(objectWith<Logger>("debug", "info", "warn", "error")),
});

/** Checks the options of `createClient`. Throws `ConfigurationError`; its message never holds a key. */
export function resolveOptions(options: CreateClientOptions) {
  const checked = check(
    clientOptions,
    options,
    ({ message }) => new ConfigurationError(`createClient: ${message}`),
  );
  if (checked.apiKey === undefined && checked.partnerApiKey === undefined) {
    throw new ConfigurationError("createClient: expected apiKey or partnerApiKey, got neither");
  }
  return {
    ...checked,
    // Looked up at each call, so that a fetch patched later (tracing, interception in tests) is used.
    fetch: checked.fetch ?? (((input, init) => globalThis.fetch(input, init)) satisfies Fetch),
    clock: checked.clock ?? systemClock,
    hasOwnClock: checked.clock !== undefined,
    random: checked.random ?? systemRandom,
  };
}

/** Checks the options of one call. Throws `ARGUMENT_INVALID`. */
export function checkCallOptions({ timeoutMs, deadlineMs, signal }: CallOptions): void {
  if (timeoutMs !== undefined) checkArgument("timeoutMs", durationMs, timeoutMs);
  if (deadlineMs !== undefined) checkArgument("deadlineMs", durationMs, deadlineMs);
  if (signal !== undefined) checkArgument("signal", abortSignal, signal);
}

function checkArgument(name: string, by: Check<unknown>, value: unknown): void {
  check(by, value, ({ message }) => new WorkspaceTasksError("ARGUMENT_INVALID", `${name}: ${message}`));
}

function keySource(value: unknown, path: string): ApiKeySource {
  if (typeof value === "function") return value as ApiKeySource;
  if (typeof value !== "string")
    throw new ValidationError(path, `expected a string or a function, got ${kindOf(value)}`);
  if (isWritableKey(value)) return value;
  throw new ValidationError(
    path,
    "expected a key without spaces or line ends, got one with them, or an empty one",
  );
}

function rateLimitOrNone(value: unknown, path: string): RateLimitSettings | undefined {
  if (value === false) return undefined;
  if (typeof value === "object" && value !== null) return rateLimit(value, path);
  throw new ValidationError(path, `expected false or an object, got ${kindOf(value)}`);
}

function address(value: unknown, path: string): URL {
  if (typeof value !== "string" && !(value instanceof URL)) {
    throw new ValidationError(path, `expected a URL, got ${kindOf(value)}`);
  }
  const url = parseUrl(value);
  if (!url) throw new ValidationError(path, "expected an absolute URL, got something else");
  const problem = addressProblem(url);
  if (problem) throw new ValidationError(path, problem);
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
