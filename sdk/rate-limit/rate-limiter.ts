import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Random } from "@workspace-tasks/kernel/random.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError } from "../call/failure.ts";
import { AdaptivePacing } from "./adaptive-pacing.ts";
import { CallQueue, type Priority } from "./call-queue.ts";
import { queueFull, storeFailed, waitExceeded } from "./limiter-failures.ts";
import type { Permit } from "./permit.ts";
import { SharedPermits, type SharedSettings } from "./shared-permits.ts";
import { SlidingWindow, type WindowLimit } from "./sliding-window.ts";
import type { ClientQueue, QueueEntry, WaitingCall } from "./waiting-call.ts";

// The queue of the calls that share one key's rate limit. A call is in one of these states:
//
//   entered ──acquire──► waiting ──window, pacing and store permit it──► permitted ──settled──► done
//      │                    │ the scope ends                                 │ rejected with 429
//      │ queue full, or     ▼                                                └──► entered again, at its old position
//      └ certainly too long ► failed
//
// A call fails early only by what is certain: its place behind the requests of this process, and what the service has
// asked for. What the pacing makes of a 429 fails no call.
//
// Calls leave the queue by priority. Background calls also leave a tenth of the limit to the others, so that those find a
// free slot at once. No call starves: when nine calls of a higher priority that had to wait were sent before it, it is
// next, and may then use a reserved slot.
//
// One timer serves the queue, so waiting calls never race for a slot. With a store a call needs a permit of it, too.

export interface LimiterSettings extends WindowLimit {
  readonly shared?: SharedSettings | undefined;
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

const reservedPart = 0.1;
// A request may arrive this much later after its permit of the store than the next one for the same slot.
const sharedMarginMs = 2_000;

export class RateLimiter {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #window: SlidingWindow;
  readonly #pacing: AdaptivePacing;
  readonly #queue = new CallQueue<WaitingCall>();
  readonly #settings: LimiterSettings;
  readonly #shared: SharedPermits | undefined;
  #entries = 0;
  #timer: { readonly atMs: number; cancel(): void } | undefined;

  constructor(settings: LimiterSettings, clock: Clock, random: Random) {
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#window = new SlidingWindow(settings);
    this.#pacing = new AdaptivePacing(settings, settings.shared !== undefined);
    this.#shared = this.#createShared(settings);
  }

  enter(priority: Priority): QueueEntry {
    return { position: this.#entries++, priority, rejections: 0 };
  }

  /** A permit, if one is free and no call waits. Never with a store, which has to be asked. */
  tryAcquire(priority: Priority): Permit | undefined {
    if (this.#shared || this.#queue.size > 0) return undefined;
    const nowMs = this.#clock.monotonic();
    if (this.#waitMs(priority, nowMs) > 0) return undefined;
    return this.#createPermit(nowMs, 0);
  }

  /**
   * Waits for a permit. Rejects with `FailureError` when the queue or the scope does not allow it.
   *
   * @param client the same object for all calls of a client
   */
  acquire(entry: QueueEntry, client: ClientQueue, scope: CallScope): Promise<Permit> {
    const { position, priority } = entry;
    const sinceMs = this.#clock.monotonic();
    const leftMs = scope.remainingMs();
    const reason = scope.failure ?? this.#reasonToFail(entry, client, leftMs, sinceMs);
    if (reason) return Promise.reject(new FailureError(reason));
    return new Promise((resolve, reject) => {
      const endsAtMs = sinceMs + leftMs;
      const call: WaitingCall = {
        ...{ position, priority, entry, client, sinceMs, endsAtMs, resolve, reject },
        stopWaiting: () => {},
      };
      this.#queue.add(call);
      client.queued += 1;
      this.#pump();
      if (!this.#queue.has(call)) return;
      call.stopWaiting = scope.onEnd((ended) => this.#fail(call, this.#withRetryAfter(ended, call)));
    });
  }

  /** False while what this limiter knows about the key still matters: its requests, or that the service blocks it. */
  isIdle(): boolean {
    const nowMs = this.#clock.monotonic();
    return this.#queue.size === 0 && this.#window.used(nowMs) === 0 && this.#pacing.blockedMs(nowMs) === 0;
  }

  snapshot(): RateLimitSnapshot {
    const nowMs = this.#clock.monotonic();
    const used = this.#window.used(nowMs);
    const { limit, windowMs } = this.#settings;
    const queued = this.#queue.size;
    const remaining = Math.max(0, this.#pacing.capacity(nowMs) - used);
    const leastMs = this.#leastWaitMs("normal", queued, nowMs);
    const nextSlotInMs = Math.max(this.#waitMs("normal", nowMs), leastMs);
    return { limit, windowMs, used, remaining, queued, nextSlotInMs };
  }

  /** Why a call fails at once instead of waiting. */
  #reasonToFail(entry: QueueEntry, client: ClientQueue, leftMs: number, nowMs: number): Failure | undefined {
    const leastMs = this.#leastWaitMs(entry.priority, this.#queue.aheadOf(entry), nowMs);
    if (leastMs === 0) return undefined;
    // A call that was rejected keeps the position it had.
    if (
      entry.rejections === 0 &&
      client.queued >= client.maxQueued + this.#freeSlots(entry.priority, nowMs)
    ) {
      return queueFull(client.maxQueued, leastMs);
    }
    return leastMs > leftMs ? waitExceeded(entry.rejections, leastMs) : undefined;
  }

  /** What waiting calls use soon: only the pacing holds them back. */
  #freeSlots(priority: Priority, nowMs: number): number {
    if (this.#pacing.blockedMs(nowMs) > 0) return 0;
    return Math.max(0, this.#capacityOf(priority, this.#settings.limit) - this.#window.used(nowMs));
  }

  /** The time until a call of this priority is sent if it is the next. */
  #waitMs(priority: Priority, nowMs: number): number {
    const capacity = this.#capacityOf(priority, this.#pacing.capacity(nowMs));
    return Math.max(
      this.#pacing.waitMs(nowMs, this.#window.inFlight),
      this.#window.waitMs(0, nowMs, capacity),
    );
  }

  /** The time until a call with `ahead` calls before it can be sent at the earliest. */
  #leastWaitMs(priority: Priority, ahead: number, nowMs: number): number {
    const capacity = this.#capacityOf(priority, this.#settings.limit);
    return Math.max(this.#pacing.blockedMs(nowMs), this.#window.waitMs(ahead, nowMs, capacity));
  }

  #capacityOf(priority: Priority, capacity: number): number {
    return this.#mayUseAll(priority) ? capacity : withoutReserved(capacity);
  }

  #mayUseAll(priority: Priority): boolean {
    return priority !== "background" || this.#queue.isNext(priority);
  }

  #withRetryAfter(ended: Failure, { priority }: WaitingCall): Failure {
    const waitMs = Math.ceil(this.#waitMs(priority, this.#clock.monotonic()));
    return ended.code === "DEADLINE_EXCEEDED" ? { ...ended, retryAfterMs: waitMs } : ended;
  }

  #leave(call: WaitingCall): void {
    this.#queue.remove(call);
    call.client.queued -= 1;
    call.stopWaiting();
  }

  #fail(call: WaitingCall, failure: Failure): void {
    if (!this.#queue.has(call)) return;
    this.#leave(call);
    call.reject(new FailureError(failure));
    this.#pump();
  }

  #serve(call: WaitingCall, nowMs: number): void {
    this.#leave(call);
    call.resolve(this.#createPermit(nowMs, nowMs - call.sinceMs));
  }

  #pump(): void {
    let nextAtMs = Number.POSITIVE_INFINITY;
    while (this.#queue.size > 0) {
      const nowMs = this.#clock.monotonic();
      nextAtMs = this.#serveOne(nowMs);
      if (nextAtMs > nowMs) break;
    }
    this.#setTimer(this.#queue.size > 0 ? nextAtMs : Number.POSITIVE_INFINITY);
    if (this.#shared) this.#requestPermits(this.#shared);
  }

  /** Sends the call that is next, if it may be sent now. Returns when to try again: now after a call was sent. */
  #serveOne(nowMs: number): number {
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (const priority of this.#queue.order()) {
      const call = this.#queue.first(priority);
      if (!call) continue;
      const waitMs = this.#waitMs(priority, nowMs);
      if (waitMs > 0) {
        // A delay below the clock's resolution could fire before the time has changed.
        nextAtMs = Math.min(nextAtMs, nowMs + Math.max(1, waitMs));
        continue;
      }
      // The store calls back when it has granted one.
      if (this.#shared && !this.#shared.take()) continue;
      // A call that finds a free slot takes nothing from those that wait.
      if (nowMs > call.sinceMs) this.#queue.passOver(priority);
      this.#serve(call, nowMs);
      return nowMs;
    }
    return nextAtMs;
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

  #createShared({ shared, windowMs }: LimiterSettings): SharedPermits | undefined {
    if (!shared) return undefined;
    return new SharedPermits({
      ...shared,
      windowMs: windowMs + sharedMarginMs,
      clock: this.#clock,
      onChange: () => this.#pump(),
      onFailure: (error) => {
        this.#failEach(({ client }) => storeFailed(client.redactCause(error)));
        this.#pump();
      },
    });
  }

  /** Permits for the waiting calls that the window and the pacing would permit now. */
  #requestPermits(shared: SharedPermits): void {
    const { limit } = this.#settings;
    const nowMs = this.#clock.monotonic();
    const { inFlight } = this.#window;
    const isPaused = this.#queue.size === 0 || this.#pacing.waitMs(nowMs, inFlight) > 0;
    const atOnceMax = isPaused ? 0 : this.#pacing.atOnceMax(inFlight);
    const freeOf = (priority: Priority) =>
      Math.min(
        atOnceMax,
        this.#capacityOf(priority, this.#pacing.capacity(nowMs)) - this.#window.used(nowMs),
      );
    const others = this.#queue.waiting("interactive") + this.#queue.waiting("normal");
    const foreground = Math.min(others, freeOf("normal"));
    const background = Math.min(this.#queue.waiting("background"), freeOf("background"));
    if (foreground > 0 && !this.#queue.isNext("background")) shared.request(foreground, limit);
    else shared.request(Math.max(0, background), this.#capacityOf("background", limit));
  }

  #createPermit(startedAtMs: number, queuedMs: number): Permit {
    this.#window.start();
    this.#pacing.permitted(startedAtMs);
    const nowMs = () => this.#clock.monotonic();
    const accept = () => {
      this.#pacing.accepted(startedAtMs);
      this.#pump();
    };
    return {
      queuedMs,
      responded: (respondedAtMs) => {
        this.#window.responded(respondedAtMs);
        accept();
      },
      rejected: (retryAfterMs) => {
        this.#window.release();
        const own = this.#window.used(nowMs());
        const blockedMs = this.#pacing.blockedMs(nowMs());
        const waitMs = this.#pacing.rejected(startedAtMs, nowMs(), retryAfterMs, own, this.#random);
        if (waitMs > blockedMs) {
          void this.#shared?.block(waitMs);
          this.#failHopeless(waitMs);
        }
        this.#pump();
        return waitMs;
      },
      noResponse: () => {
        this.#window.noResponse(startedAtMs, nowMs());
        accept();
      },
      unused: () => {
        this.#window.release();
        this.#pump();
      },
    };
  }

  /** Calls that cannot wait until the service accepts requests again fail now. */
  #failHopeless(waitMs: number): void {
    const untilMs = this.#clock.monotonic() + waitMs;
    this.#failEach(({ entry, endsAtMs }) =>
      endsAtMs < untilMs ? waitExceeded(entry.rejections, waitMs) : undefined,
    );
  }

  #failEach(reasonOf: (call: WaitingCall) => Failure | undefined): void {
    for (const call of this.#queue.values()) {
      const reason = reasonOf(call);
      if (!reason) continue;
      this.#leave(call);
      call.reject(new FailureError(reason));
    }
  }
}

/** What background calls may use of a capacity. */
export const withoutReserved = (capacity: number): number =>
  Math.max(1, capacity - Math.floor(capacity * reservedPart));
