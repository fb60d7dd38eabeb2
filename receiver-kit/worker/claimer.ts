// Claims rows for a worker.
//
// POLL. One at a time; a poll requested meanwhile follows directly. A poll claims as many rows as the worker wants. Found
// fewer, no more are waiting: the next poll is when a row is due, after `pollMs` at the latest, and after growing delays
// while the inbox fails. Otherwise the worker polls again when it has used most of them. A wake-up by the inbox only
// makes the next poll earlier, so one that is lost does no harm. Polls that get nothing although a row is due, as when another
// session locks it or the role may not see it, have growing delays and are logged after a while.
//
// TENANTS. Where `secrets` finds the tenant, a poll asks which tenants have due rows and claims of each in turn, each up to
// its share: neither a large backlog nor hanging handlers of one tenant stop the others.

import { randomName } from "@workspace-tasks/kernel/random.ts";
import { inBackground } from "../background.ts";
import {
  type InboxClaim,
  type InboxDeath,
  type InboxLease,
  type InboxStore,
  longestDelayMs,
} from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { isTenantSecrets } from "../signature/key-source.ts";
import { includesSource } from "../signature/tenant.ts";
import { OutageLog } from "./outage-log.ts";

/** What the worker has room for. */
export interface Wanted {
  readonly rows: number;
  readonly rowsPerKey: number;
  readonly bytes: number;
}

interface ClaimerOptions {
  readonly settings: ReceiverSettings;
  /** Read before each claim; of one source where there are tenants. */
  readonly wanted: (source?: string) => Wanted;
  /** `isFull`: there may be more. `sentMs`: when they were requested, in monotonic time. */
  readonly onClaimed: (
    claims: readonly InboxClaim[],
    claim: { readonly isFull: boolean; readonly sentMs: number },
  ) => void;
  readonly onDied: (deaths: readonly InboxDeath[]) => void;
  /** Called after a poll that claimed rows. */
  readonly onPolled: () => void;
}

interface Claimed {
  readonly count: number;
  readonly nextInMs: number | null;
  /** There may be more rows than were wanted. */
  readonly isFull: boolean;
}

export class Claimer {
  /** The outage of claims. */
  readonly outage: OutageLog;
  readonly #options: ClaimerOptions;
  readonly #settings: ReceiverSettings;
  readonly #name: string;
  readonly #turns: TenantTurns;
  #claims = 0;
  /** Polls in a row that got nothing although a row was due, and since when. */
  #missed = { polls: 0, sinceMs: 0 };
  #failures = 0;
  #isStopped = false;
  #polling: Promise<void> | undefined;
  #pollAgain = false;
  #mayHaveMore = false;
  #cancelPoll = () => {};

  constructor(options: ClaimerOptions) {
    const { settings } = options;
    this.#options = options;
    this.#settings = settings;
    this.outage = new OutageLog(settings, {
      begins: "events cannot be claimed from the inbox, so none are handled",
      ends: "events are claimed from the inbox again",
    });
    this.#name = randomName(settings.random);
    this.#turns = new TenantTurns(settings);
  }

  /** Rows that were not claimed may be due. */
  get mayHaveMore(): boolean {
    return this.#mayHaveMore;
  }

  /** Rows may have become due; of another receiver's source, nothing happens. */
  wake(source?: string): void {
    if (source === undefined || this.#handles(source)) this.poll();
  }

  #handles(source: string): boolean {
    const { source: own, secrets } = this.#settings;
    return isTenantSecrets(secrets) ? includesSource(own, source) : source === own;
  }

  poll(): void {
    if (this.#isStopped) return;
    if (this.#polling) {
      this.#pollAgain = true;
      return;
    }
    if (this.#options.wanted().rows <= 0) {
      this.#mayHaveMore = true;
      return;
    }
    this.#cancelPoll();
    // It may be called by a handler, or by a delivery that was stored.
    this.#polling = inBackground(() => this.#claimRows()).then((count) => {
      this.#polling = undefined;
      if (this.#pollAgain) {
        this.#pollAgain = false;
        this.poll();
      } else if (count > 0) {
        this.#options.onPolled();
      }
    });
  }

  #schedulePoll(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelPoll();
    this.#cancelPoll = this.#settings.clock.schedule(delayMs, () => this.poll(), { background: true });
  }

  /** Returns how many. Never rejects. */
  async #claimRows(): Promise<number> {
    const { pollMs, source, secrets } = this.#settings;
    const wanted = this.#options.wanted();
    // A wake-up while the claim is in flight sets it again.
    this.#mayHaveMore = false;
    try {
      const claimed = isTenantSecrets(secrets) ? this.#claimFairly(wanted) : this.#claim(source, wanted);
      const { count, nextInMs, isFull } = await claimed;
      this.#failures = 0;
      this.outage.end();
      if (isFull) this.#mayHaveMore = true;
      const isMissed = count === 0 && !isFull && nextInMs !== null && nextInMs <= dueMs;
      this.#watchMissed(isMissed);
      if (!isFull || count === 0) {
        const againMs = pollMsMin * 2 ** Math.min(this.#missed.polls, 10);
        this.#schedulePoll(Math.min(pollMs, Math.max(againMs, nextInMs ?? pollMs)));
      }
      return count;
    } catch (error) {
      // The inbox was closed before the claim returned.
      if (this.#isStopped) return 0;
      this.#failures += 1;
      this.outage.add(error);
      this.#schedulePoll(Math.min(failureDelayMsMax, pollMs * 2 ** Math.min(this.#failures, 10)));
      return 0;
    }
  }

  #watchMissed(isMissed: boolean): void {
    const { clock, source, logger } = this.#settings;
    const nowMs = clock.monotonic();
    if (!isMissed || this.#missed.polls === 0) this.#missed = { polls: 0, sinceMs: nowMs };
    if (!isMissed) return;
    this.#missed.polls += 1;
    if (nowMs - this.#missed.sinceMs < missedLogMs) return;
    this.#missed.sinceMs = nowMs;
    const message =
      "events are due and no claim gets them: another session may lock them, or the role of the inbox may not see them";
    logger.error({ source, polls: this.#missed.polls }, message);
  }

  /** Claims due rows of the tenants in turn. */
  async #claimFairly({ rows: rowsMax }: Wanted): Promise<Claimed> {
    const turns = this.#turns;
    let nextInMs: number | null = null;
    let count = 0;
    let isFull = false;
    let asked = false;
    turns.expire();
    while (count < rowsMax && !this.#isStopped) {
      if (turns.left === 0) {
        if (asked) break;
        asked = true;
        nextInMs = earlier(nextInMs, await turns.begin());
      }
      const share = Math.ceil((rowsMax - count) / turns.left);
      const source = turns.next();
      if (source === undefined) break;
      const wanted = this.#options.wanted(source);
      const rows = Math.min(share, wanted.rows);
      // Its rows wait for the end of others of it.
      if (rows <= 0) isFull = true;
      if (rows <= 0) continue;
      const claimed = await this.#claim(source, { ...wanted, rows });
      nextInMs = earlier(nextInMs, claimed.nextInMs);
      count += claimed.count;
      isFull ||= claimed.isFull;
    }
    return { count, nextInMs, isFull: isFull || count >= rowsMax };
  }

  async #claim(source: string, { rows: rowsMax, rowsPerKey, bytes }: Wanted): Promise<Claimed> {
    const { inbox, leaseMs, retry, keyOrder, clock } = this.#settings;
    this.#claims += 1;
    // Each claim has its own name: even a generation that a crash of the database took back cannot match twice.
    const worker = `${this.#name}.${this.#claims}`;
    const { attemptsMax } = retry;
    const sentMs = clock.monotonic();
    const limits = { rowsMax, rowsPerKeyMax: rowsPerKey, bytesMax: bytes, leaseMs, attemptsMax };
    const result = await inbox.claim({ source, worker, keyOrder, ...limits, retry });
    this.#options.onDied(result.died);
    const { claims, nextInMs } = result;
    const count = claims.length;
    // Rows beyond the limit of bytes are due at once.
    const isFull = count >= rowsMax || (count > 0 && nextInMs !== null && nextInMs <= 0);
    // Stopped meanwhile, perhaps long ago.
    if (this.#isStopped) await releaseRows(this.#settings, claims);
    else this.#options.onClaimed(claims, { isFull, sentMs });
    return { count, nextInMs, isFull };
  }

  /** Claims nothing more. Resolves when the claim in flight has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPoll();
    await this.#polling;
  }
}

/**
 * Which tenant is served next. Tenants with due rows take turns; who they are is asked once per turn of all of them, and
 * not for each row that a worker has room for.
 */
class TenantTurns {
  readonly #settings: ReceiverSettings;
  #inTurn: string[] = [];
  #served = "";
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(settings: ReceiverSettings) {
    this.#settings = settings;
  }

  /** Tenants that are still in turn. */
  get left(): number {
    return this.#inTurn.length;
  }

  /** Ends a turn that began long ago: others may wait by now. */
  expire(): void {
    if (this.#settings.clock.monotonic() - this.#askedAtMs > turnMsMax) this.#inTurn = [];
  }

  /** Begins a turn with the tenant after the one that was served last. Returns until when the next of the others waits. */
  async begin(): Promise<number | null> {
    const { inbox, source, clock } = this.#settings;
    this.#askedAtMs = clock.monotonic();
    const sources = await inbox.waitingSources(source);
    const isDue = (dueInMs: number) => dueInMs <= 0 || dueInMs > longestDelayMs(this.#settings);
    const due = sources.filter(({ dueInMs }) => isDue(dueInMs)).map(({ source }) => source);
    this.#inTurn = [
      ...due.filter((name) => name > this.#served),
      ...due.filter((name) => name <= this.#served),
    ];
    const later = sources.map(({ dueInMs }) => dueInMs).filter((dueInMs) => !isDue(dueInMs));
    return later.length > 0 ? Math.min(...later) : null;
  }

  /** The stored source of the next tenant. */
  next(): string | undefined {
    const source = this.#inTurn.shift();
    this.#served = source ?? this.#served;
    return source;
  }
}

const turnMsMax = 250;

/** Gives up claimed rows that were not attempted. Never rejects. */
export async function releaseRows(
  { inbox, logger }: Pick<ReceiverSettings, "inbox" | "logger">,
  claims: readonly InboxClaim[],
): Promise<void> {
  const release = async (claim: InboxClaim) => {
    try {
      await inbox.fail(claim, { kind: "release" });
    } catch (error) {
      const message = "an event was not released; it waits for the end of its lease";
      logger.warn({ err: error, id: claim.id }, message);
    }
  };
  await Promise.all(claims.map(release));
}

const failureDelayMsMax = 10_000;
/** A row that another process is claiming at this moment is due, but cannot be claimed. */
const pollMsMin = 5;
const dueMs = 50;
const missedLogMs = 60_000;

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

type Settings = Pick<ReceiverSettings, "leaseMs" | "clock" | "logger"> & {
  readonly inbox: Pick<InboxStore, "renew">;
};

/** The leases of a worker. All of them are renewed at a third of `leaseMs`. */
export class HeldLeases {
  readonly #settings: Settings;
  readonly #onLost: (lease: InboxLease) => void;
  /** When each ends, in monotonic time. */
  readonly #endsMs = new Map<InboxLease, number>();
  #cancelRenewal: (() => void) | undefined;
  #isStopped = false;

  /** `onLost`: a renewal did not confirm the lease, or it must have ended while renewals failed. */
  constructor(settings: Settings, onLost: (lease: InboxLease) => void) {
    this.#settings = settings;
    this.#onLost = onLost;
  }

  /** `sinceMs`: when it was requested, in monotonic time. */
  add(lease: InboxLease, sinceMs: number): void {
    this.#endsMs.set(lease, sinceMs + this.#settings.leaseMs);
    this.#cancelRenewal ??= this.#scheduleRenewal();
  }

  delete(lease: InboxLease): void {
    this.#endsMs.delete(lease);
    if (this.#endsMs.size > 0) return;
    this.#cancelRenewal?.();
    this.#cancelRenewal = undefined;
  }

  /** False also when it must have ended: the process may have been paused before the renewal noticed. */
  has(lease: InboxLease): boolean {
    return this.#settings.clock.monotonic() < (this.#endsMs.get(lease) ?? 0);
  }

  /** False when the inbox failed. */
  async renew(): Promise<boolean> {
    const { inbox, leaseMs, clock, logger } = this.#settings;
    this.#cancelRenewal?.();
    const leases = [...this.#endsMs.keys()];
    const startedMs = clock.monotonic();
    let held: ReadonlySet<InboxLease> | undefined;
    try {
      held = await inbox.renew(leases, leaseMs);
    } catch (error) {
      logger.warn({ err: error, keys: leases.length }, "leases could not be renewed");
    }
    for (const lease of leases) {
      const endsMs = this.#endsMs.get(lease);
      if (endsMs === undefined) continue;
      if (held?.has(lease)) this.#endsMs.set(lease, startedMs + leaseMs);
      else if (held || clock.monotonic() >= endsMs) this.#lose(lease);
    }
    this.#cancelRenewal?.();
    const isNeeded = this.#endsMs.size > 0 && !this.#isStopped;
    this.#cancelRenewal = isNeeded ? this.#scheduleRenewal() : undefined;
    return held !== undefined;
  }

  #lose(lease: InboxLease): void {
    this.#endsMs.delete(lease);
    this.#onLost(lease);
  }

  #scheduleRenewal(): () => void {
    const { clock, leaseMs } = this.#settings;
    return clock.schedule(leaseMs / 3, () => void this.renew(), { background: true });
  }

  /** Renews nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelRenewal?.();
    this.#cancelRenewal = undefined;
  }
}

/** Work that has begun and not ended. */
export class InFlight {
  readonly #work = new Set<Promise<unknown>>();

  /** The result of the work. */
  async track<Result>(work: Promise<Result>): Promise<Result> {
    this.#work.add(work);
    try {
      return await work;
    } finally {
      this.#work.delete(work);
    }
  }

  /** Resolves once what is in flight now has ended, also with an error. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#work);
  }
}
