// Claims rows and runs their handlers. Nothing here waits for a wake-up that could be missed: whatever wakes the worker
// only makes it look earlier than the next due row or the next poll would.

import type { Clock } from "../clock.ts";
import { LeaseLostError, ReceiverClosingError } from "../errors.ts";
import type { Claim, Inbox, KeyOrder, RowReference } from "../inbox/inbox.ts";
import type { ReceiverLogger } from "../logger.ts";
import { type Random, randomName } from "../random.ts";
import { type AttemptOutcome, runAttempt } from "./attempt.ts";
import type { Handlers } from "./handlers.ts";
import type { RetryPolicy } from "./retry-policy.ts";

export type WorkerOptions<Transaction> = {
  readonly inbox: Inbox<Transaction>;
  readonly source: string;
  readonly handlers: Handlers<Transaction>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ReceiverLogger;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly handlerTimeoutMs: number;
  readonly retry: RetryPolicy;
  readonly keyOrder: KeyOrder;
  /** Told of every event given up. What it throws is ignored. */
  readonly onDead?: ((row: RowReference, error: unknown) => void) | undefined;
};

export type WorkerCounts = Record<AttemptOutcome, number>;

type Running = { readonly claim: Claim; readonly controller: AbortController; leaseEndsMs: number };

export class Worker<Transaction> {
  readonly counts: WorkerCounts = { done: 0, stale: 0, retried: 0, dead: 0, released: 0, lost: 0 };
  readonly #options: WorkerOptions<Transaction>;
  readonly #name: string;
  readonly #running = new Map<number, Running>();
  #claims = 0;
  #state: "new" | "working" | "stopping" = "new";
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #failures = 0;
  #cancelLook = () => {};
  #cancelRenewal: (() => void) | undefined;
  #unsubscribe: (() => Promise<void>) | undefined;
  #whenIdle: (() => void) | undefined;

  constructor(options: WorkerOptions<Transaction>) {
    this.#options = options;
    this.#name = randomName(options.random);
  }

  get running(): number {
    return this.#running.size;
  }

  async start(): Promise<void> {
    if (this.#state !== "new") return;
    this.#state = "working";
    try {
      this.#unsubscribe = await this.#options.inbox.subscribe?.(() => this.#look());
    } catch (error) {
      if (this.#state === "working") this.#state = "new";
      throw error;
    }
    // Stopped while it was starting: `stop` had nothing to undo yet.
    if (this.#state !== "working") await this.#unsubscribe?.();
    this.#look();
  }

  #look(): void {
    if (this.#state !== "working") return;
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#cancelLook();
    this.#looking = this.#claimAll().finally(() => {
      this.#looking = undefined;
      if (this.#lookAgain) {
        this.#lookAgain = false;
        this.#look();
      }
    });
  }

  async #claimAll(): Promise<void> {
    const { concurrency, pollMs, clock } = this.#options;
    const free = concurrency - this.#running.size;
    if (free <= 0) return;
    try {
      const { claims, nextInMs } = await this.#claim(free);
      this.#failures = 0;
      for (const claim of claims) void this.#run(claim);
      if (claims.length === free) return;
      this.#cancelLook = clock.schedule(Math.min(pollMs, nextInMs ?? pollMs), () => this.#look());
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === 1) this.#options.logger.error({ err: error }, "the inbox cannot be read");
      const delayMs = Math.min(maxFailureDelayMs, pollMs * 2 ** Math.min(this.#failures, 10));
      this.#cancelLook = clock.schedule(delayMs, () => this.#look());
    }
  }

  async #claim(rowsMax: number) {
    const { inbox, source, leaseMs, retry, keyOrder } = this.#options;
    this.#claims += 1;
    // A name of its own for every claim: even a generation that a crash of the database took back cannot match twice.
    const worker = `${this.#name}.${this.#claims}`;
    const result = await inbox.claim({
      ...{ source, worker, rowsMax, leaseMs, keyOrder },
      attemptsMax: retry.attemptsMax,
    });
    for (const row of result.died) {
      this.counts.dead += 1;
      this.#tellDead(row, new Error("the lease ran out at the last attempt"));
    }
    return result;
  }

  async #run(claim: Claim): Promise<void> {
    const { clock, leaseMs } = this.#options;
    const controller = new AbortController();
    const running: Running = { claim, controller, leaseEndsMs: clock.monotonic() + leaseMs };
    this.#running.set(claim.seq, running);
    this.#cancelRenewal ??= clock.schedule(leaseMs / 3, () => void this.#renew());
    const outcome = await runAttempt({
      ...this.#options,
      claim,
      controller,
      onDead: (error) => this.#tellDead({ source: claim.source, id: claim.id }, error),
    });
    this.counts[outcome] += 1;
    if (this.#running.get(claim.seq) === running) this.#running.delete(claim.seq);
    if (this.#running.size === 0) {
      this.#cancelRenewal?.();
      this.#cancelRenewal = undefined;
      this.#whenIdle?.();
    }
    this.#look();
  }

  async #renew(): Promise<void> {
    const { inbox, leaseMs, clock, logger } = this.#options;
    const runs = [...this.#running.values()];
    const startedMs = clock.monotonic();
    let held: ReadonlySet<number> | undefined;
    try {
      held = await inbox.renew(
        runs.map(({ claim }) => claim),
        leaseMs,
      );
    } catch (error) {
      logger.warn({ err: error, events: runs.length }, "leases could not be renewed");
    }
    for (const run of runs) {
      if (held?.has(run.claim.seq)) run.leaseEndsMs = startedMs + leaseMs;
      else if (held || clock.monotonic() >= run.leaseEndsMs) run.controller.abort(new LeaseLostError());
    }
    if (this.#running.size === 0) this.#cancelRenewal = undefined;
    else this.#cancelRenewal = clock.schedule(leaseMs / 3, () => void this.#renew());
  }

  #tellDead(row: RowReference, error: unknown): void {
    this.#options.logger.error({ ...row, err: error }, "an event is dead: it failed at its last attempt");
    try {
      this.#options.onDead?.(row, error);
    } catch (thrown) {
      this.#options.logger.error({ err: thrown }, "onDead threw");
    }
  }

  /** Claims nothing more, waits up to `graceMs` for handlers, then gives the rest of the rows back. */
  async stop(graceMs: number): Promise<void> {
    if (this.#state !== "working") return;
    this.#state = "stopping";
    await this.#unsubscribe?.().catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, "the inbox could not be told that nobody listens any more");
    });
    await this.#looking;
    // Only now: the last look has planned another one.
    this.#cancelLook();
    if (this.#running.size > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
      const cancel = this.#options.clock.schedule(graceMs, () => {
        for (const { controller } of this.#running.values()) controller.abort(new ReceiverClosingError());
      });
      await idle;
      cancel();
    }
    this.#cancelRenewal?.();
  }
}

const maxFailureDelayMs = 30_000;
