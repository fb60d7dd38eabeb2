import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { CallScope } from "../call/call-scope.ts";
import type { Emit } from "../call/diagnostics.ts";
import { FailureError, failure } from "../call/failure.ts";
import type { Router } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import {
  type ApiKeySource,
  Credentials,
  type KeyExchange,
  partnerLogin,
  workspaceExchange,
} from "../credentials/credentials.ts";
import { sha256 } from "../credentials/sha256.ts";
import type { ResolvedOptions } from "../options.ts";
import { findLimiter } from "../rate-limit/limiter-registry.ts";
import type { RateLimiter, RateLimitSnapshot } from "../rate-limit/rate-limiter.ts";
import type { SendAttempt } from "../request/transport.ts";
import { urlBelow } from "../validation/service-url.ts";

/** How calls reach one router. */
export interface Route {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Throws `FailureError` when the client has no key for the router. */
  access(): RouterAccess;
}

/** Whose token calls carry, and whose rate limit they count against. */
export interface RouterAccess {
  readonly credentials: Credentials;
  /** The limiter of the key with this hash; undefined without rate limiting. */
  limiter(keyHash: string): RateLimiter | undefined;
  snapshot(): RateLimitSnapshot | undefined;
}

export type Routers = ReturnType<typeof createRouters>;

export interface RoutersOptions {
  readonly options: ResolvedOptions;
  readonly sendAttempt: SendAttempt;
  readonly redactor: Redactor;
  readonly emit: Emit;
  readonly clientScope: CallScope;
}

/**
 * Calls to the base router use the workspace's key. Calls to the gateway use the partner key if there is one, otherwise
 * the workspace's. Requests are counted per key on both routers together, so a rate limit belongs to the key and
 * the base address, not to a router.
 */
export function createRouters(parts: RoutersOptions) {
  const { baseUrl, gatewayUrl, sourcePlatform, apiKey, partnerApiKey } = parts.options;
  const headers = { ...jsonHeaders, ...parts.options.headers };
  const finders = new Map<string, () => RateLimiter>();
  const base = { url: urlBelow(baseUrl, "/graphql"), headers };
  const gateway = gatewayUrl && {
    url: urlBelow(gatewayUrl, "/graphql"),
    headers: { ...headers, ...(sourcePlatform && { "source-platform": sourcePlatform }) },
  };
  const workspace = openAccess(parts, finders, workspaceExchange, apiKey, base);
  const partner = openAccess(parts, finders, partnerLogin, partnerApiKey, gateway);
  const accesses = { base: workspace, gateway: partner ?? workspace };
  const routes = {
    base: { ...base, access: () => accesses.base ?? missing("apiKey") },
    gateway: gateway && { ...gateway, access: () => accesses.gateway ?? missing("apiKey") },
  };
  return {
    /** Throws `FailureError` when the router's address was not given. */
    route: (router: Router): Route => routes[router] ?? missing("gatewayUrl"),
    snapshot: (router: Router) => accesses[router]?.snapshot(),
  };
}

const jsonHeaders = {
  accept: "application/graphql-response+json, application/json",
  "content-type": "application/json",
};

function openAccess(
  { options, emit, ...parts }: RoutersOptions,
  finders: Map<string, () => RateLimiter>,
  exchange: KeyExchange,
  source: ApiKeySource | undefined,
  route: Omit<Route, "access"> | undefined,
): RouterAccess | undefined {
  if (source === undefined || route === undefined) return undefined;
  const { rateLimit, baseUrl } = options;
  const { router } = exchange.operation;
  const redactCause = parts.redactor.cause;
  let latest: (() => RateLimiter) | undefined;
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
      latest = getOrCreate(finders, keyHash, () =>
        findLimiter({ ...options, rateLimit, redactCause }, sha256(`${baseUrl.href}\n${keyHash}`)),
      );
      return latest();
    },
    snapshot: () => latest?.().snapshot(),
  };
}

function missing(option: string): never {
  throw new FailureError(failure("CONFIGURATION_INVALID", `this call needs the option ${option}`));
}
