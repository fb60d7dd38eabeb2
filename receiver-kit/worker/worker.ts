// Claims rows and runs their handlers. States of the worker:
//
//   new       not started, or its start failed; `start` may be called
//   working   polls, handles, renews leases
//   stopping  claims nothing more; `stop` resolves when the last attempt has ended
//
//   new ─► working   start            working ─► stopping   stop            working ─► new   subscribing failed
//
// POLL. One at a time; a poll requested meanwhile follows directly. A poll claims as many rows as there are free slots.
// When it found fewer, it schedules the next one for when a row is due, after `pollMs` at the latest, and after growing
// delays while the inbox fails. When all slots are taken, the end of an attempt polls. A wake-up by the inbox only makes
// the next poll earlier, so one that is lost does no harm.
//
// TENANTS. Where `secrets` finds the tenant, a poll asks which tenants have due rows and claims of each in turn, at most
// `tenantConcurrency` at a time: neither a large backlog nor hanging handlers of one tenant stop the others.
//
// CLAIM. claimed ─► attempt in progress ─► settled, failed, or lost (see attempt.ts). While attempts are in progress, all
// their leases are renewed at a third of `leaseMs`. A claim that a renewal does not confirm, or whose lease must have
// ended while renewals failed, is aborted with LEASE_LOST.
//
// CLOCK. At its start, and when the inbox's clock was set back, the worker repairs the times of its source's rows before
// it claims (see store-clock.ts).
//
// STOP. Waits for the attempts in progress; after `graceMs` they are aborted with RECEIVER_CLOSING and released.

import { ReceiverError } from "../errors.ts";
import { type Claim, leaseExpired, type RowReference } from "../inbox/inbox.ts";
import { leaseLost } from "../inbox/lazy-transaction.ts";
import { randomName } from "../random.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { AttemptOutcome, ClockStats, WorkerCounts } from "../receiver-stats.ts";
import { isTenantSecrets } from "../signature/key-source.ts";
import { includesSource, splitSource } from "../tenant-source.ts";
import { runAttempt } from "./attempt.ts";
import type { Handlers } from "./handlers.ts";
import { StoreClock } from "./store-clock.ts";

type Settings<Transaction> = ReceiverSettings<Transaction> & { readonly handlers: Handlers<Transaction> };

interface RunningAttempt {
  readonly claim: Claim;
  readonly controller: AbortController;
  leaseEndsMs: number;
}

interface Claimed {
  readonly count: number;
  readonly nextInMs: number | null;
}

export class Worker<Transaction> {
  readonly counts: WorkerCounts = { done: 0, stale: 0, retried: 0, dead: 0, released: 0, lost: 0 };
  readonly #settings: Settings<Transaction>;
  readonly #name: string;
  readonly #running = new Map<number, RunningAttempt>();
  readonly #storeClock: StoreClock;
  #mustRepairTimes = true;
  #claims = 0;
  #lastSource = "";
  #inTurn: string[] = [];
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #state: "new" | "working" | "stopping" = "new";
  #polling: Promise<void> | undefined;
  #pollAgain = false;
  #failures = 0;
  #cancelPoll = () => {};
  #cancelRenewal: (() => void) | undefined;
  #unsubscribe: (() => Promise<void>) | undefined;
  #onIdle: (() => void) | undefined;

  constructor(settings: Settings<Transaction>) {
    this.#settings = settings;
    this.#name = randomName(settings.random);
    this.#storeClock = new StoreClock(settings.leaseMs);
  }

  get running(): number {
    return this.#running.size;
  }

  get clockStats(): ClockStats {
    return this.#storeClock.stats;
  }

  async start(): Promise<void> {
    if (this.#state !== "new") return;
    this.#state = "working";
    try {
      this.#unsubscribe = await this.#settings.inbox.subscribe?.((source) => {
        if (source === undefined || this.#handles(source)) this.#poll();
      });
    } catch (error) {
      if (this.#state === "working") this.#state = "new";
      throw error;
    }
    // Stopped while subscribing: `stop` had nothing to unsubscribe yet.
    if (this.#state !== "working") await this.#unsubscribe?.();
    this.#poll();
  }

  #handles(source: string): boolean {
    const { source: own, secrets } = this.#settings;
    return isTenantSecrets(secrets) ? includesSource(own, source) : source === own;
  }

  #poll(): void {
    if (this.#state !== "working") return;
    if (this.#polling) {
      this.#pollAgain = true;
      return;
    }
    this.#cancelPoll();
    this.#polling = this.#claimRows().finally(() => {
      this.#polling = undefined;
      if (this.#pollAgain) {
        this.#pollAgain = false;
        this.#poll();
      }
    });
  }

  #schedulePoll(delayMs: number): void {
    this.#cancelPoll = this.#settings.clock.schedule(delayMs, () => this.#poll(), { background: true });
  }

  async #claimRows(): Promise<void> {
    const { concurrency, pollMs, logger, source, secrets } = this.#settings;
    const free = concurrency - this.#running.size;
    if (free <= 0) return;
    try {
      if (this.#mustRepairTimes) await this.#repairTimes();
      const claimed = isTenantSecrets(secrets) ? this.#claimFairly(free) : this.#claim(source, free);
      const { count, nextInMs } = await claimed;
      this.#failures = 0;
      if (count < free) this.#schedulePoll(Math.min(pollMs, nextInMs ?? pollMs));
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === 1) logger.error({ err: error }, "the inbox cannot be read");
      this.#schedulePoll(Math.min(failureDelayMsMax, pollMs * 2 ** Math.min(this.#failures, 10)));
    }
  }

  /**
   * Claims due rows of the tenants in turn. Who has due rows is asked once per turn of all of them, and not for each row
   * that a worker has room for.
   */
  async #claimFairly(rowsMax: number): Promise<Claimed> {
    const { tenantConcurrency, clock } = this.#settings;
    let nextInMs: number | null = null;
    let count = 0;
    let asked = false;
    if (clock.monotonic() - this.#askedAtMs > turnMsMax) this.#inTurn = [];
    while (count < rowsMax && this.#state === "working") {
      if (this.#inTurn.length === 0) {
        if (asked) break;
        asked = true;
        nextInMs = earlier(nextInMs, await this.#askWhoWaits());
      }
      const source = this.#inTurn.shift();
      if (source === undefined) break;
      const share = Math.ceil((rowsMax - count) / (this.#inTurn.length + 1));
      const rows = Math.min(share, tenantConcurrency - this.#runningOf(source));
      if (rows <= 0) continue;
      const claimed = await this.#claim(source, rows);
      nextInMs = earlier(nextInMs, claimed.nextInMs);
      count += claimed.count;
      this.#lastSource = source;
    }
    return { count, nextInMs };
  }

  /** Lists the sources with due rows, those after the one that was served last first; returns when the next is due. */
  async #askWhoWaits(): Promise<number | null> {
    const { inbox, source, clock } = this.#settings;
    this.#askedAtMs = clock.monotonic();
    const waiting = await inbox.waitingSources(source);
    const due = waiting.filter(({ dueInMs }) => dueInMs <= 0).map((tenant) => tenant.source);
    if (due.length === 0 && waiting.length > 0) await this.#readClock();
    this.#inTurn = [
      ...due.filter((name) => name > this.#lastSource),
      ...due.filter((name) => name <= this.#lastSource),
    ];
    return waiting.reduce<number | null>(
      (next, { dueInMs }) => (dueInMs > 0 ? earlier(next, dueInMs) : next),
      null,
    );
  }

  #runningOf(source: string): number {
    return [...this.#running.values()].filter(({ claim }) => claim.source === source).length;
  }

  async #claim(source: string, rowsMax: number): Promise<Claimed> {
    const { inbox, leaseMs, retry, keyOrder, clock } = this.#settings;
    this.#claims += 1;
    // Each claim has its own name: even a generation that a crash of the database took back cannot match twice.
    const worker = `${this.#name}.${this.#claims}`;
    const { attemptsMax } = retry;
    const sentMs = clock.monotonic();
    const reclaimUntilMs = this.#storeClock.reclaimUntilMs(sentMs);
    const limits = { rowsMax, leaseMs, attemptsMax, reclaimUntilMs };
    const result = await inbox.claim({ source, worker, keyOrder, ...limits });
    this.#watchClock(sentMs, result.nowMs);
    for (const row of result.died) {
      this.counts.dead += 1;
      this.#reportDead(row, new Error(leaseExpired));
    }
    for (const claim of result.claims) void this.#run(claim);
    return { count: result.claims.length, nextInMs: result.nextInMs };
  }

  /** Without a claim nothing else would show that the clock was set back and everything waits. */
  async #readClock(): Promise<void> {
    const sentMs = this.#settings.clock.monotonic();
    this.#watchClock(sentMs, (await this.#settings.inbox.readMarks("")).nowMs);
  }

  #watchClock(sentMs: number, nowMs: number): void {
    const { source, clock, logger } = this.#settings;
    const jumpMs = this.#storeClock.observe({ sentMs, receivedMs: clock.monotonic(), nowMs });
    if (jumpMs === 0) return;
    logger.warn({ source, jumpMs }, "the clock of the inbox was set while the receiver ran");
    if (jumpMs > 0) return;
    this.#mustRepairTimes = true;
    this.#pollAgain = true;
  }

  async #repairTimes(): Promise<void> {
    const { inbox, source: own, secrets, retry, logger } = this.#settings;
    this.#mustRepairTimes = false;
    try {
      const waiting = isTenantSecrets(secrets) ? await inbox.waitingSources(own) : [{ source: own }];
      for (const { source } of waiting) {
        const rows = await inbox.repairTimes({ source, retry });
        if (rows > 0) logger.warn({ source, rows }, "rows were due in the future: the clock was set back");
      }
    } catch (error) {
      this.#mustRepairTimes = true;
      throw error;
    }
  }

  async #run(claim: Claim): Promise<void> {
    const { clock, leaseMs } = this.#settings;
    const controller = new AbortController();
    const attempt: RunningAttempt = { claim, controller, leaseEndsMs: clock.monotonic() + leaseMs };
    this.#running.set(claim.seq, attempt);
    this.#cancelRenewal ??= this.#scheduleRenewal();
    const outcome = await this.#attempt(claim, controller);
    this.counts[outcome] += 1;
    if (this.#running.get(claim.seq) === attempt) this.#running.delete(claim.seq);
    if (this.#running.size === 0) {
      this.#cancelRenewal?.();
      this.#cancelRenewal = undefined;
      this.#onIdle?.();
    }
    this.#poll();
  }

  async #attempt(claim: Claim, controller: AbortController): Promise<AttemptOutcome> {
    const { telemetry, clock } = this.#settings;
    const onDead = (error: unknown) => this.#reportDead({ source: claim.source, id: claim.id }, error);
    const options = { ...this.#settings, claim, controller, onDead };
    if (!telemetry) return runAttempt(options);
    const { id, channel, event, attempts: attempt, receivedAtMs, body, traceparent } = claim;
    const start = {
      ...splitSource(claim.source),
      ...{ id, channel, event, attempt, bodyBytes: body.byteLength },
      waitedMs: Math.max(0, clock.now() - receivedAtMs),
      traceparent: traceparent ?? undefined,
    };
    let attempted: Promise<AttemptOutcome> | undefined;
    const run = (onFailed?: (error: unknown) => void) => {
      attempted ??= runAttempt({ ...options, ...(onFailed && { onFailed }) });
      return attempted;
    };
    // An event does not fail because it could not be reported.
    return telemetry.handle(start, run).catch(() => run());
  }

  async #renew(): Promise<void> {
    const { inbox, leaseMs, clock, logger } = this.#settings;
    const attempts = [...this.#running.values()];
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
    if (this.#running.size === 0) this.#cancelRenewal = undefined;
    else this.#cancelRenewal = this.#scheduleRenewal();
  }

  #scheduleRenewal(): () => void {
    const { clock, leaseMs } = this.#settings;
    return clock.schedule(leaseMs / 3, () => void this.#renew(), { background: true });
  }

  #reportDead(row: RowReference, error: unknown): void {
    const { logger, onDead } = this.#settings;
    logger.error({ ...row, err: error }, "an event is dead: it failed at its last attempt");
    try {
      onDead?.(row, error);
    } catch (thrown) {
      logger.error({ err: thrown }, "onDead threw");
    }
  }

  /** Claims nothing more, waits up to `graceMs` for handlers, then releases the rows that are left. */
  async stop(graceMs: number): Promise<void> {
    if (this.#state !== "working") return;
    this.#state = "stopping";
    const { clock, logger } = this.#settings;
    await this.#unsubscribe?.().catch((error: unknown) => {
      logger.warn({ err: error }, "the subscription to the inbox could not be ended");
    });
    await this.#polling;
    // Only now: the last poll has scheduled another one.
    this.#cancelPoll();
    if (this.#running.size > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
      const cancelGrace = clock.schedule(graceMs, () => {
        const closing = "the receiver is closing; the event will be handled again";
        for (const { controller } of this.#running.values()) {
          controller.abort(new ReceiverError("RECEIVER_CLOSING", closing));
        }
      });
      await idle;
      cancelGrace();
    }
    this.#cancelRenewal?.();
  }
}

const failureDelayMsMax = 30_000;
/** After this a turn begins again with those who wait then. */
const turnMsMax = 250;

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
