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
// STOP. Waits for the attempts in progress; after `graceMs` they are aborted with RECEIVER_CLOSING and released, and
// before that when the inbox does not renew their leases within 1 s: what they do could not be committed. What
// only waits for the inbox is given 1 s, too: the leases of those rows end by themselves.

import { reported } from "../delivery-telemetry.ts";
import { type Claim, leaseExpired, type RowReference } from "../inbox/inbox.ts";
import { randomName } from "../random.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { AttemptOutcome, ClockStats, WorkerCounts } from "../receiver-stats.ts";
import { isTenantSecrets } from "../signature/key-source.ts";
import { includesSource, splitSource } from "../tenant-source.ts";
import { settledWithin } from "../with-timeout.ts";
import { runAttempt } from "./attempt.ts";
import type { Handlers } from "./handlers.ts";
import { OutageLog } from "./outage-log.ts";
import { type RunningAttempt, RunningAttempts, storeGraceMs } from "./running-attempts.ts";
import { StoreClock } from "./store-clock.ts";
import { TenantTurns } from "./tenant-turns.ts";

type Settings<Transaction> = ReceiverSettings<Transaction> & { readonly handlers: Handlers<Transaction> };

interface Claimed {
  readonly count: number;
  readonly nextInMs: number | null;
}

export class Worker<Transaction> {
  readonly counts: WorkerCounts = { done: 0, stale: 0, retried: 0, dead: 0, released: 0, lost: 0 };
  readonly #settings: Settings<Transaction>;
  readonly #name: string;
  readonly #running: RunningAttempts;
  readonly #storeClock: StoreClock;
  #mustRepairTimes = true;
  #claims = 0;
  readonly #turns: TenantTurns;
  #state: "new" | "working" | "stopping" = "new";
  #polling: Promise<void> | undefined;
  #pollAgain = false;
  #failures = 0;
  readonly #outage: OutageLog;
  #cancelPoll = () => {};
  #unsubscribe: (() => Promise<void>) | undefined;

  constructor(settings: Settings<Transaction>) {
    this.#settings = settings;
    this.#outage = new OutageLog(settings, {
      begins: "events cannot be claimed from the inbox, so none are handled",
      ends: "events are claimed from the inbox again",
    });
    this.#running = new RunningAttempts(settings);
    this.#name = randomName(settings.random);
    this.#turns = new TenantTurns(settings);
    this.#storeClock = new StoreClock(settings.leaseMs);
  }

  get running(): number {
    return this.#running.size;
  }

  get clockStats(): ClockStats {
    return this.#storeClock.stats;
  }

  /** How long no event could be claimed; `null` when the last claim succeeded. */
  get failingForMs(): number | null {
    return this.#outage.failingForMs;
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
    if (this.#state !== "working") return;
    this.#cancelPoll = this.#settings.clock.schedule(delayMs, () => this.#poll(), { background: true });
  }

  async #claimRows(): Promise<void> {
    const { concurrency, pollMs, source, secrets } = this.#settings;
    const free = concurrency - this.#running.size;
    if (free <= 0) return;
    try {
      if (this.#mustRepairTimes) await this.#repairTimes();
      const claimed = isTenantSecrets(secrets) ? this.#claimFairly(free) : this.#claim(source, free);
      const { count, nextInMs } = await claimed;
      this.#failures = 0;
      this.#outage.end();
      if (count < free) this.#schedulePoll(Math.min(pollMs, nextInMs ?? pollMs));
    } catch (error) {
      // The inbox was closed before the claim returned.
      if (this.#state !== "working") return;
      this.#failures += 1;
      this.#outage.add(error);
      this.#schedulePoll(Math.min(failureDelayMsMax, pollMs * 2 ** Math.min(this.#failures, 10)));
    }
  }

  /** Claims due rows of the tenants in turn. */
  async #claimFairly(rowsMax: number): Promise<Claimed> {
    const { tenantConcurrency } = this.#settings;
    const turns = this.#turns;
    let nextInMs: number | null = null;
    let count = 0;
    let asked = false;
    turns.expire();
    while (count < rowsMax && this.#state === "working") {
      if (turns.left === 0) {
        if (asked) break;
        asked = true;
        const turn = await turns.begin();
        nextInMs = earlier(nextInMs, turn.nextInMs);
        if (turns.left === 0 && turn.waiting > 0) await this.#readClock();
      }
      const share = Math.ceil((rowsMax - count) / turns.left);
      const source = turns.next();
      if (source === undefined) break;
      const rows = Math.min(share, tenantConcurrency - this.#running.countOf(source));
      if (rows <= 0) continue;
      const claimed = await this.#claim(source, rows);
      nextInMs = earlier(nextInMs, claimed.nextInMs);
      count += claimed.count;
    }
    return { count, nextInMs };
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
    // Stopped meanwhile, perhaps long ago.
    if (this.#state !== "working") await this.#release(result.claims);
    else for (const claim of result.claims) void this.#run(claim);
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
    const attempt = this.#running.add(claim);
    const outcome = await this.#attempt(attempt);
    this.counts[outcome] += 1;
    this.#running.remove(attempt);
    this.#poll();
  }

  async #release(claims: readonly Claim[]): Promise<void> {
    const { inbox, logger } = this.#settings;
    for (const claim of claims) {
      await inbox.fail(claim, { kind: "release" }).catch((error: unknown) => {
        logger.warn(
          { err: error, id: claim.id },
          "an event was not released; it waits for the end of its lease",
        );
      });
    }
  }

  async #attempt(running: RunningAttempt): Promise<AttemptOutcome> {
    const { telemetry, clock } = this.#settings;
    const { claim, controller } = running;
    const onHandled = () => this.#running.handled(running);
    const onDead = (error: unknown) => this.#reportDead({ source: claim.source, id: claim.id }, error);
    const options = { ...this.#settings, claim, controller, onDead, onHandled };
    if (!telemetry) return runAttempt(options);
    const { id, channel, event, attempts: attempt, receivedAtMs, body, traceparent } = claim;
    const start = {
      ...splitSource(claim.source),
      ...{ id, channel, event, attempt, bodyBytes: body.byteLength },
      waitedMs: Math.max(0, clock.now() - receivedAtMs),
      traceparent: traceparent ?? undefined,
    };
    const run = (onFailed: (error: unknown) => void = () => {}) => runAttempt({ ...options, onFailed });
    return reported(run, (attempt) => telemetry.handle(start, attempt));
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
    const unsubscribed = this.#unsubscribe?.().catch((error: unknown) => {
      logger.warn({ err: error }, "the subscription to the inbox could not be ended");
    });
    this.#cancelPoll();
    const attemptsEnded = this.#running.stop(graceMs);
    await settledWithin(Promise.all([unsubscribed, this.#polling]), storeGraceMs, clock);
    await attemptsEnded;
  }
}

const failureDelayMsMax = 10_000;

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
