import type { ReceiverSettings } from "../receiver-options.ts";

/** Records every minute that the receiver is alive, and removes expired rows every hour. */
export class Maintenance {
  readonly #settings: ReceiverSettings;
  #cancel = () => {};
  #running = false;
  #round: Promise<void> = Promise.resolve();
  #purgedAtMs = Number.NEGATIVE_INFINITY;
  #downMs = 0;
  readonly #caughtUp = new Set<string>();

  constructor(settings: ReceiverSettings) {
    this.#settings = settings;
  }

  /** How long the receiver was down before it started; 0 when it was not, or after a reconciliation of the source. */
  downMsOf(source: string): number {
    return this.#caughtUp.has(source) ? 0 : this.#downMs;
  }

  caughtUp(source: string): void {
    this.#caughtUp.add(source);
  }

  async start(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      const sinceLastMs = (await this.#settings.inbox.heartbeat(this.#settings.source)) ?? 0;
      this.#downMs = sinceLastMs > 2 * everyMs ? sinceLastMs : 0;
    } catch (error) {
      this.#running = false;
      throw error;
    }
    // Unless it was stopped meanwhile.
    if (this.#running) this.#schedule();
  }

  #schedule(): void {
    const runRound = () => {
      this.#round = this.#run().finally(() => {
        if (this.#running) this.#schedule();
      });
    };
    this.#cancel = this.#settings.clock.schedule(everyMs, runRound, { background: true });
  }

  async #run(): Promise<void> {
    const { inbox, source, clock, logger } = this.#settings;
    try {
      await inbox.heartbeat(source);
      if (clock.monotonic() - this.#purgedAtMs < purgeEveryMs) return;
      this.#purgedAtMs = clock.monotonic();
      await this.#purge();
    } catch (error) {
      logger.warn({ err: error }, "maintenance of the inbox failed; it is retried in a minute");
    }
  }

  async #purge(): Promise<void> {
    const { inbox, retention, logger } = this.#settings;
    let removed = 0;
    for (let changed = purgeRowsMax; changed > 0 && this.#running; removed += changed) {
      changed = await inbox.purge(retention, purgeRowsMax);
    }
    if (removed > 0) logger.info({ removed }, "expired rows were removed from the inbox");
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.#cancel();
    await this.#round;
  }
}

const everyMs = 60_000;
const purgeEveryMs = 3_600_000;
// Small steps, so that storing deliveries never waits for long.
const purgeRowsMax = 500;
