import { CallScope, type ScopeLimits } from "../call/call-scope.ts";
import { createEmit } from "../call/diagnostics.ts";
import { failure, toError } from "../call/failure.ts";
import type { Operation, Router } from "../call/operation.ts";
import { deadlineMsOf, type OwnCallOptions, type ResolvedOptions } from "../options.ts";
import type { RateLimitSnapshot } from "../rate-limit/rate-limiter.ts";
import { createAttemptSender } from "../request/transport.ts";
import { CallRecord, createRoutes, createSend, type Execute, type Send, type SettledCall } from "./call.ts";

export interface WorkspaceToken {
  readonly token: string;
  /** The service rejected this token. Returns whether the request should be sent again. */
  replace(): boolean;
}

/** Runs the calls of one client, and ends everything that the client waits for when it closes. */
export interface Engine {
  readonly execute: Execute;
  readonly send: Send;
  /** A scope that ends with `CLIENT_CLOSED` when the client closes. */
  openScope(limits?: ScopeLimits): CallScope;
  /** A token for requests outside GraphQL, such as uploads, which are not counted (interface §8). */
  workspaceToken(scope: CallScope): Promise<WorkspaceToken>;
  /** Undefined before the first call has resolved the key, and without rate limiting. */
  rateLimitSnapshot(router?: Router): RateLimitSnapshot | undefined;
  /** Rejects new calls, ends waiting ones, and resolves when those in flight have settled, after `timeoutMs` at most. */
  close(): Promise<void>;
}

export function createEngine(options: ResolvedOptions): Engine {
  const { clock, timeoutMs } = options;
  const sendAttempt = createAttemptSender(options);
  const emit = createEmit(options.logger);
  const clientScope = new CallScope(clock);
  const { routeOf, snapshot } = createRoutes({ options, sendAttempt, emit, clientScope });
  const parts = { options, sendAttempt, emit, clientScope, routeOf };
  const calls = new Map<CallScope, Promise<unknown>>();
  let callId = 0;

  function execute<Data, Variables>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    call: OwnCallOptions = {},
  ): Promise<SettledCall<Data>> {
    if (clientScope.failure) return Promise.reject(toError(clientScope.failure, { attempts: 0, operation }));
    const scope = new CallScope(clock, { signal: call.signal, limitMs: deadlineMsOf(call, options) });
    const onSettled = () => calls.delete(scope);
    const request = { operation, variables, call, scope, callId: callId++, onSettled };
    // The type of the data is the document's; the response is not checked against it on purpose.
    const run = new CallRecord(request, parts).run() as Promise<SettledCall<Data>>;
    calls.set(scope, run);
    return run;
  }

  return {
    execute,
    send: createSend(execute),
    openScope: (limits) => clientScope.child(limits),
    async workspaceToken(scope) {
      const { credentials } = routeOf("base").access();
      const limitMs = deadlineMsOf({}, options);
      const credential = await scope.within({ limitMs }, (limited) => credentials.get(limited));
      return { token: credential.token, replace: () => credentials.reject(credential, false) };
    },
    rateLimitSnapshot: (router = "base") => snapshot(router),
    async close() {
      const closed = failure("CLIENT_CLOSED", "the client was closed");
      clientScope.end(closed);
      // A call may have a longer limit than the client.
      const cancel = clock.schedule(timeoutMs, () => {
        for (const scope of calls.keys()) scope.end(closed);
      });
      await Promise.allSettled(calls.values());
      cancel();
    },
  };
}
