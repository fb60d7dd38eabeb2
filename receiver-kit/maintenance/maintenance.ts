// Work that recurs while a receiver runs, or a middleware that stores deliveries. Every minute it notes that deliveries were
// accepted and advances the retention time; at the start and every hour it parses quarantined rows again, and every hour it
// removes expired rows.
//
// RETENTION TIME. A clock that is set forward by a year would make every id, head and body expired at once. So ages are
// counted up to a time that follows the inbox's clock at a limited speed: at most a day for each hour that a receiver
// runs. It is kept in the inbox; after a downtime of a week it has caught up within a few hours. A row that was stored later
// and has an earlier time shows that the clock was ahead then: the retention time goes back to that row's.

import { inBackground } from "../background.ts";
import { type InboxStore, openOnce } from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { replayReadable } from "./replay.ts";

type Page = Parameters<typeof replayReadable>[1];

interface Settings extends Pick<ReceiverSettings, "inbox" | "source" | "clock" | "logger" | "retention"> {
  /** How many genuine deliveries have arrived so far. */
  received(): number;
  /** Makes quarantined rows pending that can be parsed now. Absent where nothing handles them. */
  replayReadable?(page: Page): ReturnType<typeof replayReadable>;
}

export class Maintenance {
  readonly #settings: Settings;
  #cancel = () => {};
  #running = false;
  #round: Promise<void> = Promise.resolve();
  #purgedAtMs = Number.NEGATIVE_INFINITY;
  #roundAtMs = 0;
  #received = 0;
  #rereadBeforeSeq: number | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Its first round is in a minute. */
  begin(): void {
    if (this.#running) return;
    this.#running = true;
    this.#roundAtMs = this.#settings.clock.monotonic();
    this.#schedule();
  }

  async start(): Promise<void> {
    if (this.#running) return;
    this.begin();
    try {
      await this.#note();
    } catch (error) {
      this.#end();
      throw error;
    }
    // Unless it was stopped meanwhile.
    if (this.#running) this.#round = this.#reread();
  }

  async #reread(): Promise<void> {
    const page = { beforeSeq: this.#rereadBeforeSeq, rowsMax: rereadRowsMax };
    try {
      this.#rereadBeforeSeq = await this.#settings.replayReadable?.(page);
    } catch (error) {
      this.#settings.logger.warn({ err: error }, "quarantined rows could not be read; they are in an hour");
    }
  }

  #schedule(): void {
    const runRound = () => {
      // A middleware is not told when its inbox is closed.
      if (!this.#settings.inbox.isOpen) return this.#end();
      this.#round = inBackground(() => this.#run()).finally(() => {
        if (this.#running) this.#schedule();
      });
    };
    this.#cancel = this.#settings.clock.schedule(everyMs, runRound, { background: true });
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#settings;
    try {
      const asOfMs = await this.#note();
      if (clock.monotonic() - this.#purgedAtMs < hourMs) return;
      this.#purgedAtMs = clock.monotonic();
      await this.#reread();
      await this.#purge(asOfMs);
    } catch (error) {
      logger.warn({ err: error }, "maintenance of the inbox failed; it is retried in a minute");
    }
  }

  /** Returns the retention time. */
  async #note(): Promise<number> {
    const { inbox, source, clock, received } = this.#settings;
    const [newest] = await inbox.list({ limit: 1 });
    const { nowMs, marks } = await inbox.readMarks(everySource);
    const elapsedMs = clock.monotonic() - this.#roundAtMs;
    this.#roundAtMs += elapsedMs;
    let lastMs = Number(marks[retentionTime] ?? nowMs);
    if (newest && newest.seq > Number(marks[retentionSeq])) lastMs = Math.min(lastMs, newest.receivedAtMs);
    const asOfMs = Math.round(Math.min(nowMs, lastMs + catchUp * elapsedMs));
    const noted = { [retentionTime]: String(asOfMs), [retentionSeq]: String(newest?.seq ?? 0) };
    await inbox.writeMarks(everySource, noted);
    if (received() > this.#received) {
      this.#received = received();
      await inbox.writeMarks(source, { [lastReceived]: String(nowMs) });
    }
    return asOfMs;
  }

  async #purge(asOfMs: number): Promise<void> {
    const { inbox, retention, logger } = this.#settings;
    let removed = 0;
    for (let changed = purgeRowsMax; changed > 0 && this.#running; removed += changed) {
      changed = await inbox.purge({ ...retention, asOfMs }, purgeRowsMax);
    }
    if (removed > 0) logger.info({ removed }, "expired rows were removed from the inbox");
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#round;
  }

  #end(): void {
    this.#running = false;
    this.#cancel();
  }
}

/**
 * Opens an inbox with `open`. A new one has a retention time before its first row, so that a clock that is set later
 * shows.
 */
export function openWithRetentionTime(
  inbox: InboxStore<unknown>,
  open: () => Promise<void>,
): () => Promise<void> {
  const noteFirst = openOnce({ open: () => noteFirstRetentionTime(inbox) });
  return openOnce({ open: () => open().then(noteFirst) });
}

async function noteFirstRetentionTime(inbox: InboxStore<unknown>): Promise<void> {
  const { nowMs, marks } = await inbox.readMarks(everySource);
  if (marks[retentionTime] === undefined) {
    await inbox.writeMarks(everySource, { [retentionTime]: String(nowMs) });
  }
}

const everyMs = 60_000;
const hourMs = 3_600_000;
// Small steps, so that storing deliveries never waits for long: SQLite takes about 0.1 ms per row.
const purgeRowsMax = 100;
const rereadRowsMax = 1_000;
/** How much faster than time itself the retention time may pass. */
const catchUp = 24;

// Marks. One of no source counts for all.
const everySource = "";
const retentionTime = "retention-time";
/** The newest row when the retention time was noted. */
const retentionSeq = "retention-seq";
/** The inbox's time in the last minute in which a delivery was accepted. */
export const lastReceived = "last-received";
