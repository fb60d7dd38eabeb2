import { type Cache, createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { Schema } from "@workspace-tasks/kernel/schema.ts";
import { CallScope, type ScopeLimits } from "../call/call-scope.ts";
import { type CallEvent, createEmit, type Emit } from "../call/diagnostics.ts";
import { type Failure, FailureError, failure, toError } from "../call/failure.ts";
import type { Operation, Router, UntypedOperation } from "../call/operation.ts";
import {
  type ApiKeySource,
  type Credential,
  Credentials,
  type KeyExchange,
  partnerLogin,
  sha256,
  workspaceExchange,
} from "../credentials/credentials.ts";
import type { Outcome } from "../errors.ts";
import {
  beforeSend,
  type CallOptions,
  checkCallOptions,
  deadlineMsOf,
  type OwnCallOptions,
  type ResolvedOptions,
} from "../options.ts";
import {
  findLimiter,
  type Permit,
  type QueueEntry,
  type RateLimiter,
  type RateLimitSnapshot,
} from "../rate-limit/rate-limiter.ts";
import {
  type ResponseDetails,
  readHeaders,
  readResponseDetails,
  requestIdOf,
} from "../request/classify-response.ts";
import type { ResponseHead } from "../request/fetch.ts";
import { decideRetry, type Retry } from "../request/retry-policy.ts";
import { type AttemptResult, createAttemptSender, type SendAttempt } from "../request/transport.ts";
import { checkInput, urlBelow } from "../validation.ts";

/** A promise of the plain result that also has the metadata of its call. */
export interface Call<Result> extends Promise<Result> {
  /** Resolves to the result as `data`, and to how the call reached it as `meta`. Starts no second call. */
  withMeta(): Promise<ResultWithMeta<Result>>;
}

export interface ResultWithMeta<Result> {
  readonly data: Result;
  readonly meta: CallMeta;
}

/** How a call reached its result, and what its last response says besides the data. */
export interface CallMeta extends ResponseDetails {
  /** Requests sent for this call; token exchanges do not count. */
  readonly attempts: number;
  /** Time spent waiting for the rate limit. */
  readonly queuedMs: number;
  readonly httpStatus: number;
}

/** A call that has succeeded; its metadata is read when it is asked for. */
export interface SettledCall<Data> {
  readonly data: Data;
  readonly meta: () => CallMeta;
}

/** Sends an operation; token, rate limit, retries, timeout and deadline applied. The options are checked already. */
export type Execute = <Data, Variables>(
  operation: Operation<Data, Variables>,
  variables: Variables,
  options?: CallOptions,
) => Promise<SettledCall<Data>>;

/** Returns the checked input of the operation's method. Throws `WorkspaceTasksError`. */
export type Check = <Value>(schema: Schema<Value>, input: unknown) => Value;

/**
 * Starts a call. The variables may come from a function that checks the input; the result is what `pick` takes from the
 * response's data, by default the field of the operation. Every failure, also of these functions, rejects the promise.
 */
export type Send = <Data, Variables, Result = Data[keyof Data]>(
  operation: Operation<Data, Variables>,
  variables: Variables | ((check: Check) => Variables),
  options: CallOptions | undefined,
  pick?: (data: Data) => Result,
) => Call<Result>;

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

export function createSend(execute: Execute): Send {
  return (
    operation,
    variables,
    options,
    pick = (data) => Reflect.get(data as object, operation.field ?? ""),
  ) => {
    const run = async () => {
      const call = options === undefined ? undefined : checkCallOptions(operation.method, options);
      const check: Check = (schema, input) => checkInput(operation.method, schema, input);
      const checked =
        typeof variables === "function"
          ? (variables as (check: Check) => typeof variables)(check)
          : variables;
      const { data, meta } = await execute(operation, checked as never, call);
      return { data: readResult(operation, () => pick(data), meta), meta };
    };
    return toCall(run());
  };
}

/** The service sends every field that a generated document asks for, or an error. */
function readResult<Result>(operation: UntypedOperation, read: () => Result, meta: () => CallMeta): Result {
  const outcome = operation.kind === "mutation" ? "unknown" : "rejected";
  const message = "expected a response with all fields of the document, got one without some";
  let found = failure("RESPONSE_INVALID", message, { outcome });
  try {
    const result = read();
    if (result !== undefined && result !== null) return result;
  } catch (error) {
    if (error instanceof FailureError) found = error.failure;
  }
  const { attempts, ...details } = meta();
  throw toError({ ...details, ...found }, { attempts, operation });
}

export function toCall<Result>(result: Promise<SettledCall<Result>>): Call<Result> {
  const plain = result.then(({ data }) => data);
  return Object.assign(plain, {
    withMeta() {
      // The caller awaits the other promise now; this one must not count as unhandled.
      plain.catch(() => {});
      return result.then(({ data, meta }) => ({ data, meta: meta() }));
    },
  });
}

// The course of one call:
//
//   start ──► token ──► permit ──► request ──► end
//               ▲                     │ failed
//               └───────retry─────────┤   repeat after a delay, with a fresh token, or after the rate limit
//                                     └─► end, as an error
//
// The permit is acquired after the token, so the first exchange holds no slot. The token is checked again after queueing: it
// may expire while the call waits.

interface CallRequest {
  readonly operation: UntypedOperation;
  readonly variables: unknown;
  readonly call: OwnCallOptions;
  /** Disposed of when the call has settled. */
  readonly scope: CallScope;
  readonly callId: number;
  readonly onSettled: () => void;
}

/** What all calls of a client share. */
interface CallParts extends RouteParts {
  routeOf(router: Router): Route;
}

/** What a request is sent with; empty for an operation that needs no token. */
interface Authorization {
  readonly credential?: Credential | undefined;
  readonly permit?: Permit | undefined;
}

class CallRecord {
  readonly #request: CallRequest;
  readonly #parts: CallParts;
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

  constructor(request: CallRequest, parts: CallParts) {
    const { name: operationName, kind, router } = request.operation;
    this.#request = request;
    this.#parts = parts;
    this.#event = { callId: request.callId, operationName, kind, router };
    this.#startedAtMs = parts.options.clock.monotonic();
  }

  /** Resolves to the response's data. Rejects with a `WorkspaceTasksError`. */
  async run(): Promise<SettledCall<unknown>> {
    const { operation, scope, onSettled } = this.#request;
    // A request in flight is allowed to finish: ending it would make its outcome unknown.
    const off = this.#parts.clientScope.onEnd((failure) => {
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
      const { redactor } = this.#parts.options;
      throw toError({ ...failure, outcome }, { attempts: this.#attempts, operation, redactor });
    } finally {
      off();
      scope.dispose();
      onSettled();
    }
  }

  async #sendUntilSettled(): Promise<unknown> {
    const route = this.#parts.routeOf(this.#request.operation.router);
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
    const { operation, call, scope } = this.#request;
    if (scope.failure) throw new FailureError(scope.failure);
    if (!operation.authenticated) return {};
    const { options } = this.#parts;
    const { credentials, limiter: limiterOf } = route.access();
    for (;;) {
      const credential = credentials.take() ?? (await this.#exchanged(credentials));
      const limiter = limiterOf(credential.keyHash);
      if (!limiter) return { credential };
      if (this.#queued?.limiter !== limiter) {
        this.#queued = { limiter, entry: limiter.enter(call.priority ?? options.priority) };
      }
      const free = limiter.tryAcquire();
      if (free) return { credential, permit: free };
      const permit = await limiter.acquire(this.#queued.entry, options.rateLimit?.maxQueued ?? 0, scope);
      this.#waited(permit);
      // While the call waited, the token may have expired, or the key, which has a limit of its own, been replaced.
      const current = credentials.take() ?? (await this.#exchanged(credentials, permit));
      if (current.keyHash === credential.keyHash) return { credential: current, permit };
      permit.unused();
    }
  }

  async #exchanged(credentials: Credentials, permit?: Permit): Promise<Credential> {
    this.#isExchanging = true;
    try {
      const credential = await credentials.get(this.#request.scope);
      this.#isExchanging = false;
      return credential;
    } catch (error) {
      permit?.unused();
      throw error;
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
    const result = await this.#parts.sendAttempt({
      operation,
      variables,
      url,
      headers: call.headers ? { ...headers, ...call.headers } : headers,
      token: credential?.token,
      timeoutMs: call.timeoutMs ?? this.#parts.options.timeoutMs,
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
    const { redactor } = this.#parts.options;
    this.#emit("workspace-tasks:call:response", () => ({
      ...this.#event,
      attempt,
      httpStatus: response.status,
      requestId: requestIdOf(response, redactor),
      headers: readHeaders(response.headers, redactor),
    }));
  }

  #describe(): CallMeta {
    const { redactor } = this.#parts.options;
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
    const retry = this.#decide(route, failure, authorization);
    if (!retry) throw new FailureError(failure);
    const { reason, delayMs } = retry;
    const event = { attempt: this.#attempts, code, reason, delayMs, httpStatus, requestId };
    this.#emit("workspace-tasks:call:retry", () => ({ ...this.#event, ...event }));
    if (reason === "fresh_token") this.#wasTokenRejected = true;
    if (reason !== "repeat") return;
    this.#retries += 1;
    await this.#request.scope.sleep(delayMs);
  }

  #decide(route: Route, failure: Failure, { credential, permit }: Authorization): Retry | undefined {
    const { operation, call, scope } = this.#request;
    const { options, clientScope } = this.#parts;
    if (clientScope.failure || this.#isExchanging) return undefined;
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

  #decideOnToken(route: Route, { code }: Failure, credential: Credential | undefined): Retry | undefined {
    if (!credential || this.#wasTokenRejected) return undefined;
    const isRetried = route.access().credentials.reject(credential, code === "PERMISSION_DENIED");
    return isRetried ? { reason: "fresh_token", delayMs: 0 } : undefined;
  }

  #emitEnd(failure: Failure | undefined): void {
    this.#emit("workspace-tasks:call:end", () => ({
      ...this.#event,
      ok: failure === undefined,
      code: failure?.code,
      httpStatus: this.#response?.status,
      requestId: this.#response && requestIdOf(this.#response, this.#parts.options.redactor),
      attempts: this.#attempts,
      queuedMs: this.#queuedMs,
      durationMs: this.#parts.options.clock.monotonic() - this.#startedAtMs,
    }));
  }

  get #emit(): Emit {
    return this.#parts.emit;
  }
}

const certainty: readonly Outcome[] = ["not_sent", "rejected", "unknown"];

function lessCertain(a: Outcome, b: Outcome): Outcome {
  return certainty.indexOf(a) > certainty.indexOf(b) ? a : b;
}

/** How calls reach one router. */
interface Route {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Throws `FailureError` when the client has no key for the router. */
  access(): RouterAccess;
}

/** Whose token calls carry, and whose rate limit they count against. */
interface RouterAccess {
  readonly credentials: Credentials;
  /** The limiter of the key with this hash; undefined without rate limiting. */
  limiter(keyHash: string): RateLimiter | undefined;
  snapshot(): RateLimitSnapshot | undefined;
}

interface RouteParts {
  readonly options: ResolvedOptions;
  readonly sendAttempt: SendAttempt;
  readonly emit: Emit;
  readonly clientScope: CallScope;
}

/**
 * Calls to the base router use the workspace's key. Calls to the gateway use the partner key if there is one, otherwise
 * the workspace's. Requests are counted per key on both routers together, so a rate limit belongs to the key and
 * the base address, not to a router.
 */
function createRoutes(parts: RouteParts) {
  const { baseUrl, gatewayUrl, sourcePlatform, apiKey, partnerApiKey } = parts.options;
  const headers = { ...jsonHeaders, ...parts.options.headers };
  const base = { url: urlBelow(baseUrl, "/graphql"), headers };
  const gateway = gatewayUrl && {
    url: urlBelow(gatewayUrl, "/graphql"),
    headers: { ...headers, ...(sourcePlatform && { "source-platform": sourcePlatform }) },
  };
  const limiters: Limiters = createBoundedCache(limitersMax);
  const workspace = openAccess(parts, limiters, workspaceExchange, apiKey, base);
  const partner = openAccess(parts, limiters, partnerLogin, partnerApiKey, gateway);
  const accesses = { base: workspace, gateway: partner ?? workspace };
  const routes = {
    base: { ...base, access: () => accesses.base ?? missing("apiKey") },
    gateway: gateway && { ...gateway, access: () => accesses.gateway ?? missing("apiKey") },
  };
  return {
    /** Throws `FailureError` when the router's address was not given. */
    routeOf: (router: Router): Route => routes[router] ?? missing("gatewayUrl"),
    snapshot: (router: Router) => accesses[router]?.snapshot(),
  };
}

const jsonHeaders = {
  accept: "application/graphql-response+json, application/json",
  "content-type": "application/json",
};

/** How the limiter of a key is found, by its hash: the keys of both routers may be one. */
type Limiters = Cache<string, () => RateLimiter>;

// A client has two keys, and others for a while where they are rotated.
const limitersMax = 8;

function openAccess(
  parts: RouteParts,
  limiters: Limiters,
  exchange: KeyExchange,
  source: ApiKeySource | undefined,
  route: Omit<Route, "access"> | undefined,
): RouterAccess | undefined {
  if (source === undefined || route === undefined) return undefined;
  const { options, emit } = parts;
  const { rateLimit, baseUrl } = options;
  const { router } = exchange.operation;
  let findLatest: (() => RateLimiter) | undefined;
  return {
    credentials: new Credentials({
      ...options,
      ...parts,
      ...route,
      exchange,
      source,
      onRefresh: (event) => emit("workspace-tasks:token:refresh", () => ({ router, ...event })),
    }),
    limiter(keyHash) {
      if (!rateLimit) return undefined;
      const find = getOrCreate(limiters, keyHash, () =>
        findLimiter({ ...options, rateLimit }, sha256(`${baseUrl.href}\n${keyHash}`)),
      );
      findLatest = find;
      return find();
    },
    snapshot: () => findLatest?.().snapshot(),
  };
}

function missing(option: string): never {
  throw new FailureError(failure("CONFIGURATION_INVALID", `this call needs the option ${option}`));
}
