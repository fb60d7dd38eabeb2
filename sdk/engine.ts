import type { Clock, Random } from "./clock.ts";
import type { Operation } from "./operation.ts";
import type { CallOptions, CreateClientOptions, Fetch } from "./options.ts";

/** What happened on the way to a result. */
export interface CallMeta {
  /** Requests sent for this call; token exchanges do not count. */
  readonly attempts: number;
  /** Time spent waiting for the allowance. */
  readonly queuedMs: number;
  /** The longest `Retry-After` the service sent during this call. */
  readonly retryAfterSeenMs: number | undefined;
}

export interface Executed<Result> {
  readonly data: Result;
  readonly meta: CallMeta;
}

export interface WorkspaceToken {
  readonly token: string;
  /** Says that the service refused this token. Harmless when a newer one is already in use. */
  invalidate(): void;
}

/** A look at the allowance of one key. */
export interface RateLimitSnapshot {
  readonly limit: number;
  readonly windowMs: number;
  /** Slots that are taken: under way, or answered less than a window ago. */
  readonly used: number;
  readonly available: number;
  readonly queued: number;
  /** When the next call could be sent; 0 when at once. */
  readonly nextSlotInMs: number;
}

export interface Engine {
  /** Sends an operation; token, pacing, retries, timeout and deadline applied. */
  execute<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: Variables,
    call?: CallOptions,
  ): Promise<Result>;
  /** The same, with what happened on the way. */
  executeWithMeta<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: Variables,
    call?: CallOptions,
  ): Promise<Executed<Result>>;
  /** A token for things outside GraphQL, such as uploads. Not paced: uploads are not counted. @see interface §8 */
  workspaceToken(call?: CallOptions): Promise<WorkspaceToken>;
  /** Undefined before the first call has resolved the key, and without pacing. */
  rateLimitSnapshot(router?: "base" | "gateway"): RateLimitSnapshot | undefined;
  /** Takes keys, tokens and signing secrets out of a text that somebody may print. */
  redact(text: string): string;
  readonly baseUrl: URL;
  readonly gatewayUrl: URL | undefined;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** Refuses new calls, ends waiting ones with `CLIENT_CLOSED`, resolves when those under way have settled. */
  close(): Promise<void>;
}

export declare function createEngine(options: CreateClientOptions): Engine;
