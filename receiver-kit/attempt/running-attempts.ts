import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import { ReceiverError } from "../errors.ts";
import { leaseLost } from "../inbox/handler-transaction.ts";
import type { InboxLease } from "../inbox/inbox.ts";
import { type Attempt, Cancellation } from "./attempt.ts";

export interface RunningAttempt<Transaction> extends Attempt<Transaction> {
  readonly source: string;
  /** When its handlers ended; since then it has no slot, and waits for the inbox alone. */
  handledAtMs: number | undefined;
}

/** The attempts in progress of a worker, and their end when it stops. */
export class RunningAttempts<Transaction> {
  /** Those with a slot: their handlers run. */
  handling = 0;
  readonly #clock: Clock;
  /**
   * In the order in which they were started. Not a Set: what was in one while it grew is kept until the next full collection,
   * and with it all that a finished attempt refers to.
   */
  readonly #attempts: RunningAttempt<Transaction>[] = [];
  readonly #handlingOf = new Map<string, number>();
  #onEnded: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those that wait for the inbox to record their end included. */
  get size(): number {
    return this.#attempts.length;
  }

  /** Their events. */
  get events(): number {
    let events = 0;
    for (const { rows } of this.#attempts) events += rows.length;
    return events;
  }

  /** The first to be started. */
  get oldest(): RunningAttempt<Transaction> | undefined {
    return this.#attempts[0];
  }

  has(lease: InboxLease): boolean {
    return this.#of(lease) !== undefined;
  }

  handlingOf(source: string): number {
    return this.#handlingOf.get(source) ?? 0;
  }

  add(
    source: string,
    { rows, batch }: Omit<Attempt<Transaction>, "cancellation">,
  ): RunningAttempt<Transaction> {
    const cancellation = new Cancellation();
    const attempt = { source, rows, batch, cancellation, handledAtMs: undefined };
    this.#attempts.push(attempt);
    this.#countSlot(source, 1);
    return attempt;
  }

  /** The handlers of the attempt have ended. */
  handled(attempt: RunningAttempt<Transaction>): void {
    if (attempt.handledAtMs !== undefined) return;
    attempt.handledAtMs = this.#clock.monotonic();
    this.#countSlot(attempt.source, -1);
  }

  remove(attempt: RunningAttempt<Transaction>): void {
    this.handled(attempt);
    const at = this.#attempts.indexOf(attempt);
    if (at >= 0) this.#attempts.splice(at, 1);
    if (this.#attempts.length === 0) this.#onEnded?.();
  }

  #of(lease: InboxLease): RunningAttempt<Transaction> | undefined {
    return this.#attempts.find(({ rows }) => rows.some(({ claim }) => claim.lease === lease));
  }

  #countSlot(source: string, change: 1 | -1): void {
    this.handling += change;
    const count = this.handlingOf(source) + change;
    if (count > 0) this.#handlingOf.set(source, count);
    else this.#handlingOf.delete(source);
  }

  /** Aborts the attempt on a row of a lost lease. */
  abort(lease: InboxLease): void {
    this.#of(lease)?.cancellation.cancel(leaseLost());
  }

  /**
   * Resolves when the attempts have ended; aborts them after `graceMs`, and before that when the inbox is silent: `renew`
   * returns false or does not return. A second later it waits no longer for those that have not ended.
   */
  async stop(graceMs: number, renew: () => Promise<boolean>): Promise<void> {
    if (this.#attempts.length === 0) return;
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
    for (const { cancellation } of this.#attempts) {
      cancellation.cancel(new ReceiverError("RECEIVER_CLOSING", closing));
    }
  }
}

/** How long a worker that stops waits for calls of the inbox. */
export const storeGraceMs = 1_000;
