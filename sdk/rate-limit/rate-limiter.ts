import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Random } from "@workspace-tasks/kernel/random.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";
import { type RateLimitStore, SharedPermits, type SharedSettings } from "./shared-permits.ts";
import { SlidingWindow, type WindowLimit } from "./sliding-window.ts";
import { SlowStart } from "./slow-start.ts";

// The queue of the calls that share one key's rate limit. A call is in one of these states:
//
//   entered ──acquire──► waiting ──window, start and store permit it──► permitted ──settled──► done
//      │                    │ the scope ends                                │ rejected with 429
//      │ queue full, or     ▼                                               └──► entered again, at its old position
//      └ certainly too long ► failed
//
// Calls leave the queue by priority, and among equals in the order in which they entered. A call fails early only by what is
// certain: its place behind the requests of this process, and what the service has asked for.
//
// One timer serves the queue, so waiting calls never race for a slot. With a store a call needs a permit of it, too.

/** The first is served first. */
export const priorities = ["interactive", "normal", "background"] as const;

/**
 * Which calls are sent first when the rate limit is used up: those that a person waits for, `interactive`; `normal` ones;
 * then `background` ones.
 */
export type Priority = (typeof priorities)[number];

/** The right to send one request. Exactly one of its methods is called, once. */
export interface Permit {
  readonly queuedMs: number;
  /** The request was counted; `respondedAtMs` is when the response headers arrived. */
  responded(respondedAtMs: number): void;
  /** The service rejected the request with 429. Returns how long all calls wait. */
  rejected(retryAfterMs: number | undefined): number;
  /** The request may have been counted, but no response arrived. */
  noResponse(): void;
  /** The request was not sent. */
  unused(): void;
}

/** A call's place in the queue; kept when the service rejects the request. */
export interface QueueEntry {
  /** Lower for calls that are served earlier. */
  readonly place: number;
  /** How often the service has rejected the call. */
  rejections: number;
}

export interface LimiterSettings extends WindowLimit {
  readonly shared?: SharedSettings | undefined;
}

export interface LimiterParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Redacts an error of the store. */
  readonly redactor: Pick<Redactor, "cause">;
}

/** The rate limit of one key at one moment. */
export interface RateLimitSnapshot {
  readonly limit: number;
  readonly windowMs: number;
  /** Requests that count now: in flight, or responded to less than a window ago. */
  readonly used: number;
  readonly remaining: number;
  readonly queued: number;
  /** When the next call could be sent; 0 when at once. */
  readonly nextSlotInMs: number;
}

interface WaitingCall {
  readonly entry: QueueEntry;
  readonly sinceMs: number;
  /** The scope ends it earlier, or this does. */
  readonly endsAtMs: number;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: FailureError) => void;
  /** Set while the scope of the call may end it. */
  stopWaiting: () => void;
}

/** No queue has more calls of one priority in its life. */
const placesPerPriority = 2 ** 48;
// A request may arrive this much later after its permit of the store than the next one for the same slot.
const sharedMarginMs = 2_000;

export class RateLimiter {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #settings: WindowLimit;
  readonly #shared: SharedPermits | undefined;
  readonly #window: SlidingWindow;
  readonly #start: SlowStart;
  /** Ordered by place. */
  readonly #queue: WaitingCall[] = [];
  #entries = 0;
  #timer: { readonly atMs: number; cancel(): void } | undefined;

  constructor(settings: LimiterSettings, { clock, random, redactor }: LimiterParts) {
    const { shared, limit, windowMs } = settings;
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#window = new SlidingWindow(settings);
    this.#start = new SlowStart(settings, shared !== undefined);
    this.#shared =
      shared &&
      new SharedPermits({
        ...shared,
        limit,
        windowMs: windowMs + sharedMarginMs,
        clock,
        onChange: () => this.#pump(),
        onFailure: (error) => {
          this.#failEach(() => storeFailed(redactor.cause(error)));
          this.#pump();
        },
      });
  }

  enter(priority: Priority): QueueEntry {
    const place = priorities.indexOf(priority) * placesPerPriority + this.#entries++;
    return { place, rejections: 0 };
  }

  /** A permit, if one is free and no call waits. Never with a store, which has to be asked. */
  tryAcquire(): Permit | undefined {
    if (this.#shared || this.#queue.length > 0) return undefined;
    const nowMs = this.#clock.monotonic();
    return this.#waitMs(nowMs) > 0 ? undefined : this.#createPermit(nowMs, 0);
  }

  /**
   * Waits for a permit. Rejects with `FailureError` when the queue or the scope does not allow it.
   *
   * @param maxQueued how many calls may wait before it
   */
  acquire(entry: QueueEntry, maxQueued: number, scope: CallScope): Promise<Permit> {
    const sinceMs = this.#clock.monotonic();
    const leftMs = scope.remainingMs();
    const reason = scope.failure ?? this.#reasonToFail(entry, maxQueued, leftMs, sinceMs);
    if (reason) return Promise.reject(new FailureError(reason));
    return new Promise((resolve, reject) => {
      const endsAtMs = sinceMs + leftMs;
      const call: WaitingCall = { entry, sinceMs, endsAtMs, resolve, reject, stopWaiting() {} };
      this.#queue.splice(this.#indexOf(entry), 0, call);
      this.#pump();
      if (!this.#isWaiting(call)) return;
      call.stopWaiting = scope.onEnd((ended) => {
        if (!this.#isWaiting(call)) return;
        this.#fail(call, this.#withRetryAfter(ended));
        this.#pump();
      });
    });
  }

  /** False while what this limiter knows about the key still matters: its requests, or that the service blocks it. */
  isIdle(): boolean {
    const nowMs = this.#clock.monotonic();
    return this.#queue.length === 0 && this.#window.used(nowMs) === 0 && this.#start.blockedMs(nowMs) === 0;
  }

  snapshot(): RateLimitSnapshot {
    const nowMs = this.#clock.monotonic();
    const used = this.#window.used(nowMs);
    const { limit, windowMs } = this.#settings;
    const queued = this.#queue.length;
    const remaining = Math.max(0, limit - used);
    const nextSlotInMs = Math.max(this.#waitMs(nowMs), this.#leastWaitMs(queued, nowMs));
    return { limit, windowMs, used, remaining, queued, nextSlotInMs };
  }

  /** Why a call fails at once instead of waiting. */
  #reasonToFail(entry: QueueEntry, maxQueued: number, leftMs: number, nowMs: number): Failure | undefined {
    const ahead = this.#indexOf(entry);
    const leastMs = this.#leastWaitMs(ahead, nowMs);
    if (leastMs === 0) return undefined;
    // What waiting calls use soon: only the start holds them back.
    const isBlocked = this.#start.blockedMs(nowMs) > 0;
    const free = isBlocked ? 0 : Math.max(0, this.#settings.limit - this.#window.used(nowMs));
    // A call that was rejected keeps the place it had.
    if (entry.rejections === 0 && ahead >= maxQueued + free) {
      return queueFull(maxQueued, leastMs);
    }
    return leastMs > leftMs ? waitExceeded(entry.rejections, leastMs) : undefined;
  }

  /** The time until the call is sent that is the next. */
  #waitMs(nowMs: number): number {
    return Math.max(this.#start.waitMs(nowMs, this.#window.inFlight), this.#window.waitMs(0, nowMs));
  }

  /** The time until a call with `ahead` calls before it can be sent at the earliest. */
  #leastWaitMs(ahead: number, nowMs: number): number {
    return Math.max(this.#start.blockedMs(nowMs), this.#window.waitMs(ahead, nowMs));
  }

  #withRetryAfter(ended: Failure): Failure {
    if (ended.code !== "DEADLINE_EXCEEDED") return ended;
    return { ...ended, retryAfterMs: Math.ceil(this.#waitMs(this.#clock.monotonic())) };
  }

  /** Where the call is in the queue, or would be. */
  #indexOf({ place }: QueueEntry): number {
    let low = 0;
    let high = this.#queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#queue[middle]?.entry.place ?? place) < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isWaiting(call: WaitingCall): boolean {
    return this.#queue[this.#indexOf(call.entry)] === call;
  }

  #leave(call: WaitingCall): void {
    this.#queue.splice(this.#indexOf(call.entry), 1);
    call.stopWaiting();
  }

  #fail(call: WaitingCall, failure: Failure): void {
    this.#leave(call);
    call.reject(new FailureError(failure));
  }

  #failEach(reasonOf: (call: WaitingCall) => Failure | undefined): void {
    for (const call of [...this.#queue]) {
      const reason = reasonOf(call);
      if (reason) this.#fail(call, reason);
    }
  }

  /** Sends the calls that may be sent now, and sets the timer for the next. */
  #pump(): void {
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (let call = this.#queue[0]; call; call = this.#queue[0]) {
      const nowMs = this.#clock.monotonic();
      const waitMs = this.#waitMs(nowMs);
      // A delay below the clock's resolution could fire before the time has changed.
      if (waitMs > 0) nextAtMs = nowMs + Math.max(1, waitMs);
      // The store calls back when it has granted a permit.
      if (waitMs > 0 || (this.#shared && !this.#shared.take())) break;
      this.#leave(call);
      call.resolve(this.#createPermit(nowMs, nowMs - call.sinceMs));
    }
    this.#setTimer(nextAtMs);
    this.#shared?.request(this.#permittedNow());
  }

  /** How many of the waiting calls could be sent now with permits of the store. */
  #permittedNow(): number {
    const nowMs = this.#clock.monotonic();
    if (this.#queue.length === 0 || this.#waitMs(nowMs) > 0) return 0;
    const free = this.#settings.limit - this.#window.used(nowMs);
    return Math.min(this.#queue.length, free, this.#start.atOnceMax(nowMs, this.#window.inFlight));
  }

  #setTimer(atMs: number): void {
    // Most calls that enter change nothing.
    if (this.#timer && Math.abs(this.#timer.atMs - atMs) < 0.5) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const cancel = this.#clock.schedule(atMs - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      this.#pump();
    });
    this.#timer = { atMs, cancel };
  }

  #createPermit(startedAtMs: number, queuedMs: number): Permit {
    const window = this.#window;
    const start = this.#start;
    window.start();
    start.permitted(startedAtMs);
    const accept = () => {
      start.accepted(startedAtMs);
      this.#pump();
    };
    return {
      queuedMs,
      responded: (respondedAtMs) => {
        window.responded(respondedAtMs);
        accept();
      },
      noResponse: () => {
        window.noResponse(startedAtMs, this.#clock.monotonic());
        accept();
      },
      unused: () => {
        window.release();
        this.#pump();
      },
      rejected: (retryAfterMs) => {
        const nowMs = this.#clock.monotonic();
        const blockedMs = start.blockedMs(nowMs);
        window.release();
        const waitMs = start.rejected(startedAtMs, nowMs, retryAfterMs, this.#random);
        if (waitMs > blockedMs) {
          void this.#shared?.block(waitMs);
          // Calls that cannot wait until the service accepts requests again fail now.
          this.#failEach(({ entry, endsAtMs }) =>
            endsAtMs < nowMs + waitMs ? waitExceeded(entry.rejections, waitMs) : undefined,
          );
        }
        this.#pump();
        return waitMs;
      },
    };
  }
}

function queueFull(maxQueued: number, waitMs: number): Failure {
  const message = `expected at most ${maxQueued} calls to wait before this one`;
  return failure("RATE_LIMIT_QUEUE_FULL", message, { retryAfterMs: Math.ceil(waitMs) });
}

/** @param rejections how often the service has rejected the call */
function waitExceeded(rejections: number, waitMs: number): Failure {
  const retryAfterMs = Math.ceil(waitMs);
  if (rejections === 0) {
    const message = "the rate limit is used up for longer than deadlineMs lets the call wait";
    return failure("RATE_LIMIT_WAIT_EXCEEDED", message, { retryAfterMs });
  }
  const message = `the service rejected the request ${rejections} times and the call cannot wait longer`;
  return failure("RATE_LIMITED", message, { outcome: "rejected", retryAfterMs });
}

/** @param cause redacted */
function storeFailed(cause: unknown): Failure {
  return failure("RATE_LIMIT_STORE_FAILED", "the rate limit store failed", { remedy: "repeat", cause });
}

// One limiter per key, address and limit for all clients of the process. It belongs to no client: one that is never closed
// can be collected. The limiters are a property of `globalThis`, because a process can hold two copies of this module, for
// example as an ES module and as CommonJS, and two limiters of one key would together use twice its limit.

/** `RateLimitOptions` with defaults. */
export interface RateLimitSettings {
  readonly requests: number;
  readonly windowMs: number;
  readonly maxQueued: number;
  readonly store?: RateLimitStore | undefined;
}

interface LimiterScope extends LimiterParts {
  readonly rateLimit: RateLimitSettings;
  /** The limiters of different clocks are independent of each other. */
  readonly customClock: boolean;
}

/** Returns the limiter of a key, for the next call: one that is idle may have been replaced. */
export function findLimiter(scope: LimiterScope, key: string): () => RateLimiter {
  const { clock, customClock, rateLimit } = scope;
  const { requests: limit, windowMs, store } = rateLimit;
  if (store) {
    // The store counts the requests of all clients.
    const limiter = new RateLimiter({ limit, windowMs, shared: { store, key } }, scope);
    return () => limiter;
  }
  const limiters = limitersOf(customClock ? clock : globalThis);
  const id = `${key} ${limit} ${windowMs}`;
  return () => limiters.get(id) ?? limiters.add(id, new RateLimiter({ limit, windowMs }, scope));
}

const registryKey = Symbol.for("workspace-tasks/rate-limiters/v1");

/** @param time a clock, or `globalThis` for that of the machine */
function limitersOf(time: object): Entries<RateLimiter> {
  if (!(registryKey in globalThis)) Object.defineProperty(globalThis, registryKey, { value: new WeakMap() });
  const registry = Reflect.get(globalThis, registryKey) as WeakMap<object, Entries<RateLimiter>>;
  return getOrCreate(registry, time, () => new Entries());
}

type Idle = { isIdle(): boolean };

/** Entries by id. Those that are idle are dropped when there are twice as many as before. */
export class Entries<Entry extends Idle> {
  readonly #entries = new Map<string, Entry>();
  #sweepAt = sweepAtMin;

  get(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  add(id: string, entry: Entry): Entry {
    // A search for idle entries reads all of them: with one for each new key, a key would cost more the more there are.
    if (this.#entries.size >= this.#sweepAt) {
      for (const [other, each] of this.#entries) if (each.isIdle()) this.#entries.delete(other);
      this.#sweepAt = Math.max(sweepAtMin, 2 * this.#entries.size);
    }
    this.#entries.set(id, entry);
    return entry;
  }
}

const sweepAtMin = 16;
