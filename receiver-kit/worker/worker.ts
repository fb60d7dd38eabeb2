// Claims rows and runs their handlers. States of the worker:
//
//   new       not started, or its start failed; `start` may be called, which does nothing once it was stopped
//   working   claims, handles, renews leases
//   stopping  claims nothing more; `stop` resolves when the last attempt has ended
//
//   new ─► working   start       new, working ─► stopping   stop            working ─► new   subscribing failed
//
// ROWS. claimed ─► waits in its chain ─► attempt in progress ─► settled, failed, or lost (see attempt.ts). A chain is the
// claimed rows of one key. Rows that belong to a handler of batches are handled together: as many as wait now, of one
// source and of any chains. When a batch fails, each of its rows is handled alone. The next row of a chain starts when the end of the one before is recorded; meanwhile other
// chains run, so that many ends are recorded together. With `keyOrder: "strict"` a row that failed ends its chain.
//
// SLOTS. At most `concurrency` handlers run at a time, `tenantConcurrency` of one tenant. A slot is free when the handlers
// have ended; at most `unrecordedMax` attempts wait for the inbox.
//
// LEASES. Renewed for all chains at a third of `leaseMs`. When a lease is lost, its attempt is aborted with LEASE_LOST and
// the rows behind it are forgotten.
//
// STOP. Rows that have not started are released; those behind an attempt in progress when its end is recorded, since the end
// of the last row of a lease ends the lease. Attempts in progress are waited for; after `graceMs` they are aborted with
// RECEIVER_CLOSING and released, and before that when the inbox does not renew their leases within 1 s: what they do
// could not be committed. What then waits for the inbox is given 1 s more: the leases of those rows end by themselves.

import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import {
  type AttemptEvents,
  type AttemptResult,
  type AttemptRow,
  type AttemptSettings,
  type EventFields,
  runAttempt,
} from "../attempt/attempt.ts";
import type { BatchRegistration } from "../attempt/handlers.ts";
import { type RunningAttempt, RunningAttempts, storeGraceMs } from "../attempt/running-attempts.ts";
import type { InboxClaim, InboxDeath, InboxLease, InboxRowReference } from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { isTenantSecrets } from "../signature/key-source.ts";
import { splitSource } from "../signature/tenant.ts";
import { type HandleStart, reported } from "../stats/delivery-telemetry.ts";
import type { AttemptOutcome, WorkerCounts } from "../stats/receiver-stats.ts";
import { type Chain, ChainQueue, toChains } from "./chain-queue.ts";
import { Claimer, HeldLeases, releaseRows, type Wanted } from "./claimer.ts";
import { PrefetchSize } from "./prefetch-size.ts";

interface Taken {
  readonly chain: Chain;
  readonly claims: readonly InboxClaim[];
}

export class Worker<Transaction> {
  readonly counts: WorkerCounts = { done: 0, stale: 0, retried: 0, dead: 0, released: 0, lost: 0 };
  readonly claimer: Claimer;
  lateQueries = 0;
  /** Events that no handler is registered for, by name. */
  readonly ignored = new Map<string, number>();
  /** Handlers whose late queries were logged. */
  readonly #lateHandlers = new Set<string>();
  readonly #settings: AttemptSettings<Transaction>;
  readonly #queue = new ChainQueue();
  /** Those with an attempt in progress included. */
  readonly #chains = new Map<InboxLease, Chain>();
  readonly #running: RunningAttempts<Transaction>;
  readonly #leases: HeldLeases;
  readonly #prefetch: PrefetchSize;
  readonly #releasing = new Set<Promise<void>>();
  /** When the last claim returned as many rows as wanted. */
  #fullClaimAtMs: number | undefined;
  #state: "new" | "working" | "stopping" = "new";
  #unsubscribe: (() => Promise<void>) | undefined;

  constructor(settings: AttemptSettings<Transaction>) {
    this.#settings = settings;
    this.claimer = new Claimer({
      settings: settings as unknown as ReceiverSettings,
      wanted: (source) => this.#wanted(source),
      onClaimed: (claims, claim) => this.#add(claims, claim),
      onDied: (rows) => this.#countDied(rows),
      onPolled: () => this.#dispatch(),
    });
    this.#running = new RunningAttempts(settings.clock);
    this.#leases = new HeldLeases(settings, (lease) => this.#lose(lease));
    this.#prefetch = new PrefetchSize(settings.concurrency);
  }

  /** Events whose attempt is in progress. */
  get running(): number {
    return this.#running.events;
  }

  async start(): Promise<void> {
    if (this.#state !== "new") return;
    this.#prefetch.atLeast(this.#settings.handlers.eventsMax);
    this.#state = "working";
    try {
      this.#unsubscribe = await this.#settings.inbox.subscribe?.((source) => this.claimer.wake(source));
    } catch (error) {
      if (this.#state === "working") this.#state = "new";
      throw error;
    }
    // Stopped while subscribing: `stop` had nothing to unsubscribe yet.
    if (this.#state !== "working") await this.#unsubscribe?.();
    else this.claimer.poll();
  }

  /** None until half of the rows are used up: a claim of a few rows costs as much as one of many. */
  #wanted(source?: string): Wanted {
    const { concurrency } = this.#settings;
    const { rows: target, rowsPerKey } = this.#prefetch;
    const bytes = prefetchedBytesMax - this.#queue.bytes;
    const enough = (rows: number, of: number) => rows >= (target > concurrency ? of / 2 : 1);
    const room = target - this.#queue.rows - this.#running.events;
    if (bytes <= 0 || !enough(room, target)) return { rows: 0, rowsPerKey, bytes };
    if (source === undefined) return { rows: room, rowsPerKey, bytes };
    const share = Math.ceil((target * this.#slotsOfSource) / concurrency);
    const own = share - this.#queue.rowsOf(source) - this.#running.handlingOf(source);
    return { rows: enough(own, share) ? Math.min(room, own) : 0, rowsPerKey, bytes };
  }

  /** Handlers of one source that run at a time. */
  get #slotsOfSource(): number {
    const { concurrency, tenantConcurrency, secrets } = this.#settings;
    return isTenantSecrets(secrets) ? Math.min(tenantConcurrency, concurrency) : concurrency;
  }

  #add(claims: readonly InboxClaim[], { isFull, sentMs }: { isFull: boolean; sentMs: number }): void {
    for (const chain of toChains(claims)) {
      this.#leases.add(chain.lease, sentMs);
      this.#chains.set(chain.lease, chain);
      this.#queue.add(chain);
    }
    this.#fullClaimAtMs = isFull ? this.#settings.clock.monotonic() : undefined;
    this.#dispatch();
  }

  /** Starts handlers in free slots, and claims when the rows run out. */
  #dispatch(): void {
    if (this.#state !== "working") return;
    const hasSlot = (source: string) => this.#running.handlingOf(source) < this.#slotsOfSource;
    while (this.#running.handling < this.#settings.concurrency && !this.#waitsForInbox()) {
      const chain = this.#queue.next(hasSlot);
      if (!chain) break;
      if (this.#leases.has(chain.lease)) void this.#runNext(chain);
      else this.#forget(chain.lease);
    }
    if (this.claimer.mayHaveMore && this.#wanted().rows > 0) this.#pollForMore();
  }

  /** What a handler did is repeated where its end is not recorded; so none starts while the inbox is slow. */
  #waitsForInbox(): boolean {
    const { size, handling, oldest } = this.#running;
    if (size - handling >= unrecordedMax) return true;
    const { handledAtMs } = oldest ?? {};
    return handledAtMs !== undefined && this.#settings.clock.monotonic() - handledAtMs > unrecordedMsMax;
  }

  #pollForMore(): void {
    const { clock } = this.#settings;
    if (this.#fullClaimAtMs !== undefined)
      this.#prefetch.usedUpAfter(clock.monotonic() - this.#fullClaimAtMs);
    this.#fullClaimAtMs = undefined;
    this.claimer.poll();
  }

  /** Handles the first row of a chain, or a batch that begins with it. */
  async #runNext(chain: Chain): Promise<void> {
    const { batch, taken } = this.#takeNext(chain);
    const rows: AttemptRow[] = [];
    for (const { chain, claims } of taken) for (const claim of claims) rows.push({ claim, head: chain.head });
    const attempt = this.#running.add(chain.source, { rows, batch });
    const result = await this.#attempt(attempt);
    this.#running.remove(attempt);
    if (result === "apart") {
      // The last chain becomes the first one, and so on.
      for (const { chain, claims } of taken.toReversed()) {
        chain.takeApart(claims);
        this.#continue(chain, []);
      }
    } else {
      for (const outcome of result) this.counts[outcome] += 1;
      let index = 0;
      for (const { chain, claims } of taken) {
        const outcomes = result.slice(index, index + claims.length);
        for (const claim of claims) if (result[index++] === "done") chain.advance(claim);
        this.#continue(chain, outcomes);
      }
    }
    this.#dispatch();
  }

  /** The rows of the next attempt, by chain. */
  #takeNext(chain: Chain): {
    readonly batch: BatchRegistration<Transaction> | undefined;
    readonly taken: Taken[];
  } {
    const { handlers } = this.#settings;
    const [first] = chain.rows;
    const batch = first && handlers.batchOf(first);
    if (!batch || chain.apart.has(first))
      return { batch, taken: [{ chain, claims: chain.rows.splice(0, 1) }] };
    const taken: Taken[] = [];
    const belongsTo = (each: Chain) => (claim: InboxClaim | undefined) =>
      claim !== undefined && handlers.batchOf(claim) === batch && !each.apart.has(claim);
    let room = batch.eventsMax;
    let next: Chain | undefined = chain;
    while (next && room > 0) {
      const claims = next.take(room, belongsTo(next));
      room -= claims.length;
      taken.push({ chain: next, claims });
      next = this.#queue.nextOf(
        chain.source,
        (each) => room > 0 && belongsTo(each)(each.rows[0]) && this.#leases.has(each.lease),
      );
    }
    return { batch, taken };
  }

  /** What happens to the other rows of a chain whose first ones ended so; without outcomes, they are to be handled alone. */
  #continue(chain: Chain, outcomes: readonly AttemptOutcome[]): void {
    if (outcomes.includes("lost") || chain.rows.length === 0) this.#forget(chain.lease);
    else if (this.#state === "stopping" || outcomes.some((each) => this.#isBlockedAfter(each)))
      this.#release(chain);
    else if (this.#chains.has(chain.lease)) this.#queue.add(chain, outcomes.length === 0);
    // Only the inbox knows when the row is due again.
    if (outcomes.includes("retried") || outcomes.includes("released")) this.claimer.poll();
  }

  #isBlockedAfter(outcome: AttemptOutcome): boolean {
    return this.#settings.keyOrder === "strict" && (outcome === "retried" || outcome === "released");
  }

  /** Gives up the rows that are left in the chain. */
  #release(chain: Chain): void {
    const released = releaseRows(this.#settings, chain.takeAll()).then(() => {
      this.#releasing.delete(released);
      this.#forget(chain.lease);
    });
    this.#releasing.add(released);
  }

  #forget(lease: InboxLease): void {
    this.#chains.delete(lease);
    this.#leases.delete(lease);
  }

  #lose(lease: InboxLease): void {
    this.#chains.delete(lease);
    this.#queue.remove(lease);
    this.#running.abort(lease);
  }

  async #attempt(running: RunningAttempt<Transaction>): Promise<AttemptResult> {
    const { telemetry } = this.#settings;
    const failed: ((error: unknown) => void)[] = [];
    const events: AttemptEvents = {
      onHandled: () => {
        this.#running.handled(running);
        this.#dispatch();
      },
      onDead: (fields, error) => this.#reportDead(fields, error),
      onIgnored: (event) => this.#reportIgnored(running.source, event),
      onLateQuery: (handler, query) => this.#reportLate(running.rows, handler, query),
      onFailed(error) {
        for (const each of failed) each(error);
      },
    };
    if (!telemetry) return runAttempt(this.#settings, running, events);
    let result: Promise<AttemptResult> | undefined;
    // Within the report of the first row, all of them are handled.
    const handle = () => {
      result ??= runAttempt(this.#settings, running, events);
      return result;
    };
    const reports = running.rows.map(({ claim }, index) => {
      const run = async (onFailed: (error: unknown) => void = () => {}) => {
        failed.push(onFailed);
        const outcomes = await handle();
        return outcomes === "apart" ? "released" : (outcomes[index] ?? "released");
      };
      return reported(run, (attempt) => telemetry.handle(this.#startOf(claim), attempt));
    });
    await Promise.all(reports);
    return handle();
  }

  #startOf({
    source,
    id,
    channel,
    event,
    attempts: attempt,
    body,
    traceparent,
    receivedAtMs,
  }: InboxClaim): HandleStart {
    return {
      ...splitSource(source),
      id,
      channel,
      event,
      attempt,
      bodyBytes: body.byteLength,
      waitedMs: Math.max(0, this.#settings.clock.now() - receivedAtMs),
      traceparent: traceparent ?? undefined,
    };
  }

  /** Logged once per name: a receiver may ignore events on purpose, or have a handler too few. */
  #reportIgnored(source: string, event: string): void {
    const { handlers, logger } = this.#settings;
    const name = this.ignored.has(event) || this.ignored.size < ignoredNamesMax ? event : "other";
    const count = this.ignored.get(name) ?? 0;
    this.ignored.set(name, count + 1);
    if (count > 0) return;
    const misspelt = handlers.misspeltNameOf(event);
    const hint = misspelt === undefined ? "" : `; is ${misspelt} misspelt?`;
    logger.warn(
      { source, event, handlers: handlers.names },
      `no handler is registered for an event; it is done without effect, further ones are only counted${hint}`,
    );
  }

  #reportLate(rows: readonly AttemptRow[], handler: string, query: string): void {
    const { source = "", id = "" } = rows[0]?.claim ?? {};
    const row = { source, id };
    this.lateQueries += 1;
    if (this.#lateHandlers.has(handler)) return;
    this.#lateHandlers.add(handler);
    const message =
      "a query was rejected after its handler had ended, or failed before without await; further ones of this handler are only counted";
    this.#settings.logger.warn({ ...row, handler, query }, message);
  }

  #countDied(deaths: readonly InboxDeath[]): void {
    for (const { error, ...row } of deaths) {
      this.counts.dead += 1;
      this.#reportDead(row, new Error(error));
    }
  }

  #reportDead(fields: InboxRowReference | EventFields, error: unknown): void {
    const { logger, onDead } = this.#settings;
    const { source, id } = fields;
    logger.error({ ...fields, err: error }, "an event is dead: it failed at its last attempt");
    callSafely(
      () => onDead?.({ source, id }, error),
      (thrown) => logger.error({ err: thrown }, "onDead failed"),
    );
  }

  /** Claims nothing more, waits up to `graceMs` for handlers, then releases the rows that are left. */
  async stop(graceMs: number): Promise<void> {
    const isWorking = this.#state === "working";
    this.#state = "stopping";
    if (!isWorking) return;
    const { clock, logger } = this.#settings;
    const unsubscribed = this.#unsubscribe?.().catch((error: unknown) => {
      logger.warn({ err: error }, "the subscription to the inbox could not be ended");
    });
    this.#queue.clear();
    for (const chain of this.#chains.values()) {
      if (!this.#running.has(chain.lease)) this.#release(chain);
    }
    const claimsEnded = this.claimer.stop();
    const attemptsEnded = this.#running.stop(graceMs, () => this.#leases.renew());
    await settledWithin(Promise.all([unsubscribed, claimsEnded, ...this.#releasing]), storeGraceMs, clock);
    await attemptsEnded;
    if (this.#releasing.size > 0) await settledWithin(Promise.all(this.#releasing), storeGraceMs, clock);
    this.#leases.stop();
  }
}

/** Attempts whose end is being recorded, and for how long. */
const unrecordedMax = 256;
const unrecordedMsMax = 500;
/** Names are the service's, and each is a series of the metrics. */
const ignoredNamesMax = 100;
const prefetchedBytesMax = 16_000_000;
