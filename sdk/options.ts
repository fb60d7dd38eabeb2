// The options of a client and of a call: their documentation, their checks and all their defaults.

import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { withoutBrackets } from "@workspace-tasks/kernel/host.ts";
import { type Random, systemRandom } from "@workspace-tasks/kernel/random.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import type { Logger } from "./call/diagnostics.ts";
import { createRedactor } from "./call/redactor.ts";
import { type ApiKeySource, isSendableKey } from "./credentials/credentials.ts";
import { WorkspaceTasksError } from "./errors.ts";
import type { RateLimitSettings } from "./rate-limit/rate-limiter.ts";
import { type Priority, priorities } from "./rate-limit/rate-limiter.ts";
import type { RateLimitStore } from "./rate-limit/shared-permits.ts";
import type { Fetch, FetchInit } from "./request/fetch.ts";
import {
  checkInput,
  hostName,
  isQuoted,
  isSecure,
  quotesHint,
  requestHeaders,
  serviceUrl,
  userAgent,
  visibleAscii,
} from "./validation.ts";

export interface RateLimitOptions {
  /** Requests per window: those that the service accepts, or a part of them. Default 120. @see interface §8 */
  readonly requests?: number | undefined;
  /** Length of the window. Default 60,000 ms. */
  readonly windowMs?: number | undefined;
  /** Calls that may wait before another; with more it fails with `RATE_LIMIT_QUEUE_FULL`. Default 1,000. */
  readonly maxQueued?: number | undefined;
  /**
   * Lets several processes or worker threads share one limit. Default: none, each thread assumes that it is alone.
   */
  readonly store?: RateLimitStore | undefined;
}

export interface CreateClientOptions {
  /** The workspace's API key. Without it, calls that need it fail with `CONFIGURATION_INVALID`; the event catalog does not. */
  readonly apiKey?: ApiKeySource | undefined;
  /** The interface's `{base_url}`. HTTPS, or HTTP to a loopback host or one of `httpHostsAllowed`. */
  readonly baseUrl: string | URL;
  /** The interface's `{gateway_url}`. Without it partner calls fail with `CONFIGURATION_INVALID`. */
  readonly gatewayUrl?: string | URL | undefined;
  /** When set, gateway calls use a token of this key. Beyond the interface. */
  readonly partnerApiKey?: ApiKeySource | undefined;
  /** Sent as `source-platform` on gateway calls. */
  readonly sourcePlatform?: string | undefined;
  /** Limit for one attempt, body included. Default 15,000 ms, for a request of an upload 120,000 ms. */
  readonly timeoutMs?: number | undefined;
  /**
   * Limit for a whole call: queue, token, retries and body; also for `uploads.upload` and `tasks.waitFor`. Default
   * 120,000 ms, for `background` calls 900,000 ms, for uploads and waits 3,600,000 ms.
   */
  readonly deadlineMs?: number | undefined;
  /** Which calls are sent first when the rate limit is used up. Default `normal`. */
  readonly priority?: Priority | undefined;
  /** Retries of what is safe to repeat. Waiting for the rate limit does not count. Default 3. */
  readonly maxRetries?: number | undefined;
  /** Largest response body that is read. Default 32 MiB. */
  readonly maxResponseBytes?: number | undefined;
  /**
   * Sent with every request besides the client's own headers, for example `traceparent`. It sets `authorization`,
   * `content-type` and those of the connection itself. A `user-agent`, such as `acme-portal/4.2`, follows that of the SDK.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `false` switches the client's own rate limiting off. */
  readonly rateLimit?: RateLimitOptions | false | undefined;
  /**
   * Hosts besides the loopback ones that may have HTTP URLs, as in `["mock"]` or `["fd00::2"]`: a mock in another
   * container. Others on the network can read the keys. Default: none.
   */
  readonly httpHostsAllowed?: readonly string[] | undefined;
  /** Allows use in a browser, where every visitor can read the key. Default false. */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
  /** That of undici fits too. Default: the global `fetch`, looked up at each request. */
  readonly fetch?: Fetch | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /** Default: `Math.random`. What is no number from 0 to below 1 counts as 0.5. */
  readonly random?: Random | undefined;
  /** Default: none. */
  readonly logger?: Logger | undefined;
}

/** Options of every call. Those that a client has too are the client's by default; headers are sent besides the client's. */
export interface CallOptions
  extends Pick<CreateClientOptions, "timeoutMs" | "deadlineMs" | "priority" | "maxRetries" | "headers"> {
  /** Ends the call, whatever it is waiting for. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the call may be sent again when it is unknown whether it took effect. Default: true for queries and for
   * operations that are documented as idempotent.
   */
  readonly idempotent?: boolean | undefined;
}

/** Awaited when a request is about to leave, after everything that it waits for; its failure is that of the call. */
export const beforeSend: unique symbol = Symbol("beforeSend");

/** What calls that the client makes for itself can have, too. */
export interface OwnCallOptions extends CallOptions {
  readonly [beforeSend]?: (() => Promise<void>) | undefined;
}

/** The default of `maxQueued` calls are sent within this time. */
export const backgroundDeadlineMs = 900_000;

/** The limit of a whole call. */
export function deadlineMsOf(
  call: CallOptions,
  client: Pick<ResolvedOptions, "deadlineMs" | "priority">,
): number {
  const byPriority = (call.priority ?? client.priority) === "background" ? backgroundDeadlineMs : 120_000;
  return call.deadlineMs ?? client.deadlineMs ?? byPriority;
}

/** Client options with defaults, and what the client's parts share. */
export type ResolvedOptions = ReturnType<typeof resolveOptions>;

const retries = s.integerBetween(0, 20);
const limits = { timeoutMs: s.optional(s.durationMs), deadlineMs: s.optional(s.durationMs) };

const rateLimitSettings = s.strictObject({
  requests: s.withDefault(s.integerBetween(1, 1_000_000), 120),
  windowMs: s.withDefault(s.durationMs, 60_000),
  maxQueued: s.withDefault(s.integerBetween(0, 1_000_000), 1_000),
  store: s.optional(s.objectWith<RateLimitStore>("a store with acquire and block", "acquire", "block")),
});

const clientOptions = s.strictObject({
  apiKey: s.optional(apiKeySource),
  baseUrl: serviceUrl,
  gatewayUrl: s.optional(serviceUrl),
  partnerApiKey: s.optional(apiKeySource),
  sourcePlatform: s.optional(visibleAscii),
  ...limits,
  priority: s.withDefault(s.oneOf(...priorities), "normal"),
  maxRetries: s.withDefault(retries, 3),
  maxResponseBytes: s.withDefault(s.integerBetween(1, 2 ** 31), 32 * 1024 * 1024),
  headers: s.withDefault(requestHeaders, {}),
  rateLimit: s.withDefault(rateLimitOrFalse, {}),
  httpHostsAllowed: s.withDefault(s.array(hostName), []),
  dangerouslyAllowBrowser: s.withDefault(s.boolean, false),
  // Looked up at each request, so that a global patched later (tracing, interception in tests) is used.
  fetch: s.withDefault(s.functionOf<Fetch>(), (url: URL | string, init: FetchInit) =>
    globalThis.fetch(url, init),
  ),
  clock: s.optional(s.clock),
  random: s.withDefault(s.functionOf<Random>(), systemRandom),
  logger: s.optional(
    s.objectWith<Logger>("a logger with debug, info, warn and error", "debug", "info", "warn", "error"),
  ),
});

/** What the names of other SDKs are called here. */
export const callHints = {
  idempotencyKey: "the service knows none; it rejects an input whose externalId was used before",
  timeout: "did you mean timeoutMs?",
};

/** The checks of `CallOptions`. */
export const callOptions = {
  ...limits,
  signal: s.optional(s.abortSignal),
  priority: s.optional(s.oneOf(...priorities)),
  maxRetries: s.optional(retries),
  idempotent: s.optional(s.boolean),
  headers: s.optional(requestHeaders),
};

const callInput = s.strictObject(callOptions, callHints);

/** Checks the options of a call. Throws `ARGUMENT_INVALID`. */
export function checkCallOptions(operationName: string, options: CallOptions): CallOptions {
  return checkInput(operationName, callInput, options);
}

/** Checks the options of `createClient`. Throws `CONFIGURATION_INVALID`; its message never contains a key. */
export function resolveOptions(options: CreateClientOptions) {
  const checked = s.parse(clientOptions, options, ({ message }) => invalid(message));
  if (checked.apiKey === undefined && checked.partnerApiKey === undefined) {
    // Without both names the client is one for the event catalog.
    const given = (["apiKey", "partnerApiKey"] as const).filter((name) => Object.hasOwn(options, name));
    if (given.length > 0) {
      const got = `${given.join(" and ")} undefined; is the environment variable set?`;
      throw invalid(`expected apiKey or partnerApiKey, got ${got}`);
    }
  }
  for (const name of ["baseUrl", "gatewayUrl"] as const) {
    const url = checked[name];
    if (url && !isSecure(url, checked.httpHostsAllowed)) throw invalid(insecure(name, url));
  }
  return {
    ...checked,
    timeoutMs: checked.timeoutMs ?? 15_000,
    // A chunk takes longer than a call, and an upload or a wait than all attempts of one.
    uploadTimeoutMs: checked.timeoutMs ?? 120_000,
    longDeadlineMs: checked.deadlineMs ?? 3_600_000,
    headers: { "user-agent": userAgent, ...checked.headers },
    clock: checked.clock ?? systemClock,
    random: () => randomFrom(checked.random),
    customClock: checked.clock !== undefined,
    redactor: createRedactor(),
  };
}

const invalid = (message: string) =>
  new WorkspaceTasksError("CONFIGURATION_INVALID", `createClient: ${message}`);

/** A pause of NaN milliseconds would be none. */
function randomFrom(random: Random): number {
  try {
    const value = random();
    return value >= 0 && value < 1 ? Number(value) : 0.5;
  } catch {
    return 0.5;
  }
}

const insecure = (name: string, { hostname }: URL) =>
  `${name}: expected https, got http to ${hostname}, which is not loopback: keys would travel readable; for a mock in another container set httpHostsAllowed: ["${withoutBrackets(hostname)}"]`;

function apiKeySource(value: unknown, path: string): ApiKeySource {
  if (typeof value === "function") return value as ApiKeySource;
  if (typeof value !== "string") {
    throw new s.ValidationError(path, `expected a string or a function, got ${s.kindOf(value)}`);
  }
  if (value === "")
    throw new s.ValidationError(
      path,
      "expected a key, got an empty string; is the environment variable set?",
    );
  if (isQuoted(value)) throw new s.ValidationError(path, `the key ${quotesHint}`);
  if (isSendableKey(value)) return value;
  throw new s.ValidationError(path, "expected a key without spaces or line ends, got one with them");
}

function rateLimitOrFalse(value: unknown, path: string): RateLimitSettings | undefined {
  if (value === false) return undefined;
  if (typeof value === "object" && value !== null) return rateLimitSettings(value, path);
  throw new s.ValidationError(path, `expected false or an object, got ${s.kindOf(value)}`);
}
