import type { Clock } from "../clock.ts";
import { ReceiverError } from "../errors.ts";
import type { Claim, Inbox } from "../inbox/inbox.ts";
import { leaseLost } from "../inbox/lazy-transaction.ts";
import type { ReceiverLogger } from "../logger.ts";
import { settledWithin } from "../with-timeout.ts";

interface Settings {
  readonly inbox: Pick<Inbox, "renew">;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: ReceiverLogger;
}

export interface RunningAttempt {
  readonly claim: Claim;
  readonly controller: AbortController;
  leaseEndsMs: number;
  /** When its handlers ended; since then it waits for the inbox alone. */
  handledAtMs: number | undefined;
}

/** The attempts in progress of a worker: renews their leases, and ends them when the worker stops. */
export class RunningAttempts {
  readonly #settings: Settings;
  readonly #attempts = new Map<number, RunningAttempt>();
  #cancelRenewal: (() => void) | undefined;
  #onStopped: (() => void) | undefined;
  #stoppingSinceMs = 0;
  #cancelStopCheck = () => {};

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get size(): number {
    return this.#attempts.size;
  }

  countOf(source: string): number {
    return [...this.#attempts.values()].filter(({ claim }) => claim.source === source).length;
  }

  add(claim: Claim): RunningAttempt {
    const { clock, leaseMs } = this.#settings;
    const attempt: RunningAttempt = {
      ...{ claim, controller: new AbortController(), handledAtMs: undefined },
      leaseEndsMs: clock.monotonic() + leaseMs,
    };
    this.#attempts.set(claim.seq, attempt);
    this.#cancelRenewal ??= this.#scheduleRenewal();
    return attempt;
  }

  /** The handlers of the attempt have ended. */
  handled(attempt: RunningAttempt): void {
    attempt.handledAtMs = this.#settings.clock.monotonic();
    if (this.#onStopped) this.#checkStopLater();
  }

  remove(attempt: RunningAttempt): void {
    const { seq } = attempt.claim;
    if (this.#attempts.get(seq) === attempt) this.#attempts.delete(seq);
    if (this.#attempts.size === 0) {
      this.#cancelRenewal?.();
      this.#cancelRenewal = undefined;
    }
    this.#endStopIfIdle();
  }

  /** Resolves when the attempts have ended; aborts them after `graceMs`, and at once when the inbox is silent. */
  async stop(graceMs: number): Promise<void> {
    const { clock } = this.#settings;
    if (this.#attempts.size > 0) {
      const stopped = new Promise<void>((resolve) => {
        this.#onStopped = resolve;
      });
      this.#stoppingSinceMs = clock.monotonic();
      this.#checkStopLater();
      this.#abortIfUnreachable();
      const cancelGrace = clock.schedule(graceMs, () => this.#abortAll());
      await stopped;
      cancelGrace();
    }
    this.#cancelStopCheck();
    this.#cancelRenewal?.();
  }

  #scheduleRenewal(): () => void {
    const { clock, leaseMs } = this.#settings;
    return clock.schedule(leaseMs / 3, () => void this.#renew(), { background: true });
  }

  /** False when the inbox failed. */
  async #renew(): Promise<boolean> {
    const { inbox, leaseMs, clock, logger } = this.#settings;
    const attempts = [...this.#attempts.values()];
    const startedMs = clock.monotonic();
    let held: ReadonlySet<number> | undefined;
    try {
      const claims = attempts.map(({ claim }) => claim);
      held = await inbox.renew(claims, leaseMs);
    } catch (error) {
      logger.warn({ err: error, events: attempts.length }, "leases could not be renewed");
    }
    for (const attempt of attempts) {
      if (held?.has(attempt.claim.seq)) attempt.leaseEndsMs = startedMs + leaseMs;
      else if (held || clock.monotonic() >= attempt.leaseEndsMs) attempt.controller.abort(leaseLost());
    }
    if (this.#attempts.size === 0) this.#cancelRenewal = undefined;
    else this.#cancelRenewal = this.#scheduleRenewal();
    return held !== undefined;
  }

  #abortIfUnreachable(): void {
    this.#cancelRenewal?.();
    let isReachable = false;
    const renewed = this.#renew().then((succeeded) => {
      isReachable = succeeded;
    });
    void settledWithin(renewed, storeGraceMs, this.#settings.clock).then(() => {
      if (!isReachable) this.#abortAll();
    });
  }

  #abortAll(): void {
    const closing = "the receiver is closing; the event will be handled again";
    for (const { controller } of this.#attempts.values()) {
      controller.abort(new ReceiverError("RECEIVER_CLOSING", closing));
    }
  }

  /** An attempt that waits for the inbox alone is waited for until its grace ends. */
  #checkStopLater(): void {
    this.#cancelStopCheck();
    this.#cancelStopCheck = this.#settings.clock.schedule(storeGraceMs, () => this.#endStopIfIdle());
  }

  #endStopIfIdle(): void {
    const nowMs = this.#settings.clock.monotonic();
    const waits = [...this.#attempts.values()].some(({ handledAtMs }) => {
      const sinceMs = Math.max(handledAtMs ?? Number.POSITIVE_INFINITY, this.#stoppingSinceMs);
      return nowMs - sinceMs < storeGraceMs;
    });
    if (!waits) this.#onStopped?.();
  }
}

/** How long a worker that stops waits for calls of the inbox. */
export const storeGraceMs = 1_000;
