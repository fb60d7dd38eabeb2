import type { CallScope } from "../call/call-scope.ts";
import { Failed, type Failure } from "../call/failure.ts";
import type { Clock, Random } from "../clock.ts";
import { AdaptivePacing } from "./adaptive-pacing.ts";
import type { RemoteSlot, SharedSlots } from "./shared-slots.ts";
import { SlidingWindow } from "./sliding-window.ts";

/**
 * The queue before one key's allowance. Calls leave it in the order they came; one that the service refused goes back
 * to its old place. There is one timer for all of them, so nobody wakes to find that somebody else was faster.
 */
export interface AllowanceOptions {
  readonly limit: number;
  readonly windowMs: number;
}

/** One call's place in the queue; kept over refusals. */
export interface Ticket {
  readonly sequence: number;
  queuedMs: number;
  refusals: number;
}

export interface QueueLimits {
  readonly maxQueued: number;
  readonly maxWaitMs: number;
}

/** The right to send one request. Exactly one of its methods is called, once. */
export interface Permit {
  readonly queuedMs: number;
  /** The request was answered and counted; `answeredAtMs` is when its headers came. */
  answered(answeredAtMs: number): void;
  /** The service refused it. Returns how long everybody waits. */
  refused(retryAfterMs: number | undefined): number;
  /** It may have been counted, but no answer came. */
  unanswered(): void;
  /** It was not sent. */
  unused(): void;
}

/** A look at the allowance of one key. */
export interface RateLimitSnapshot {
  readonly limit: number;
  readonly windowMs: number;
  /** Slots that are taken: under way, or answered less than a window ago. */
  readonly used: number;
  readonly remaining: number;
  readonly queued: number;
  /** When the next call could be sent; 0 when at once. */
  readonly nextSlotInMs: number;
}

interface Waiter {
  readonly ticket: Ticket;
  readonly sinceMs: number;
  readonly grant: (permit: Permit) => void;
  readonly reject: (failure: Failure) => void;
}

export class Allowance {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #window: SlidingWindow;
  readonly #pace: AdaptivePacing;
  readonly #shared: SharedSlots | undefined;
  readonly #queue: Waiter[] = [];
  #options: AllowanceOptions;
  #sequence = 0;
  #cancelTimer = () => {};

  constructor(options: AllowanceOptions, clock: Clock, random: Random, shared?: SharedSlots) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#window = new SlidingWindow(options);
    this.#pace = new AdaptivePacing(options);
    this.#shared = shared;
    shared?.onChange(() => this.#pump());
  }

  configure(options: AllowanceOptions): void {
    this.#options = options;
    this.#window.configure(options);
    this.#pace.configure(options);
    this.#pump();
  }

  ticket(): Ticket {
    return { sequence: this.#sequence++, queuedMs: 0, refusals: 0 };
  }

  /** A permit, when one is free and nobody waits. Slots of a store are never at hand: they are fetched. */
  take(): Permit | undefined {
    const nowMs = this.#clock.monotonic();
    if (this.#shared || this.#queue.length > 0 || this.#waitMs(0, nowMs) > 0) return undefined;
    return this.#grant(nowMs, 0, undefined);
  }

  /** Waits for a permit. Rejects with `Failed` when the queue, the wait or the scope forbids it. */
  acquire(ticket: Ticket, limits: QueueLimits, scope: CallScope): Promise<Permit> {
    const refusal = this.#refusalAtOnce(ticket, limits, scope);
    if (refusal) return Promise.reject(new Failed(refusal));
    return new Promise((resolve, reject) => {
      const sinceMs = this.#clock.monotonic();
      const release: (() => void)[] = [];
      const leave = () => {
        ticket.queuedMs += this.#clock.monotonic() - sinceMs;
        for (const off of release.splice(0)) off();
      };
      const waiter: Waiter = {
        ticket,
        sinceMs,
        grant: (permit) => {
          leave();
          resolve(permit);
        },
        reject: (failure) => {
          leave();
          reject(new Failed(failure));
        },
      };
      this.#enqueue(waiter);
      this.#pump();
      if (!this.#queue.includes(waiter)) return;
      const waitLimitMs = limits.maxWaitMs - ticket.queuedMs;
      release.push(this.#clock.schedule(waitLimitMs, () => this.#reject(waiter, this.#waitExceeded(ticket))));
      release.push(scope.onEnd((failure) => this.#reject(waiter, failure)));
    });
  }

  /** Ends every waiting call. */
  rejectAll(failure: Failure): void {
    for (const waiter of [...this.#queue]) this.#reject(waiter, failure);
  }

  isIdle(): boolean {
    return this.#queue.length === 0 && this.#window.isIdle(this.#clock.monotonic());
  }

  snapshot(): RateLimitSnapshot {
    const nowMs = this.#clock.monotonic();
    const { limit, windowMs } = this.#options;
    const used = this.#window.used(nowMs);
    const remaining = Math.max(0, this.#pace.capacity(nowMs) - used);
    const nextSlotInMs = this.#waitMs(this.#queue.length, nowMs);
    return { limit, windowMs, used, remaining, queued: this.#queue.length, nextSlotInMs };
  }

  #refusalAtOnce(ticket: Ticket, limits: QueueLimits, scope: CallScope): Failure | undefined {
    if (scope.failure) return scope.failure;
    const nowMs = this.#clock.monotonic();
    const ahead = this.#queue.filter((waiter) => waiter.ticket.sequence < ticket.sequence).length;
    const waitMs = this.#waitMs(ahead, nowMs);
    if (waitMs === 0) return undefined;
    // A refused call keeps the place it had.
    if (ticket.refusals === 0 && this.#queue.length >= limits.maxQueued) {
      return queueFull(limits.maxQueued, waitMs);
    }
    const leftMs = Math.min(limits.maxWaitMs - ticket.queuedMs, scope.remainingMs());
    return waitMs > leftMs ? this.#waitExceeded(ticket, waitMs) : undefined;
  }

  #waitMs(ahead: number, nowMs: number): number {
    const capacity = this.#pace.capacity(nowMs);
    return Math.max(this.#pace.waitMs(nowMs), this.#window.waitMs(ahead, nowMs, capacity));
  }

  #waitExceeded(ticket: Ticket, waitMs = this.#waitMs(0, this.#clock.monotonic())): Failure {
    const retryAfterMs = Math.ceil(waitMs);
    return ticket.refusals > 0
      ? {
          code: "RATE_LIMITED",
          message: `the service refused the request ${ticket.refusals} times and the call cannot wait longer`,
          outcome: "rejected",
          remedy: "none",
          retryAfterMs,
        }
      : {
          code: "RATE_LIMIT_WAIT_EXCEEDED",
          message: "the allowance is used up for longer than the call can wait",
          outcome: "not_sent",
          remedy: "none",
          retryAfterMs,
        };
  }

  #enqueue(waiter: Waiter): void {
    let index = this.#queue.length;
    while (index > 0 && (this.#queue[index - 1]?.ticket.sequence ?? -1) > waiter.ticket.sequence) index -= 1;
    this.#queue.splice(index, 0, waiter);
  }

  #reject(waiter: Waiter, failure: Failure): void {
    const index = this.#queue.indexOf(waiter);
    if (index < 0) return;
    this.#queue.splice(index, 1);
    waiter.reject(failure);
    this.#pump();
  }

  #pump(): void {
    this.#cancelTimer();
    this.#cancelTimer = () => {};
    for (;;) {
      const waiter = this.#queue[0];
      if (!waiter) break;
      const nowMs = this.#clock.monotonic();
      const waitMs = this.#waitMs(0, nowMs);
      if (waitMs > 0) {
        // A rest below the resolution of the clock would fire without time having moved.
        this.#cancelTimer = this.#clock.schedule(Math.max(1, waitMs), () => this.#pump());
        break;
      }
      const remote = this.#shared?.take();
      if (this.#shared && !remote) break;
      this.#queue.shift();
      waiter.grant(this.#grant(nowMs, nowMs - waiter.sinceMs, remote));
    }
    this.#shared?.want(this.#demand());
  }

  /** Waiting calls that the local window would let go now. */
  #demand(): number {
    const nowMs = this.#clock.monotonic();
    if (this.#queue.length === 0 || this.#pace.waitMs(nowMs) > 0) return 0;
    const capacity = this.#pace.capacity(nowMs);
    const free = Math.max(0, capacity - this.#window.used(nowMs));
    // Spaced calls go one at a time.
    return Math.min(this.#queue.length, capacity < this.#options.limit ? 1 : free);
  }

  #grant(takenAtMs: number, queuedMs: number, remote: RemoteSlot | undefined): Permit {
    this.#window.take(takenAtMs, this.#pace.capacity(takenAtMs));
    this.#pace.granted(takenAtMs);
    const nowMs = () => this.#clock.monotonic();
    const settle = (freeInMs: number) => {
      remote?.release(freeInMs);
      this.#pump();
    };
    return {
      queuedMs,
      answered: (answeredAtMs) => {
        this.#pace.succeeded();
        settle(this.#window.answered(takenAtMs, answeredAtMs, nowMs()));
      },
      refused: (retryAfterMs) => {
        this.#window.giveBack();
        const own = this.#window.countedLately(nowMs());
        const waitMs = this.#pace.refused(nowMs(), retryAfterMs, own, this.#random);
        this.#shared?.block(waitMs);
        settle(0);
        return waitMs;
      },
      unanswered: () => settle(this.#window.unanswered(nowMs())),
      unused: () => {
        this.#window.giveBack();
        settle(0);
      },
    };
  }
}

function queueFull(maxQueued: number, waitMs: number): Failure {
  return {
    code: "RATE_LIMIT_QUEUE_FULL",
    message: `expected at most ${maxQueued} calls to wait for the allowance`,
    outcome: "not_sent",
    remedy: "none",
    retryAfterMs: Math.ceil(waitMs),
  };
}
