import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure } from "../call/failure.ts";
import type { Clock, Random } from "../clock.ts";
import { AdaptivePacing } from "./adaptive-pacing.ts";
import { CallQueue, type Priority, priorities, type Queueable } from "./call-queue.ts";
import type { Permit } from "./permit.ts";
import type { SharedLimit } from "./shared-limit.ts";
import type { SharedSlot } from "./shared-slots.ts";
import { SlidingWindow, type WindowLimit } from "./sliding-window.ts";

// The queue of the calls that share one key's rate limit. A call is in one of these states:
//
//   entered ──acquire──► waiting ──window, pacing and store permit it──► permitted ──settled──► done
//      │                    │ maxWaitMs or the scope ends                    │ rejected with 429
//      │ queue full, or     ▼                                                └──► entered again, at its old position
//      └ would wait too long► failed
//
// Calls leave the queue by priority, and within a priority the clients take turns. Background calls also leave `reserved`
// requests per window to the others, so that those find a free slot at once. No call starves: when nine calls of a higher
// priority that had to wait were sent before it, it is next, and may then use a reserved slot.
//
// One timer serves the queue, so waiting calls never race for a slot. With a store the window permits a call only once a
// slot of the store is fetched for it.

/** A call's position in the queue; kept when the service rejects the request. */
export interface QueueEntry {
  readonly position: number;
  readonly priority: Priority;
  queuedMs: number;
  rejections: number;
}

/** How long one client's calls may queue. */
export interface QueueLimits {
  readonly maxQueued: number;
  readonly maxWaitMs: number;
}

export interface LimiterSettings extends WindowLimit {
  /** Requests per window that background calls leave to the others. */
  readonly reserved: number;
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

interface WaitingCall extends Queueable {
  readonly entry: QueueEntry;
  readonly sinceMs: number;
  /** The scope ends it earlier, or this does. */
  readonly endsAtMs: number;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: FailureError) => void;
  readonly cleanups: (() => void)[];
}

/** A level whose calls were passed over so often is served next. */
const passedOverMax = 9;

export class RateLimiter {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #window: SlidingWindow;
  readonly #pacing: AdaptivePacing;
  readonly #queue = new CallQueue<WaitingCall>();
  /** Calls of higher priority that were sent after a wait, while calls of this one waited. */
  readonly #passedOver = { interactive: 0, normal: 0, background: 0 };
  #shared: SharedLimit | undefined;
  #settings: LimiterSettings;
  #entries = 0;
  #timer: { readonly atMs: number; cancel(): void } | undefined;

  constructor(settings: LimiterSettings, clock: Clock, random: Random) {
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#window = new SlidingWindow(settings);
    this.#pacing = new AdaptivePacing(settings);
  }

  configure(settings: LimiterSettings): void {
    this.#settings = settings;
    this.#window.configure(settings);
    this.#pacing.configure(settings);
    this.#pump();
  }

  /** Takes slots from here on, from a store or from none. Slots in use are released where they came from. */
  share(shared: SharedLimit | undefined): void {
    this.#shared = shared;
    shared?.connect({
      onChange: () => this.#pump(),
      onFailure: (failure) => {
        for (const call of [...this.#queue.values()]) this.#fail(call, failure);
      },
    });
  }

  enter(priority: Priority): QueueEntry {
    return { position: this.#entries++, priority, queuedMs: 0, rejections: 0 };
  }

  /** A permit, if one is free and no call waits. Never with a store: its slots have to be fetched. */
  tryAcquire(priority: Priority): Permit | undefined {
    if (this.#shared || this.#queue.size > 0) return undefined;
    const nowMs = this.#clock.monotonic();
    if (this.#waitMs(priority, 0, nowMs) > 0) return undefined;
    return this.#createPermit(nowMs, 0, undefined);
  }

  /**
   * Waits for a permit. Rejects with `FailureError` when the queue, the wait or the scope does not allow it.
   *
   * @param limits those of the client, the same object for all of its calls
   */
  acquire(entry: QueueEntry, limits: QueueLimits, scope: CallScope): Promise<Permit> {
    const { position, priority } = entry;
    const sinceMs = this.#clock.monotonic();
    const maxWaitMs = limits.maxWaitMs - entry.queuedMs;
    const leftMs = Math.min(maxWaitMs, scope.remainingMs());
    const place = { position, priority, owner: limits };
    const reason = scope.failure ?? this.#reasonToFail(entry, place, limits, leftMs, sinceMs);
    if (reason) return Promise.reject(new FailureError(reason));
    return new Promise((resolve, reject) => {
      const endsAtMs = sinceMs + leftMs;
      const call: WaitingCall = { ...place, entry, sinceMs, endsAtMs, resolve, reject, cleanups: [] };
      this.#queue.add(call);
      this.#pump();
      if (!this.#queue.has(call)) return;
      call.cleanups.push(scope.onEnd((failure) => this.#fail(call, failure)));
      if (maxWaitMs > leftMs) return;
      call.cleanups.push(this.#clock.schedule(maxWaitMs, () => this.#fail(call, this.#waitExceeded(entry))));
    });
  }

  /** False while what this limiter knows about the key still matters: its requests, or that the service blocks it. */
  isIdle(): boolean {
    const nowMs = this.#clock.monotonic();
    return this.#queue.size === 0 && this.#window.isIdle(nowMs) && !this.#pacing.isBlocked(nowMs);
  }

  snapshot(): RateLimitSnapshot {
    const nowMs = this.#clock.monotonic();
    const used = this.#window.used(nowMs);
    const { limit, windowMs } = this.#settings;
    return {
      limit,
      windowMs,
      used,
      remaining: Math.max(0, this.#pacing.capacity(nowMs) - used),
      queued: this.#queue.size,
      nextSlotInMs: this.#waitMs("normal", this.#queue.size, nowMs),
    };
  }

  /** Why a call fails at once instead of waiting. */
  #reasonToFail(
    entry: QueueEntry,
    place: Queueable,
    { maxQueued }: QueueLimits,
    leftMs: number,
    nowMs: number,
  ): Failure | undefined {
    const waitMs = this.#waitMs(entry.priority, this.#queue.aheadOf(place), nowMs);
    if (waitMs === 0) return undefined;
    // A call that was rejected keeps the position it had.
    if (entry.rejections === 0 && this.#queue.countOf(place.owner) >= maxQueued) {
      const message = `expected at most ${maxQueued} calls of this client to wait for the rate limit`;
      return failure("RATE_LIMIT_QUEUE_FULL", message, { retryAfterMs: Math.ceil(waitMs) });
    }
    return waitMs > leftMs ? this.#waitExceeded(entry, waitMs) : undefined;
  }

  /** The time until a call of this priority with `ahead` calls before it gets a slot. */
  #waitMs(priority: Priority, ahead: number, nowMs: number): number {
    const capacity = this.#pacing.capacity(nowMs);
    const slots =
      priority === "background" && !this.#isNext(priority) ? this.#background(capacity) : capacity;
    return Math.max(this.#pacing.waitMs(nowMs), this.#window.waitMs(ahead, nowMs, slots));
  }

  /** What background calls may use of a capacity. */
  #background(capacity: number): number {
    const { limit, reserved } = this.#settings;
    return Math.max(1, capacity - Math.floor((capacity * reserved) / limit));
  }

  /** Whether so many calls were sent before those of this priority that it is their turn. */
  #isNext(priority: Priority): boolean {
    return this.#passedOver[priority] >= passedOverMax;
  }

  #waitExceeded(
    { rejections, priority }: QueueEntry,
    waitMs = this.#waitMs(priority, 0, this.#clock.monotonic()),
  ): Failure {
    const retryAfterMs = Math.ceil(waitMs);
    if (rejections === 0) {
      const message = "the rate limit is used up for longer than deadlineMs or maxWaitMs lets the call wait";
      return failure("RATE_LIMIT_WAIT_EXCEEDED", message, { retryAfterMs });
    }
    const message = `the service rejected the request ${rejections} times and the call cannot wait longer`;
    return failure("RATE_LIMITED", message, { outcome: "rejected", retryAfterMs });
  }

  #leave(call: WaitingCall, wasServed: boolean): void {
    this.#queue.remove(call, wasServed);
    call.entry.queuedMs += this.#clock.monotonic() - call.sinceMs;
    for (const cleanup of call.cleanups) cleanup();
    if (this.#queue.waiting(call.priority) === 0) this.#passedOver[call.priority] = 0;
  }

  #fail(call: WaitingCall, failure: Failure): void {
    if (!this.#queue.has(call)) return;
    this.#leave(call, false);
    call.reject(new FailureError(failure));
    this.#pump();
  }

  #pump(): void {
    let nextAtMs = Number.POSITIVE_INFINITY;
    while (this.#queue.size > 0) {
      const nowMs = this.#clock.monotonic();
      nextAtMs = this.#serveOne(nowMs);
      if (nextAtMs > nowMs) break;
    }
    this.#setTimer(this.#queue.size > 0 ? nextAtMs : Number.POSITIVE_INFINITY);
    if (this.#shared) this.#requestSlots(this.#shared);
  }

  /** Sends the call that is next, if it may be sent now. Returns when to try again: now after a call was sent. */
  #serveOne(nowMs: number): number {
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (const priority of this.#order()) {
      const call = this.#queue.first(priority);
      if (!call) continue;
      const waitMs = this.#waitMs(priority, 0, nowMs);
      if (waitMs > 0) {
        // A delay below the clock's resolution could fire before the time has changed.
        nextAtMs = Math.min(nextAtMs, nowMs + Math.max(1, waitMs));
        continue;
      }
      const slot = this.#shared?.take(
        priority === "background" && !this.#isNext(priority) ? priority : "any",
      );
      // The store calls back when it has one.
      if (this.#shared && !slot) continue;
      // A call that finds a free slot takes nothing from those that wait.
      if (nowMs > call.sinceMs) this.#passOver(priority);
      this.#leave(call, true);
      call.resolve(this.#createPermit(nowMs, nowMs - call.sinceMs, slot));
      return nowMs;
    }
    return nextAtMs;
  }

  #order(): readonly Priority[] {
    if (!this.#isNext("normal") && !this.#isNext("background")) return priorities;
    return [...priorities].sort((a, b) => Number(this.#isNext(b)) - Number(this.#isNext(a)));
  }

  #passOver(served: Priority): void {
    this.#passedOver[served] = 0;
    for (const lower of priorities.slice(priorities.indexOf(served) + 1)) {
      if (this.#queue.waiting(lower) > 0) this.#passedOver[lower] += 1;
    }
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

  /** Slots for the waiting calls that the window and the pacing would permit now. */
  #requestSlots(shared: SharedLimit): void {
    const nowMs = this.#clock.monotonic();
    const isPaused = this.#queue.size === 0 || this.#pacing.waitMs(nowMs) > 0;
    const capacity = this.#pacing.capacity(nowMs);
    // Spaced calls are sent one at a time.
    const atOnceMax = isPaused ? 0 : capacity < this.#settings.limit ? 1 : this.#queue.size;
    const used = this.#window.used(nowMs);
    const free = Math.min(atOnceMax, Math.max(0, capacity - used));
    const others = this.#queue.waiting("interactive") + this.#queue.waiting("normal");
    const foreground = Math.min(others, free);
    const background = Math.min(this.#queue.waiting("background"), free, this.#background(capacity) - used);
    shared.request(foreground, Math.max(0, background - foreground));
  }

  #createPermit(startedAtMs: number, queuedMs: number, slot: SharedSlot | undefined): Permit {
    this.#window.start();
    this.#pacing.permitted(startedAtMs);
    const nowMs = () => this.#clock.monotonic();
    const settle = (freeInMs: number) => {
      slot?.release(freeInMs);
      this.#pump();
    };
    return {
      queuedMs,
      responded: (respondedAtMs) => {
        this.#pacing.succeeded();
        settle(this.#window.responded(startedAtMs, respondedAtMs, nowMs()));
      },
      rejected: (retryAfterMs) => {
        this.#window.release();
        const own = this.#window.recentCount(nowMs());
        const waitMs = this.#pacing.rejected(nowMs(), retryAfterMs, own, this.#random);
        this.#shared?.block(waitMs);
        this.#failHopeless(nowMs() + waitMs);
        settle(0);
        return waitMs;
      },
      noResponse: () => settle(this.#window.noResponse(startedAtMs, nowMs())),
      unused: () => {
        this.#window.release();
        settle(0);
      },
    };
  }

  /** Calls that cannot wait until the service accepts requests again fail now. */
  #failHopeless(untilMs: number): void {
    for (const call of [...this.#queue.values()]) {
      if (call.endsAtMs < untilMs) this.#fail(call, this.#waitExceeded(call.entry));
    }
  }
}
