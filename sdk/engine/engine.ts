import { CallScope } from "../call/call-scope.ts";
import { createEmit } from "../call/diagnostics.ts";
import { Failed, type Failure, toError } from "../call/failure.ts";
import type { Operation, OperationFacts, Router } from "../call/operation.ts";
import { createRedactor } from "../call/redactor.ts";
import type { Clock, Random } from "../clock.ts";
import {
  type CallOptions,
  type CreateClientOptions,
  checkCallOptions,
  type ResolvedOptions,
  resolveOptions,
} from "../options.ts";
import type { RateLimitSnapshot } from "../rate-limit/rate-limiter.ts";
import { createAttemptSender } from "../request/attempt-sender.ts";
import type { Fetch } from "../request/transport.ts";
import { refuseBrowser } from "./refuse-browser.ts";
import { createRouters, type Routers } from "./routers.ts";
import { type Call, type CallMeta, metaOf, runCall } from "./run-call.ts";

export type { CallMeta } from "./run-call.ts";

/**
 * The parts put together: one engine per client. It lends each call its scope and keeps a list of those under way, so
 * that `close` can wait for them.
 */
export interface ResultWithMeta<Result> {
  readonly data: Result;
  readonly meta: CallMeta;
}

export interface WorkspaceToken {
  readonly token: string;
  /** Says that the service refused this token. Harmless when a newer one is already in use. */
  invalidate(): void;
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
  ): Promise<ResultWithMeta<Result>>;
  /** A token for things outside GraphQL, such as uploads. Not paced: uploads are not counted. @see interface §8 */
  workspaceToken(call?: CallOptions): Promise<WorkspaceToken>;
  /** Undefined before the first call has resolved the key, and without pacing. */
  rateLimitSnapshot(router?: Router): RateLimitSnapshot | undefined;
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

/** @throws ConfigurationError when the options can never work. */
export function createEngine(options: CreateClientOptions): Engine {
  const resolved = resolveOptions(options);
  refuseBrowser(resolved.dangerouslyAllowBrowser);
  const redactor = createRedactor();
  const attempt = createAttemptSender({ ...resolved, redactor });
  const emit = createEmit(resolved.logger);
  const life = new CallScope({ clock: resolved.clock });
  const identities = createRouters({ options: resolved, attempt, redactor, emit, life });
  const calls = new Map<Call, Promise<unknown>>();
  let callId = 0;

  async function executeWithMeta<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: Variables,
    options: CallOptions = {},
  ): Promise<ResultWithMeta<Result>> {
    checkCallOptions(options);
    if (life.failure) throw toError(life.failure, { attempts: 0, operationName: operation.name });
    const call = beginCall(resolved, operation, variables, options, callId++);
    const run = runCall(call, { options: resolved, attempt, emit, identities, life });
    calls.set(call, run);
    try {
      // The type of the result is the document's; unknown values in it are let through on purpose.
      return { data: (await run) as Result, meta: metaOf(call) };
    } finally {
      calls.delete(call);
    }
  }

  return {
    executeWithMeta,
    execute: async (operation, variables, options) =>
      (await executeWithMeta(operation, variables, options)).data,
    workspaceToken: (options) => workspaceToken(resolved, identities, life, options),
    rateLimitSnapshot: (router = "base") => identities.snapshot(router),
    redact: redactor.text,
    baseUrl: resolved.baseUrl,
    gatewayUrl: resolved.gatewayUrl,
    fetch: resolved.fetch,
    clock: resolved.clock,
    random: resolved.random,
    timeoutMs: resolved.timeoutMs,
    maxRetries: resolved.maxRetries,
    async close() {
      life.end(closed);
      // What is on its way is left to finish: ending it would make its outcome unknown.
      for (const call of calls.keys()) if (!call.sending) call.scope.end(closed);
      await Promise.allSettled(calls.values());
      await identities.close();
    },
  };
}

const closed: Failure = {
  code: "CLIENT_CLOSED",
  message: "the client was closed",
  outcome: "not_sent",
  remedy: "none",
};

function beginCall(
  resolved: ResolvedOptions,
  operation: OperationFacts,
  variables: unknown,
  options: CallOptions,
  callId: number,
): Call {
  const { clock } = resolved;
  const { name: operationName, kind, router } = operation;
  return {
    operation,
    variables,
    timeoutMs: options.timeoutMs ?? resolved.timeoutMs,
    scope: openScope(resolved, options),
    event: { callId, operationName, kind, router },
    startedAtMs: clock.monotonic(),
    place: undefined,
    sending: false,
    attempts: 0,
    retries: 0,
    hadFreshToken: false,
    queuedMs: 0,
    retryAfterSeenMs: undefined,
    outcome: "not_sent",
  };
}

function openScope({ clock, deadlineMs }: ResolvedOptions, options: CallOptions): CallScope {
  const limitMs = options.deadlineMs ?? deadlineMs;
  return new CallScope({ clock, signal: options.signal, limitMs });
}

async function workspaceToken(
  resolved: ResolvedOptions,
  identities: Routers,
  life: CallScope,
  options: CallOptions = {},
): Promise<WorkspaceToken> {
  checkCallOptions(options);
  const scope = openScope(resolved, options);
  const off = life.onEnd((failure) => scope.end(failure));
  try {
    const { credentials } = identities.of("base");
    const { token } = await scope.race(credentials.get());
    return { token, invalidate: () => credentials.invalidate(token) };
  } catch (error) {
    throw error instanceof Failed ? toError(error.failure, { attempts: 0 }) : error;
  } finally {
    off();
    scope.dispose();
  }
}
