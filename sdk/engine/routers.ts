import type { CallScope } from "../call/call-scope.ts";
import type { Emit } from "../call/diagnostics.ts";
import { Failed } from "../call/failure.ts";
import type { Router } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Credentials } from "../credentials/credentials.ts";
import {
  type ApiKeySource,
  createCredentials,
  type KeyExchange,
  partnerLogin,
  workspaceExchange,
} from "../credentials/key-exchange.ts";
import { sha256 } from "../credentials/sha256.ts";
import type { ResolvedOptions } from "../options.ts";
import { acquireLimiter, type LimiterReference } from "../rate-limit/limiter-registry.ts";
import type { RateLimitSnapshot } from "../rate-limit/rate-limiter.ts";
import type { Attempt } from "../request/attempt-sender.ts";

/**
 * As whom a client speaks to each router: the workspace's key everywhere, or on the gateway the partner's key where
 * one was given. Calls are counted per key, on both routers together, so an allowance belongs to the key and
 * the base address and not to a router.
 */
export interface RouterAccess {
  readonly credentials: Credentials;
  /** The allowance of the key with this hash; undefined when pacing is off. */
  lease(keyHash: string): LimiterReference | undefined;
}

export interface Routers {
  /** Throws `Failed` when the router's address or key was not given. */
  of(router: Router): RouterAccess;
  /** Where operations of a router go. Throws `Failed` without its address. */
  urlOf(router: Router): URL;
  headersOf(router: Router): Readonly<Record<string, string>>;
  snapshot(router: Router): RateLimitSnapshot | undefined;
  close(): Promise<void>;
}

export interface RoutersOptions {
  readonly options: ResolvedOptions;
  readonly attempt: Attempt;
  readonly redactor: Redactor;
  readonly emit: Emit;
  readonly life: CallScope;
}

export function createRouters(parts: RoutersOptions): Routers {
  const { options } = parts;
  const urls = { base: graphqlUrl(options.baseUrl), gateway: graphqlUrl(options.gatewayUrl) };
  const gatewayHeaders = options.sourcePlatform ? { "source-platform": options.sourcePlatform } : {};
  const headersOf = (router: Router) => (router === "gateway" ? gatewayHeaders : {});
  const leases = new Map<string, LimiterReference>();

  function identity(exchange: KeyExchange, source: ApiKeySource | undefined, url: URL | undefined) {
    if (source === undefined || url === undefined) return undefined;
    let latest: LimiterReference | undefined;
    const credentials = openCredentials(parts, exchange, source, url, headersOf(exchange.operation.router));
    const lease = (keyHash: string) => {
      latest = leaseFor(options, leases, keyHash);
      return latest;
    };
    return { credentials, lease, snapshot: () => latest?.allowance.snapshot() };
  }

  const workspace = identity(workspaceExchange, options.apiKey, urls.base);
  const partner = identity(partnerLogin, options.partnerApiKey, urls.gateway);
  const find = (router: Router) => (router === "gateway" ? (partner ?? workspace) : workspace);

  return {
    of(router) {
      const found = find(router);
      if (!found) throw missing(router === "base" ? "apiKey" : "gatewayUrl");
      return found;
    },
    urlOf(router) {
      const url = urls[router];
      if (!url) throw missing("gatewayUrl");
      return url;
    },
    headersOf,
    snapshot: (router) => find(router)?.snapshot(),
    async close() {
      await Promise.all([...leases.values()].map((lease) => lease.end()));
    },
  };
}

function openCredentials(
  { options, attempt, redactor, emit, life }: RoutersOptions,
  exchange: KeyExchange,
  source: ApiKeySource,
  url: URL,
  headers: Readonly<Record<string, string>>,
): Credentials {
  const { clock, random, timeoutMs, maxRetries, rateLimit } = options;
  const { router } = exchange.operation;
  return createCredentials({
    exchange,
    source,
    url,
    headers,
    attempt,
    clock,
    random,
    redactor,
    timeoutMs,
    maxRetries,
    pauseMsMax: rateLimit?.maxWaitMs ?? timeoutMs,
    life,
    onRefresh: (event) => emit("workspace-tasks:token:refresh", () => ({ router, ...event })),
  });
}

function leaseFor(
  options: ResolvedOptions,
  leases: Map<string, LimiterReference>,
  keyHash: string,
): LimiterReference | undefined {
  const existing = leases.get(keyHash);
  if (existing) return existing;
  const { rateLimit, baseUrl, clock, hasOwnClock, random, timeoutMs } = options;
  if (!rateLimit) return undefined;
  const id = sha256(`${baseUrl.href}\n${keyHash}`);
  const lease = acquireLimiter({ id, rateLimit, attemptMsMax: timeoutMs, clock, hasOwnClock, random });
  leases.set(keyHash, lease);
  return lease;
}

function graphqlUrl(address: URL): URL;
function graphqlUrl(address: URL | undefined): URL | undefined;
function graphqlUrl(address: URL | undefined): URL | undefined {
  if (!address) return undefined;
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/graphql`;
  return url;
}

function missing(option: string): Failed {
  const message = `this call needs the option ${option}`;
  return new Failed({ code: "CONFIGURATION_INVALID", message, outcome: "not_sent", remedy: "none" });
}
