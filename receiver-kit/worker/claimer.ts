// Claims rows for a worker.
//
// POLL. One at a time; a poll requested meanwhile follows directly. A poll claims as many rows as the worker wants. Found
// fewer, no more are waiting: the next poll is when a row is due, after `pollMs` at the latest, and after growing delays
// while the inbox fails. Otherwise the worker polls again when it has used most of them. A wake-up by the inbox only
// makes the next poll earlier, so one that is lost does no harm.
//
// TENANTS. Where `secrets` finds the tenant, a poll asks which tenants have due rows and claims of each in turn, each up to
// its share: neither a large backlog nor hanging handlers of one tenant stop the others.
//
// CLOCK. At its start, and when the inbox's clock was set back, the times of the source's rows are repaired before the next
// claim (see store-clock.ts).

import { randomName } from "@workspace-tasks/kernel/random.ts";
import type { InboxClaim, InboxRowReference } from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { isTenantSecrets } from "../signature/key-source.ts";
import { includesSource } from "../signature/tenant.ts";
import { OutageLog } from "./outage-log.ts";
import { StoreClock } from "./store-clock.ts";
import { TenantTurns } from "./tenant-turns.ts";

/** What the worker has room for. */
export interface Wanted {
  readonly rows: number;
  readonly rowsPerKey: number;
  readonly bytes: number;
}

export interface ClaimerOptions {
  readonly settings: ReceiverSettings;
  /** Read before each claim; of one source where there are tenants. */
  readonly wanted: (source?: string) => Wanted;
  /** `isFull`: there may be more. `sentMs`: when they were requested, in monotonic time. */
  readonly onClaimed: (
    claims: readonly InboxClaim[],
    claim: { readonly isFull: boolean; readonly sentMs: number },
  ) => void;
  readonly onDied: (rows: readonly InboxRowReference[]) => void;
  /** Called after a poll that claimed rows. */
  readonly onPolled: () => void;
  /** The leases that are held seem to have ended, to a worker that has not seen the inbox's clock before it was set. */
  readonly onSetForward: () => void;
}

interface Claimed {
  readonly count: number;
  readonly nextInMs: number | null;
  /** There may be more rows than were wanted. */
  readonly isFull: boolean;
}

export class Claimer {
  readonly storeClock: StoreClock;
  /** Of claims. */
  readonly outage: OutageLog;
  readonly #options: ClaimerOptions;
  readonly #settings: ReceiverSettings;
  readonly #name: string;
  readonly #turns: TenantTurns;
  #mustRepairTimes = true;
  #repairedAtMs = Number.NEGATIVE_INFINITY;
  #claims = 0;
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
    this.storeClock = new StoreClock(settings.leaseMs);
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
    this.#polling = this.#claimRows().then((count) => {
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
      if (this.#mustRepairTimes) await this.#repairTimes();
      const claimed = isTenantSecrets(secrets) ? this.#claimFairly(wanted) : this.#claim(source, wanted);
      const { count, nextInMs, isFull } = await claimed;
      this.#failures = 0;
      this.outage.end();
      if (isFull) this.#mayHaveMore = true;
      this.#watchWait(nextInMs);
      if (!isFull || count === 0) {
        this.#schedulePoll(Math.max(pollMsMin, Math.min(pollMs, nextInMs ?? pollMs)));
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
        const sentMs = this.#settings.clock.monotonic();
        const turn = await turns.begin();
        // Without due rows no claim would show that the clock was set.
        this.#watchClock(sentMs, turn.nowMs);
        nextInMs = earlier(nextInMs, turn.nextInMs);
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
    const reclaimUntilMs = this.storeClock.reclaimUntilMs(sentMs);
    const limits = { rowsMax, rowsPerKeyMax: rowsPerKey, bytesMax: bytes, leaseMs, attemptsMax };
    const result = await inbox.claim({ source, worker, keyOrder, ...limits, reclaimUntilMs, retry });
    this.#watchClock(sentMs, result.nowMs);
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

  #watchClock(sentMs: number, nowMs: number): void {
    const { source, clock, logger } = this.#settings;
    const jumpMs = this.storeClock.observe({ sentMs, receivedMs: clock.monotonic(), nowMs });
    if (jumpMs === 0) return;
    logger.warn({ source, jumpMs }, "the clock of the inbox was set while the receiver ran");
    if (jumpMs > 0) this.#options.onSetForward();
    else {
      this.#mustRepairTimes = true;
      this.#pollAgain = true;
    }
  }

  /**
   * No retry and no lease takes so long: what waits was stored while the clock was ahead, and nothing has shown that it
   * was set: it was ahead for less time than between two polls, or until the start had repaired the times. Repaired before
   * the next poll, and not at each one: a lease or a retry of another configuration may be that long.
   */
  #watchWait(nextInMs: number | null): void {
    const { clock, leaseMs, retry } = this.#settings;
    if (nextInMs === null || nextInMs <= Math.max(leaseMs, retry.delayMsMax) + toleranceMs) return;
    if (clock.monotonic() - this.#repairedAtMs >= leaseMs) this.#mustRepairTimes = true;
  }

  async #repairTimes(): Promise<void> {
    const { inbox, source: own, secrets, keyOrder, logger } = this.#settings;
    this.#mustRepairTimes = false;
    this.#repairedAtMs = this.#settings.clock.monotonic();
    try {
      const { sources } = isTenantSecrets(secrets)
        ? await inbox.waitingSources(own)
        : { sources: [{ source: own }] };
      for (const { source } of sources) {
        const rows = await inbox.repairTimes({ source, keyOrder });
        if (rows > 0) logger.warn({ source, rows }, "rows were due in the future: the clock was set back");
      }
    } catch (error) {
      this.#mustRepairTimes = true;
      throw error;
    }
  }

  /** Claims nothing more. Resolves when the claim in flight has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPoll();
    await this.#polling;
  }
}

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
const toleranceMs = 1_000;
/** A row that another process is claiming at this moment is due, but cannot be claimed. */
const pollMsMin = 5;

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
