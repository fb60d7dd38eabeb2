import type { RateLimitStore } from "./allowance/rate-limit-store.ts";
import type { Clock, Random } from "./clock.ts";

/** A key, or a function that is asked for it at every exchange, so that a rotated key is picked up. */
export type KeySource = string | (() => string | Promise<string>);

/** The subset of pino's shape the SDK writes to. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

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
  readonly apiKey?: KeySource | undefined;
  /** The interface's `{base_url}`. HTTPS, or HTTP to a loopback host. */
  readonly baseUrl: string | URL;
  /** The interface's `{gateway_url}`. Partner calls without it fail with `CONFIGURATION_INVALID`. */
  readonly gatewayUrl?: string | URL | undefined;
  /** When set, gateway calls use a token of this key. Beyond the interface. */
  readonly partnerApiKey?: KeySource | undefined;
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

export type Fetch = (input: URL | string, init?: RequestInit) => Promise<Response>;
