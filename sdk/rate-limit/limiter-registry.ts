import { FailureError, failure } from "../call/failure.ts";
import { processEntries, type RegistryScope, releaseWhenAbandoned } from "../call/process-registry.ts";
import { createRedactor } from "../call/redactor.ts";
import type { Random } from "../clock.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";
import { type LimiterSettings, type QueueLimits, RateLimiter } from "./rate-limiter.ts";
import { SharedLimit, type SlotLimits } from "./shared-limit.ts";

// One limiter per key and address for all clients of the process. Clients that disagree about the limit get the
// smallest; clients that disagree about the store get an error, because one of them would be ignored. What a limiter
// knows about the key, its requests of the last window and that the service blocks it, is kept when the last client is
// closed; the store is not, since its connections may be closed too.

/** A client's reference to a limiter that it shares with other clients. */
export interface LimiterReference {
  readonly limiter: RateLimiter;
  /** How long this client's calls may queue; other clients have limits of their own. */
  readonly limits: QueueLimits;
  /** Resolves when the store, if there is one, has every released slot. */
  release(): Promise<void>;
}

/** `RateLimitOptions` with defaults. */
export interface RateLimitSettings extends QueueLimits {
  readonly requests: number;
  readonly windowMs: number;
  readonly share: number;
  readonly reserved?: number | undefined;
  readonly store?: RateLimitStore | undefined;
}

export interface LimiterRequest extends RegistryScope {
  /** A hash of key and address. */
  readonly id: string;
  readonly rateLimit: RateLimitSettings;
  /** Longest time one request can be in flight. */
  readonly timeoutMs: number;
  readonly random: Random;
}

/** What one client asks for. */
interface ClientSettings extends RateLimitSettings {
  readonly timeoutMs: number;
}

interface Entry {
  readonly limiter: RateLimiter;
  readonly references: Set<ClientSettings>;
  shared: SharedLimit | undefined;
}

/** Throws `FailureError` when another client of the key uses another store. */
export function acquireLimiter(request: LimiterRequest): LimiterReference {
  const entries = processEntries<Entry>("rate-limiters", request);
  for (const [id, { references, limiter }] of entries) {
    if (references.size === 0 && limiter.isIdle()) entries.delete(id);
  }
  const entry = entries.get(request.id) ?? createEntry(request);
  const { limiter, references } = entry;
  const [other] = references;
  if (other && other.store !== request.rateLimit.store) throw new FailureError(differentStores);
  entries.set(request.id, entry);
  if (!other) {
    entry.shared = createShared(request);
    limiter.share(entry.shared);
  }
  // A new object, so that two clients with equal options are two references.
  const settings = { ...request.rateLimit, timeoutMs: request.timeoutMs };
  references.add(settings);
  configure(entry);
  const reference = { limiter, limits: settings, release: () => releaseClient(entry, settings) };
  releaseWhenAbandoned(reference, entry, settings, releaseClient);
  return reference;
}

async function releaseClient(entry: Entry, settings: ClientSettings): Promise<void> {
  const { references, shared } = entry;
  if (!references.delete(settings)) return;
  if (references.size > 0) configure(entry);
  else await shared?.flush();
}

const differentStores = failure(
  "CONFIGURATION_INVALID",
  "rateLimit.store: expected the store of the other clients of this key in this process, got another one or none; " +
    "pass the same store to all of them, or close the others first",
);

function createEntry({ rateLimit, clock, random }: LimiterRequest): Entry {
  const limiter = new RateLimiter(limiterSettingsOf([rateLimit]), clock, random);
  return { limiter, references: new Set(), shared: undefined };
}

function createShared({ id, rateLimit, timeoutMs, clock }: LimiterRequest): SharedLimit | undefined {
  const { store } = rateLimit;
  if (!store) return undefined;
  const redactCause = createRedactor().cause;
  return new SharedLimit({ store, key: id, clock, redactCause }, slotLimitsOf([{ ...rateLimit, timeoutMs }]));
}

function configure({ limiter, shared, references }: Entry): void {
  shared?.configure(slotLimitsOf([...references]));
  limiter.configure(limiterSettingsOf([...references]));
}

function limiterSettingsOf(all: readonly RateLimitSettings[]): LimiterSettings {
  const limit = Math.min(...all.map(({ requests, share }) => Math.max(1, Math.floor(requests * share))));
  return {
    limit,
    windowMs: Math.max(...all.map(({ windowMs }) => windowMs)),
    reserved: reservedOf(all, limit),
  };
}

/** The store counts the requests of all processes, so their shares do not matter. */
function slotLimitsOf(all: readonly ClientSettings[]): SlotLimits {
  const requests = Math.min(...all.map((each) => each.requests));
  // A slot stays acquired until its request has certainly ended and does not count any more.
  const leaseMs = Math.max(...all.map(({ windowMs, timeoutMs }) => windowMs + timeoutMs));
  return { all: requests, background: requests - reservedOf(all, requests), leaseMs };
}

function reservedOf(all: readonly RateLimitSettings[], limit: number): number {
  const reserved = Math.max(...all.map((each) => each.reserved ?? Math.floor(limit / 10)));
  return Math.min(reserved, limit - 1);
}
