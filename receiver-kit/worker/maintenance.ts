import type { Clock } from "../clock.ts";
import type { Inbox, Retention } from "../inbox/inbox.ts";
import type { ReceiverLogger } from "../logger.ts";

export type RetentionOptions = {
  /** Bodies of settled events are kept this long. Default 7. */
  readonly bodiesDays?: number;
  /** Ids of settled events are kept this long, so that a late repetition is still known. Default 14, which is the least. */
  readonly idsDays?: number;
  /** Ordering heads that nothing moved are kept this long. Default 365, at least `idsDays`. */
  readonly headsDays?: number;
};

export type MaintenanceOptions = {
  readonly inbox: Inbox;
  readonly source: string;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly logger: ReceiverLogger;
};

const dayMs = 86_400_000;

/** Senders retry for days and operators repeat deliveries later still; forgetting an id earlier lets it run twice. */
const idsDaysMin = 14;

/** @throws {RangeError} when a duration is too short to keep the promises */
export function resolveRetention({
  bodiesDays = 7,
  idsDays = 14,
  headsDays = 365,
}: RetentionOptions): Retention {
  if (!(idsDays >= idsDaysMin))
    throw new RangeError(`retention.idsDays: expected at least ${idsDaysMin}, got ${idsDays}`);
  if (!(bodiesDays >= 0)) throw new RangeError(`retention.bodiesDays: expected 0 or more, got ${bodiesDays}`);
  if (!(headsDays >= idsDays)) {
    throw new RangeError(`retention.headsDays: expected at least idsDays (${idsDays}), got ${headsDays}`);
  }
  return { bodiesMs: bodiesDays * dayMs, rowsMs: idsDays * dayMs, headsMs: headsDays * dayMs };
}

/** Notes every minute that the receiver is alive, and removes every hour what retention no longer keeps. */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  #cancel = () => {};
  #running = false;
  #underWay: Promise<void> = Promise.resolve();
  #purgedAtMs = Number.NEGATIVE_INFINITY;
  #downMs = 0;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  /** How long the receiver had been away before it started; 0 when it had not, or when a reconciliation has caught up. */
  get downMs(): number {
    return this.#downMs;
  }

  caughtUp(): void {
    this.#downMs = 0;
  }

  async start(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      const awayMs = (await this.#options.inbox.heartbeat(this.#options.source)) ?? 0;
      this.#downMs = awayMs > 2 * everyMs ? awayMs : 0;
    } catch (error) {
      this.#running = false;
      throw error;
    }
    // Unless it was stopped meanwhile.
    if (this.#running) this.#schedule();
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.schedule(everyMs, () => {
      this.#underWay = this.#round().finally(() => {
        if (this.#running) this.#schedule();
      });
    });
  }

  async #round(): Promise<void> {
    const { inbox, source, clock, logger } = this.#options;
    try {
      await inbox.heartbeat(source);
      if (clock.monotonic() - this.#purgedAtMs < purgeEveryMs) return;
      this.#purgedAtMs = clock.monotonic();
      await this.#purge();
    } catch (error) {
      logger.warn({ err: error }, "maintenance of the inbox failed; it is tried again in a minute");
    }
  }

  async #purge(): Promise<void> {
    const { inbox, retention, logger } = this.#options;
    let removed = 0;
    for (let touched = purgeRowsMax; touched > 0 && this.#running; removed += touched) {
      touched = await inbox.purge(retention, purgeRowsMax);
    }
    if (removed > 0) logger.info({ removed }, "the inbox removed what retention no longer keeps");
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.#cancel();
    await this.#underWay;
  }
}

const everyMs = 60_000;
const purgeEveryMs = 3_600_000;
// Small steps, so that storing deliveries is never held up for long.
const purgeRowsMax = 500;
