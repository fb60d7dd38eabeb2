import { createVirtualClock, type VirtualClock } from "../../mock-server/time/virtual-clock.ts";
import type { Fetch } from "../../sdk/request/fetch.ts";

/**
 * The service's semantics for keys, tokens and the rate limit in a few dozen lines, for simulations of hundreds of
 * thousands of requests. Tests compare the client with the log of what arrived here.
 */
export interface FakeService {
  readonly clock: VirtualClock;
  readonly apiKey: string;
  readonly baseUrl: string;
  fetch(input: URL | string, init?: RequestInit): Promise<Response>;
  /** Accepts or rejects one request of another client with the same key. */
  otherClientRequest(): boolean;
  revokeTokens(): void;
  readonly log: ServiceLog;
}

export interface ServiceLog {
  exchanges: number;
  accepted: number;
  rejected429: number;
  rejected401: number;
  /** Arrival times of accepted requests, those of other clients included. */
  readonly acceptedAtMs: readonly number[];
  /** Names of operations in the order of arrival. */
  readonly operations: string[];
  /** `ref` variables of mutations that took effect. */
  readonly applied: string[];
}

type Headings = Readonly<Record<string, string>>;

export type Fault =
  | {
      readonly type: "status";
      readonly status: number;
      readonly body?: string;
      readonly headers?: Headings;
    }
  /** Responds with `body` instead of taking effect. */
  | { readonly type: "rejection"; readonly body: unknown }
  /** Takes effect and responds with `body`. */
  | { readonly type: "response"; readonly body: unknown }
  | { readonly type: "cut_before" }
  | { readonly type: "cut_after" };

/** Default: 120 requests in any 60 s. */
export interface FakeServiceOptions extends Partial<Limit> {
  readonly clock?: VirtualClock;
  readonly tokenTtlSeconds?: number;
  /** Offset of the service's wall clock. */
  readonly skewMs?: number;
  readonly withRetryAfter?: boolean;
  /** Consulted for each request after authentication. */
  readonly fault?: (operation: string) => Fault | undefined;
  /** Responds to all requests but token exchanges, in place of the service. */
  readonly respond?: Fetch;
}

let instance = 0;

export function createFakeService(options: FakeServiceOptions = {}): FakeService {
  const { clock = createVirtualClock(), tokenTtlSeconds = 180, skewMs = 0, withRetryAfter = true } = options;
  const apiKey = `key_${instance}_8f3a9d2c71`;
  const baseUrl = `http://double-${instance++}.localhost`;
  const limits = { limit: 120, windowMs: 60_000, window: "sliding", windowOffsetMs: 0 } as const;
  const limited = new LimitedService({ ...limits, ...options });
  const log: ServiceLog = {
    exchanges: 0,
    accepted: 0,
    rejected429: 0,
    rejected401: 0,
    acceptedAtMs: limited.acceptedAtMs,
    operations: [],
    applied: [],
  };
  const tokens = new Map<string, number>();
  const serverNowMs = () => clock.now() + skewMs;
  let issued = 0;

  function exchange(refreshToken: unknown): Response {
    log.exchanges += 1;
    if (refreshToken !== apiKey) return graphqlError("Invalid refresh token", "UNAUTHENTICATED");
    const iat = serverNowMs() / 1_000;
    const claims = Buffer.from(JSON.stringify({ iat, exp: iat + tokenTtlSeconds, n: issued })).toString(
      "base64url",
    );
    const token = `eyJhbGciOiJub25lIn0.${claims}.c2ln${issued++}`;
    tokens.set(token, clock.monotonic() + tokenTtlSeconds * 1_000);
    const issuedTokens = { userToken: `${token}u`, workspaceToken: token };
    return json({ data: { exchangeSurfaceRefreshTokenForAccessTokens: issuedTokens } });
  }

  const accept = () => limited.receive(clock.monotonic());

  function respond(
    body: { query: string; operationName?: string; variables?: Record<string, unknown> },
    token: string,
  ) {
    const operation = body.operationName ?? "anonymous";
    log.operations.push(operation);
    if (operation === "ExchangeApiKey") return exchange(body.variables?.["refreshToken"]);
    if ((tokens.get(token) ?? 0) <= clock.monotonic()) {
      log.rejected401 += 1;
      return graphqlError("Unauthorized", "UNAUTHENTICATED");
    }
    const waitMs = accept();
    if (waitMs !== undefined) {
      log.rejected429 += 1;
      const headers: Headings = withRetryAfter ? { "retry-after": String(Math.ceil(waitMs / 1_000)) } : {};
      return graphqlError("Rate limited", "RATE_LIMITED", 429, headers);
    }
    log.accepted += 1;
    const fault = options.fault?.(operation);
    if (fault?.type === "cut_before") return connectionLost();
    if (fault?.type === "status") {
      return new Response(fault.body ?? "", { status: fault.status, headers: fault.headers ?? {} });
    }
    if (fault?.type === "rejection") return json(fault.body);
    const ref = body.variables?.["ref"];
    if (typeof ref === "string") log.applied.push(ref);
    if (fault?.type === "cut_after") return connectionLost();
    return json(
      fault?.type === "response" ? fault.body : { data: { __typename: "Query", ref: ref ?? null } },
    );
  }

  return {
    clock,
    apiKey,
    baseUrl,
    log,
    async fetch(input, init) {
      const { respond: other } = options;
      if (other && !String(init?.body).includes("ExchangeApiKey"))
        return (await other(input, init as never)) as Response;
      const headers = new Headers(init?.headers);
      const token = headers.get("authorization")?.replace("Bearer ", "") ?? "";
      const response = respond(JSON.parse(String(init?.body)), token);
      response.headers.set("date", new Date(serverNowMs()).toUTCString());
      return response;
    },
    otherClientRequest: () => accept() === undefined,
    revokeTokens: () => tokens.clear(),
  };
}

/** The connection is lost after the request was sent. */
export function connectionLost(): never {
  throw new TypeError("fetch failed", {
    cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  });
}

function json(body: unknown, status = 200, headers: Headings = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

function graphqlError(message: string, code: string, status = 200, headers: Headings = {}): Response {
  return json({ data: null, errors: [{ message, extensions: { code } }] }, status, headers);
}

// The service's side of the rate limit, and what the best of all clients could do with it, computed exactly.

export interface Limit {
  readonly limit: number;
  readonly windowMs: number;
  readonly window: "sliding" | "fixed";
  /** Where fixed windows begin, so that they need not begin with the client. */
  readonly windowOffsetMs: number;
}

/** Counts accepted requests as the service does. Times never decrease. */
export class LimitedService {
  readonly #limit: Limit;
  readonly acceptedAtMs: number[] = [];
  #counted: readonly number[] = [];

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** Accepts a request, or returns how long until the next one would be accepted. */
  receive(nowMs: number): number | undefined {
    const { limit, windowMs, window, windowOffsetMs } = this.#limit;
    const isSliding = window === "sliding";
    const sinceMs = Math.floor((nowMs + windowOffsetMs) / windowMs) * windowMs - windowOffsetMs;
    const counted = this.#counted.filter((atMs) => (isSliding ? atMs > nowMs - windowMs : atMs >= sinceMs));
    const isAccepted = counted.length < limit;
    this.#counted = isAccepted ? [...counted, nowMs] : counted;
    if (!isAccepted) return isSliding ? (counted[0] ?? nowMs) + windowMs - nowMs : sinceMs + windowMs - nowMs;
    this.acceptedAtMs.push(nowMs);
    return undefined;
  }
}

/** The most requests in any window of the service. */
export function busiest(
  timesMs: readonly number[],
  { windowMs, window, windowOffsetMs }: Omit<Limit, "limit">,
): number {
  const sorted = timesMs.toSorted((a, b) => a - b);
  if (window === "fixed") {
    const counts = new Map<number, number>();
    for (const atMs of sorted) {
      const number = Math.floor((atMs + windowOffsetMs) / windowMs);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return Math.max(0, ...counts.values());
  }
  let first = 0;
  return sorted.reduce((most, atMs, index) => {
    while ((sorted[first] ?? atMs) <= atMs - windowMs) first += 1;
    return Math.max(most, index - first + 1);
  }, 0);
}

/**
 * Latency between a client and a service, in virtual time: `forwardMs` for a request, `backwardMs` for its response. An
 * abort ends the current leg; it does not undo a request that has arrived.
 */
export interface Legs {
  readonly forwardMs: number;
  readonly backwardMs: number;
}

interface Timers {
  schedule(delayMs: number, run: () => void): () => void;
}

type Send<Init, Result> = (input: URL | string, init: Init) => Promise<Result>;

export function withLatency<Init extends { readonly signal?: AbortSignal | null } | undefined, Result>(
  fetch: Send<Init, Result>,
  clock: Timers,
  legs: () => Legs,
): Send<Init, Result> {
  return async (input, init) => {
    const { forwardMs, backwardMs } = legs();
    await pause(clock, forwardMs, init?.signal);
    const response = await fetch(input, init);
    await pause(clock, backwardMs, init?.signal);
    return response;
  };
}

function pause(clock: Timers, delayMs: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cut = () => {
      cancel();
      reject(new DOMException("aborted", "AbortError"));
    };
    const cancel = clock.schedule(delayMs, () => {
      signal?.removeEventListener("abort", cut);
      resolve();
    });
    if (signal?.aborted) cut();
    else signal?.addEventListener("abort", cut, { once: true });
  });
}

/** Random numbers from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
