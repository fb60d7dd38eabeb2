import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import { ReceiverError } from "../errors.ts";
import type { InboxClaim, InboxLease } from "../inbox/inbox.ts";
import { leaseLost } from "../inbox/lazy-transaction.ts";
import type { Attempt } from "./attempt.ts";
import { Cancellation } from "./cancellation.ts";

export interface RunningAttempt extends Attempt {
  /** When its handlers ended; since then it waits for the inbox alone. */
  handledAtMs: number | undefined;
  hasSlot: boolean;
}

/** The attempts in progress of a worker, and their end when it stops. */
export class RunningAttempts {
  /** Those with a slot: their handlers run. */
  handling = 0;
  readonly #clock: Clock;
  readonly #attempts = new Map<InboxLease, RunningAttempt>();
  readonly #handlingOf = new Map<string, number>();
  #onEnded: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those that wait for the inbox to record their end included. */
  get size(): number {
    return this.#attempts.size;
  }

  /** The first to be started. */
  get oldest(): RunningAttempt | undefined {
    return this.#attempts.values().next().value;
  }

  has(lease: InboxLease): boolean {
    return this.#attempts.has(lease);
  }

  handlingOf(source: string): number {
    return this.#handlingOf.get(source) ?? 0;
  }

  add(claim: InboxClaim, head: string | null): RunningAttempt {
    const cancellation = new Cancellation();
    const attempt: RunningAttempt = { claim, head, cancellation, handledAtMs: undefined, hasSlot: false };
    this.#attempts.set(claim.lease, attempt);
    this.#setSlot(attempt, true);
    return attempt;
  }

  /** The handlers of the attempt have ended. */
  handled(attempt: RunningAttempt): void {
    attempt.handledAtMs = this.#clock.monotonic();
    this.#setSlot(attempt, false);
  }

  remove(attempt: RunningAttempt): void {
    this.#setSlot(attempt, false);
    this.#attempts.delete(attempt.claim.lease);
    if (this.#attempts.size === 0) this.#onEnded?.();
  }

  #setSlot(attempt: RunningAttempt, hasSlot: boolean): void {
    if (attempt.hasSlot === hasSlot) return;
    attempt.hasSlot = hasSlot;
    const { source } = attempt.claim;
    const change = hasSlot ? 1 : -1;
    this.handling += change;
    const count = this.handlingOf(source) + change;
    if (count > 0) this.#handlingOf.set(source, count);
    else this.#handlingOf.delete(source);
  }

  /** Aborts the attempt on a row of a lost lease. */
  abort(lease: InboxLease): void {
    this.#attempts.get(lease)?.cancellation.cancel(leaseLost());
  }

  /**
   * Resolves when the attempts have ended; aborts them after `graceMs`, and before that when the inbox is silent: `renew`
   * returns false or does not return. A second later it waits no longer for those that have not ended.
   */
  async stop(graceMs: number, renew: () => Promise<boolean>): Promise<void> {
    if (this.#attempts.size === 0) return;
    const clock = this.#clock;
    const ended = new Promise<void>((resolve) => {
      this.#onEnded = resolve;
    });
    let isReachable = false;
    const renewed = renew().then((succeeded) => {
      isReachable = succeeded;
    });
    const silent = settledWithin(renewed, storeGraceMs, clock).then(() => (isReachable ? ended : undefined));
    await settledWithin(Promise.race([ended, silent]), graceMs, clock);
    this.#abortAll(
      isReachable
        ? `graceMs (${graceMs}) is over`
        : `the inbox did not renew its lease within ${storeGraceMs} ms`,
    );
    await settledWithin(ended, storeGraceMs, clock);
  }

  #abortAll(reason: string): void {
    const closing = `the receiver is closing and ${reason}; the event will be handled again`;
    for (const { cancellation } of this.#attempts.values()) {
      cancellation.cancel(new ReceiverError("RECEIVER_CLOSING", closing));
    }
  }
}

/** How long a worker that stops waits for calls of the inbox. */
export const storeGraceMs = 1_000;
