import { createVirtualClock, type VirtualClock } from "../../mock-server/time/virtual-clock.ts";
import type { Fetch } from "../../sdk/request/fetch.ts";
import { type Limit, LimitedService } from "./limited-service.ts";

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
    if (fault?.type === "cut_before") throw lost();
    if (fault?.type === "status") {
      return new Response(fault.body ?? "", { status: fault.status, headers: fault.headers ?? {} });
    }
    if (fault?.type === "rejection") return json(fault.body);
    const ref = body.variables?.["ref"];
    if (typeof ref === "string") log.applied.push(ref);
    if (fault?.type === "cut_after") throw lost();
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

function lost(): Error {
  return new TypeError("fetch failed", {
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
