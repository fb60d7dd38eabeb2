import { createVirtualClock, type VirtualClock } from "@workspace-tasks/mock-server";
import { CallScope } from "../../sdk/call/call-scope.ts";
import { failure } from "../../sdk/call/failure.ts";
import type { Engine } from "../../sdk/engine/engine.ts";
import { type CallMeta, createSend } from "../../sdk/engine/engine.ts";
import { type CallOptions, type ResolvedOptions, resolveOptions } from "../../sdk/options.ts";
import type { RateLimitSnapshot } from "../../sdk/rate-limit/rate-limiter.ts";

export interface FakeEngineOptions {
  /** The data of a response, by operation name. */
  respond?(name: string, variables: unknown, call: CallOptions): unknown;
  readonly rateLimit?: RateLimitSnapshot;
}

export interface FakeEngine extends Engine {
  readonly clock: VirtualClock;
  /** Every execution, in order. */
  readonly sent: { readonly name: string; readonly variables: unknown; readonly atMs: number }[];
  readonly tokens: { issued: number; invalidated: string[] };
}

export const fakeMeta: CallMeta = {
  attempts: 1,
  queuedMs: 0,
  httpStatus: 200,
  requestId: undefined,
  headers: {},
  extensions: undefined,
};

/** An engine without a policy: every operation is recorded and gets its response at once. */
export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const clock = createVirtualClock();
  const clientScope = new CallScope(clock);
  const sent: FakeEngine["sent"] = [];
  const tokens: FakeEngine["tokens"] = { issued: 1, invalidated: [] };
  const execute: Engine["execute"] = async (operation, variables, call = {}) => {
    const name = operation.name ?? "";
    sent.push({ name, variables, atMs: clock.monotonic() });
    const data = (await options.respond?.(name, variables, call)) as never;
    return { data, meta: () => fakeMeta };
  };
  return {
    clock,
    sent,
    tokens,
    execute,
    send: createSend(execute),
    openScope: (limits) => clientScope.child(limits),
    async workspaceToken() {
      const token = `token-${tokens.issued}`;
      return {
        token,
        replace() {
          tokens.invalidated.push(token);
          tokens.issued += 1;
          return true;
        },
      };
    },
    rateLimitSnapshot: () => options.rateLimit,
    async close() {
      clientScope.end(failure("CLIENT_CLOSED", "the client was closed"));
    },
  };
}

/** The options of a client without a network. */
export const clientOptionsOf = ({ clock }: FakeEngine): ResolvedOptions =>
  resolveOptions({
    baseUrl: "https://service.test/",
    fetch: () => Promise.reject(new TypeError("no network here")),
    clock,
    random: () => 0.5,
  });
