import type { CallScope } from "../call/call-scope.ts";
import type { CallEvent, Emit } from "../call/diagnostics.ts";
import { type Failure, FailureError, toError } from "../call/failure.ts";
import type { UntypedOperation } from "../call/operation.ts";
import type { Credential } from "../credentials/credentials.ts";
import type { Outcome } from "../errors.ts";
import { beforeSend, type OwnCallOptions } from "../options.ts";
import type { Permit, Priority, QueueEntry, RateLimiter } from "../rate-limit/rate-limiter.ts";
import type { ResponseHead } from "../request/fetch.ts";
import { readHeaders, readResponseDetails, requestIdOf } from "../request/response-details.ts";
import { decideRetry, type RetryDecision } from "../request/retry-policy.ts";
import type { AttemptResult } from "../request/transport.ts";
import type { CallMeta, SettledCall } from "./call.ts";
import type { Route, Routers, RoutersOptions } from "./routers.ts";

// The course of one call:
//
//   start ──► token ──► permit ──► request ──► end
//               ▲                     │ failed
//               └───────retry─────────┤   repeat after a delay, with a fresh token, or after the rate limit
//                                     └─► end, as an error
//
// The permit is acquired after the token, so no slot is held during a token exchange. The token is checked again after
// queueing: it may expire while the call waits.

export interface CallRequest {
  readonly operation: UntypedOperation;
  readonly variables: unknown;
  readonly call: OwnCallOptions;
  readonly priority: Priority;
  /** Disposed of when the call has settled. */
  readonly scope: CallScope;
  readonly callId: number;
  readonly onSettled: () => void;
}

export interface CallDependencies extends RoutersOptions {
  readonly routers: Routers;
}

/** Resolves to the response's data. Rejects with a `WorkspaceTasksError`. */
export function runCall(request: CallRequest, dependencies: CallDependencies): Promise<SettledCall<unknown>> {
  return new CallRecord(request, dependencies).run();
}

/** With what a request is sent; empty for an operation that needs no token. */
interface Authorization {
  readonly credential?: Credential | undefined;
  readonly permit?: Permit | undefined;
}

class CallRecord {
  readonly #request: CallRequest;
  readonly #dependencies: CallDependencies;
  readonly #event: CallEvent;
  readonly #startedAtMs: number;
  /** The call waits for a token, whose exchange is repeated where that helps. */
  #isExchanging = false;
  /** The call's position in the queue of a limiter, kept when the service rejects the request. */
  #queued: { readonly limiter: RateLimiter; readonly entry: QueueEntry } | undefined;
  #isSending = false;
  #response: ResponseHead | undefined;
  #attempts = 0;
  #queuedMs = 0;
  #retries = 0;
  #wasTokenRejected = false;
  /** The least certain outcome of the attempts so far. */
  #outcome: Outcome = "not_sent";

  constructor(request: CallRequest, dependencies: CallDependencies) {
    const { name: operationName, kind, router } = request.operation;
    this.#request = request;
    this.#dependencies = dependencies;
    this.#event = { callId: request.callId, operationName, kind, router };
    this.#startedAtMs = dependencies.options.clock.monotonic();
  }

  async run(): Promise<SettledCall<unknown>> {
    const { operation, scope, onSettled } = this.#request;
    // A request in flight is allowed to finish: ending it would make its outcome unknown.
    const off = this.#dependencies.clientScope.onEnd((failure) => {
      if (!this.#isSending) scope.end(failure);
    });
    this.#emit("workspace-tasks:call:start", () => this.#event);
    try {
      const data = await this.#sendUntilSettled();
      this.#emitEnd(undefined);
      return { data, meta: () => this.#describe() };
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      const { failure } = error;
      this.#emitEnd(failure);
      const outcome = lessCertain(this.#outcome, failure.outcome);
      const { redactor } = this.#dependencies;
      throw toError({ ...failure, outcome }, { attempts: this.#attempts, operation, redactor });
    } finally {
      off();
      scope.dispose();
      onSettled();
    }
  }

  async #sendUntilSettled(): Promise<unknown> {
    const route = this.#dependencies.routers.route(this.#request.operation.router);
    for (;;) {
      let authorization: Authorization = {};
      let failure: Failure;
      try {
        authorization = await this.#authorize(route);
        const { call } = this.#request;
        if (call[beforeSend]) await this.#prepare(call[beforeSend], authorization);
        const result = await this.#send(route, authorization);
        if (!result.failure) {
          if (authorization.credential) authorization.credential.isAccepted = true;
          return result.data;
        }
        failure = result.failure;
        const { dataWhenGone } = this.#request.operation;
        if (failure.code === "NOT_FOUND" && this.#outcome === "unknown" && dataWhenGone) return dataWhenGone;
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        failure = error.failure;
      }
      await this.#retryOrFail(route, failure, authorization);
    }
  }

  /** Waits for the token and a slot. */
  async #authorize(route: Route): Promise<Authorization> {
    const { operation, priority, scope } = this.#request;
    if (scope.failure) throw new FailureError(scope.failure);
    if (!operation.authenticated) return {};
    const maxQueued = this.#dependencies.options.rateLimit?.maxQueued ?? Number.POSITIVE_INFINITY;
    const { credentials, limiter: limiterOf } = route.access();
    for (;;) {
      this.#isExchanging = true;
      const credential = credentials.current() ?? (await credentials.get(scope));
      this.#isExchanging = false;
      const limiter = limiterOf(credential.keyHash);
      if (!limiter) return { credential };
      if (this.#queued?.limiter !== limiter) this.#queued = { limiter, entry: limiter.enter(priority) };
      const permit = limiter.tryAcquire();
      if (permit) return { credential, permit };
      const acquired = limiter.acquire(this.#queued.entry, maxQueued, scope);
      const queued = await acquired.finally(credentials.keepFresh());
      this.#waited(queued);
      // While the call waited, the token may have expired, or the key, which has a limit of its own, been replaced.
      const current = credentials.current();
      if (current?.keyHash === credential.keyHash) return { credential: current, permit: queued };
      queued.unused();
    }
  }

  async #prepare(before: () => Promise<void>, { permit }: Authorization): Promise<void> {
    try {
      await this.#request.scope.race(before());
    } catch (error) {
      permit?.unused();
      throw error;
    }
  }

  #waited({ queuedMs }: Permit): void {
    this.#queuedMs += queuedMs;
    if (queuedMs > 0) this.#emit("workspace-tasks:call:queued", () => ({ ...this.#event, queuedMs }));
  }

  async #send({ url, headers }: Route, { credential, permit }: Authorization): Promise<AttemptResult> {
    const { operation, variables, scope, call } = this.#request;
    const attempt = this.#attempts + 1;
    this.#emit("workspace-tasks:call:attempt", () => ({ ...this.#event, attempt }));
    this.#isSending = true;
    const result = await this.#dependencies.sendAttempt({
      operation,
      variables,
      url,
      headers: call.headers ? { ...headers, ...call.headers } : headers,
      token: credential?.token,
      timeoutMs: call.timeoutMs ?? this.#dependencies.options.timeoutMs,
      scope,
      kind: operation.kind,
    });
    this.#isSending = false;
    if (result.sent) this.#attempts = attempt;
    if (permit) this.#settle(permit, result);
    if (result.response) this.#responded(result.response, attempt);
    return result;
  }

  #responded(response: ResponseHead, attempt: number): void {
    this.#response = response;
    const { redactor } = this.#dependencies;
    this.#emit("workspace-tasks:call:response", () => ({
      ...this.#event,
      attempt,
      httpStatus: response.status,
      requestId: requestIdOf(response, redactor),
      headers: readHeaders(response.headers, redactor),
    }));
  }

  #describe(): CallMeta {
    const { redactor } = this.#dependencies;
    const response = this.#response ?? { status: 0, headers: new Headers() };
    const { status: httpStatus } = response;
    return {
      attempts: this.#attempts,
      queuedMs: this.#queuedMs,
      httpStatus,
      ...readResponseDetails(response, redactor),
    };
  }

  #settle(permit: Permit, { failure, sent, respondedAtMs }: AttemptResult): void {
    if (failure?.code === "RATE_LIMITED") {
      const { retryAfterMs } = failure;
      const waitMs = permit.rejected(retryAfterMs);
      if (this.#queued) this.#queued.entry.rejections += 1;
      const { operationName } = this.#event;
      this.#emit("workspace-tasks:rate-limit", () => ({ operationName, retryAfterMs, waitMs }));
    } else if (respondedAtMs !== undefined) permit.responded(respondedAtMs);
    else if (!sent || failure?.outcome === "not_sent") permit.unused();
    else permit.noResponse();
  }

  /** Returns when the call may try again; throws the failure when it may not. */
  async #retryOrFail(route: Route, failure: Failure, authorization: Authorization): Promise<void> {
    const { outcome, httpStatus, requestId, code } = failure;
    this.#outcome = lessCertain(this.#outcome, outcome);
    const decision = this.#decide(route, failure, authorization);
    if (decision.type === "fail") throw new FailureError(failure);
    const delayMs = decision.type === "repeat" ? decision.delayMs : 0;
    const attempt = this.#attempts;
    const reason = decision.type;
    const event = { attempt, code, reason, delayMs, httpStatus, requestId };
    this.#emit("workspace-tasks:call:retry", () => ({ ...this.#event, ...event }));
    if (decision.type === "fresh_token") this.#wasTokenRejected = true;
    if (decision.type !== "repeat") return;
    this.#retries += 1;
    await this.#request.scope.sleep(delayMs);
  }

  #decide(route: Route, failure: Failure, { credential, permit }: Authorization): RetryDecision {
    const { operation, call, scope } = this.#request;
    const { options, clientScope } = this.#dependencies;
    if (clientScope.failure || this.#isExchanging) return { type: "fail" };
    if (failure.remedy === "fresh_token") return this.#decideOnToken(route, failure, credential);
    const state = {
      hasLimiter: permit !== undefined,
      idempotent: call.idempotent ?? operation.idempotent ?? operation.kind === "query",
      retries: this.#retries,
      maxRetries: call.maxRetries ?? options.maxRetries,
      remainingMs: scope.remainingMs(),
    };
    return decideRetry(failure, state, options.random);
  }

  #decideOnToken(route: Route, { code }: Failure, credential: Credential | undefined): RetryDecision {
    if (!credential || this.#wasTokenRejected) return { type: "fail" };
    const isRetried = route.access().credentials.reject(credential, code === "PERMISSION_DENIED");
    return isRetried ? { type: "fresh_token" } : { type: "fail" };
  }

  #emitEnd(failure: Failure | undefined): void {
    this.#emit("workspace-tasks:call:end", () => ({
      ...this.#event,
      ok: failure === undefined,
      code: failure?.code,
      httpStatus: this.#response?.status,
      requestId: this.#response && requestIdOf(this.#response, this.#dependencies.redactor),
      attempts: this.#attempts,
      queuedMs: this.#queuedMs,
      durationMs: this.#dependencies.options.clock.monotonic() - this.#startedAtMs,
    }));
  }

  get #emit(): Emit {
    return this.#dependencies.emit;
  }
}

const certainty: readonly Outcome[] = ["not_sent", "rejected", "unknown"];

function lessCertain(a: Outcome, b: Outcome): Outcome {
  return certainty.indexOf(a) > certainty.indexOf(b) ? a : b;
}
