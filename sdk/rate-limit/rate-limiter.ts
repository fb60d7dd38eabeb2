import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure } from "../call/failure.ts";
import type { Clock, Random } from "../clock.ts";
import { AdaptivePacing } from "./adaptive-pacing.ts";
import type { SharedSlot, SharedSlots } from "./shared-slots.ts";
import { SlidingWindow, type WindowLimit } from "./sliding-window.ts";

// The queue of the calls that share one key's rate limit. A call is in one of these states:
//
//   entered ──acquire──► waiting ──window, pacing and store permit it──► permitted ──settled──► done
//      │                    │ maxWaitMs or the scope ends                    │ rejected with 429
//      │ queue full, or     ▼                                                └──► entered again, at its old position
//      └ would wait too long► failed
//
// Calls leave the queue in the order of their entries. One timer serves the queue, so waiting calls never race for a
// slot. With a store the window permits a call only once a slot of the store is fetched for it.

/** A call's position in the queue; kept when the service rejects the request. */
export interface QueueEntry {
  readonly position: number;
  queuedMs: number;
  rejections: number;
}

export interface QueueLimits {
  readonly maxQueued: number;
  readonly maxWaitMs: number;
}

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
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: FailureError) => void;
  readonly cleanups: (() => void)[];
}

export class RateLimiter {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #window: SlidingWindow;
  readonly #pacing: AdaptivePacing;
  readonly #shared: SharedSlots | undefined;
  readonly #queue: WaitingCall[] = [];
  #limit: WindowLimit;
  #entries = 0;
  #cancelTimer = () => {};

  constructor(limit: WindowLimit, clock: Clock, random: Random, shared?: SharedSlots) {
    this.#limit = limit;
    this.#clock = clock;
    this.#random = random;
    this.#window = new SlidingWindow(limit);
    this.#pacing = new AdaptivePacing(limit);
    this.#shared = shared;
    shared?.connect({
      onChange: () => this.#pump(),
      onFailure: (failure) => {
        for (const call of [...this.#queue]) this.#fail(call, failure);
      },
    });
  }

  configure(limit: WindowLimit): void {
    this.#limit = limit;
    this.#window.configure(limit);
    this.#pacing.configure(limit);
    this.#pump();
  }

  enter(): QueueEntry {
    return { position: this.#entries++, queuedMs: 0, rejections: 0 };
  }

  /** A permit, if one is free and no call waits. Never with a store: its slots have to be fetched. */
  tryAcquire(): Permit | undefined {
    const nowMs = this.#clock.monotonic();
    if (this.#shared || this.#queue.length > 0 || this.#waitMs(0, nowMs) > 0) return undefined;
    return this.#createPermit(nowMs, 0, undefined);
  }

  /** Waits for a permit. Rejects with `FailureError` when the queue, the wait or the scope does not allow it. */
  acquire(entry: QueueEntry, limits: QueueLimits, scope: CallScope): Promise<Permit> {
    const reason = this.#reasonToFail(entry, limits, scope);
    if (reason) return Promise.reject(new FailureError(reason));
    return new Promise((resolve, reject) => {
      const call: WaitingCall = { entry, sinceMs: this.#clock.monotonic(), resolve, reject, cleanups: [] };
      this.#enqueue(call);
      this.#pump();
      if (!this.#queue.includes(call)) return;
      const waitLimitMs = limits.maxWaitMs - entry.queuedMs;
      call.cleanups.push(
        this.#clock.schedule(waitLimitMs, () => this.#fail(call, this.#waitExceeded(entry))),
        scope.onEnd((failure) => this.#fail(call, failure)),
      );
    });
  }

  isIdle(): boolean {
    return this.#queue.length === 0 && this.#window.isIdle(this.#clock.monotonic());
  }

  snapshot(): RateLimitSnapshot {
    const nowMs = this.#clock.monotonic();
    const used = this.#window.used(nowMs);
    return {
      ...this.#limit,
      used,
      remaining: Math.max(0, this.#pacing.capacity(nowMs) - used),
      queued: this.#queue.length,
      nextSlotInMs: this.#waitMs(this.#queue.length, nowMs),
    };
  }

  /** Why a call fails at once instead of waiting. */
  #reasonToFail(entry: QueueEntry, limits: QueueLimits, scope: CallScope): Failure | undefined {
    if (scope.failure) return scope.failure;
    const nowMs = this.#clock.monotonic();
    const ahead = this.#queue.filter((call) => call.entry.position < entry.position).length;
    const waitMs = this.#waitMs(ahead, nowMs);
    if (waitMs === 0) return undefined;
    // A call that was rejected keeps the position it had.
    if (entry.rejections === 0 && this.#queue.length >= limits.maxQueued) {
      const message = `expected at most ${limits.maxQueued} calls to wait for the rate limit`;
      return failure("RATE_LIMIT_QUEUE_FULL", message, { retryAfterMs: Math.ceil(waitMs) });
    }
    const leftMs = Math.min(limits.maxWaitMs - entry.queuedMs, scope.remainingMs());
    return waitMs > leftMs ? this.#waitExceeded(entry, waitMs) : undefined;
  }

  #waitMs(ahead: number, nowMs: number): number {
    const capacity = this.#pacing.capacity(nowMs);
    return Math.max(this.#pacing.waitMs(nowMs), this.#window.waitMs(ahead, nowMs, capacity));
  }

  #waitExceeded({ rejections }: QueueEntry, waitMs = this.#waitMs(0, this.#clock.monotonic())): Failure {
    const retryAfterMs = Math.ceil(waitMs);
    if (rejections === 0) {
      const message = "the rate limit is used up for longer than the call can wait";
      return failure("RATE_LIMIT_WAIT_EXCEEDED", message, { retryAfterMs });
    }
    const message = `the service rejected the request ${rejections} times and the call cannot wait longer`;
    return failure("RATE_LIMITED", message, { outcome: "rejected", retryAfterMs });
  }

  #enqueue(call: WaitingCall): void {
    const before = this.#queue.findLastIndex(({ entry }) => entry.position <= call.entry.position);
    this.#queue.splice(before + 1, 0, call);
  }

  #leave(call: WaitingCall): void {
    this.#queue.splice(this.#queue.indexOf(call), 1);
    call.entry.queuedMs += this.#clock.monotonic() - call.sinceMs;
    for (const cleanup of call.cleanups) cleanup();
  }

  #fail(call: WaitingCall, failure: Failure): void {
    if (!this.#queue.includes(call)) return;
    this.#leave(call);
    call.reject(new FailureError(failure));
    this.#pump();
  }

  #pump(): void {
    this.#cancelTimer();
    this.#cancelTimer = () => {};
    for (;;) {
      const call = this.#queue[0];
      if (!call) break;
      const nowMs = this.#clock.monotonic();
      const waitMs = this.#waitMs(0, nowMs);
      if (waitMs > 0) {
        // A delay below the clock's resolution could fire before the time has changed.
        this.#cancelTimer = this.#clock.schedule(Math.max(1, waitMs), () => this.#pump());
        break;
      }
      const slot = this.#shared?.take();
      if (this.#shared && !slot) break;
      this.#leave(call);
      call.resolve(this.#createPermit(nowMs, nowMs - call.sinceMs, slot));
    }
    this.#shared?.request(this.#demand());
  }

  /** Waiting calls that the window and the pacing would permit now. */
  #demand(): number {
    const nowMs = this.#clock.monotonic();
    if (this.#queue.length === 0 || this.#pacing.waitMs(nowMs) > 0) return 0;
    const capacity = this.#pacing.capacity(nowMs);
    const free = Math.max(0, capacity - this.#window.used(nowMs));
    // Spaced calls are sent one at a time.
    return Math.min(this.#queue.length, capacity < this.#limit.limit ? 1 : free);
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
        settle(0);
        return waitMs;
      },
      noResponse: () => settle(this.#window.noResponse(nowMs())),
      unused: () => {
        this.#window.release();
        settle(0);
      },
    };
  }
}
