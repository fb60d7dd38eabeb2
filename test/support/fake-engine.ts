import { createVirtualClock, type VirtualClock } from "../../mock-server/time/virtual-clock.ts";
import type { Engine } from "../../sdk/engine/engine.ts";
import type { CallOptions } from "../../sdk/options.ts";
import type { RateLimitSnapshot } from "../../sdk/rate-limit/rate-limiter.ts";

export interface FakeEngineOptions {
  /** Answers an operation by its name. */
  answer?(name: string, variables: unknown, call: CallOptions): unknown;
  readonly fetch?: Engine["fetch"];
  readonly allowance?: RateLimitSnapshot;
}

export interface FakeEngine extends Engine {
  readonly clock: VirtualClock;
  /** Every execution, in order. */
  readonly sent: { readonly name: string; readonly variables: unknown; readonly atMs: number }[];
  readonly tokens: { issued: number; invalidated: string[] };
}

/** Stands where the engine stands, without a policy: what it is asked to do is recorded and answered at once. */
export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const clock = createVirtualClock();
  const sent: FakeEngine["sent"] = [];
  const tokens: FakeEngine["tokens"] = { issued: 1, invalidated: [] };
  const executeWithMeta: Engine["executeWithMeta"] = async (operation, variables, call = {}) => {
    const name = operation.name ?? "";
    sent.push({ name, variables, atMs: clock.monotonic() });
    const data = (await options.answer?.(name, variables, call)) as never;
    return { data, meta: { attempts: 1, queuedMs: 0, retryAfterSeenMs: undefined } };
  };
  return {
    clock,
    sent,
    tokens,
    executeWithMeta,
    execute: async (...call) => (await executeWithMeta(...call)).data,
    async workspaceToken() {
      const token = `token-${tokens.issued}`;
      return {
        token,
        invalidate() {
          tokens.invalidated.push(token);
          tokens.issued += 1;
        },
      };
    },
    rateLimitSnapshot: () => options.allowance,
    redact: (text) => text,
    baseUrl: new URL("https://service.test/"),
    gatewayUrl: new URL("https://service.test/gateway/"),
    fetch: options.fetch ?? (() => Promise.reject(new TypeError("no network here"))),
    random: () => 0.5,
    timeoutMs: 15_000,
    maxRetries: 3,
    async close() {},
  };
}

/** Twice the promise: what became of it, without an unhandled rejection. */
export function outcomeOf<Value>(promise: Promise<Value>): Promise<Value | Error> {
  return promise.catch((error: Error) => error);
}
