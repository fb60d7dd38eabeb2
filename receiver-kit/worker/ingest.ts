import type { Clock } from "../clock.ts";
import { BacklogFullError, InboxUnavailableError } from "../errors.ts";
import { parseDelivery } from "../event/parse-delivery.ts";
import type { AcceptResult } from "../http/webhook-handler.ts";
import type { Inbox, NewRow } from "../inbox/inbox.ts";
import type { ReceiverLogger } from "../logger.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";

export type IngestOptions = {
  readonly inbox: Inbox;
  /** Opens the inbox, once; asked again after it failed. */
  readonly open: () => Promise<void>;
  readonly source: string;
  readonly clock: Clock;
  readonly logger: ReceiverLogger;
  readonly acceptTimeoutMs: number;
  readonly backlogMax: number;
};

export type IngestCounts = { accepted: number; duplicates: number; quarantined: number; conflicts: number };

/** Turns verified deliveries into durable rows. */
export class Ingest {
  readonly counts: IngestCounts = { accepted: 0, duplicates: 0, quarantined: 0, conflicts: 0 };
  readonly #options: IngestOptions;
  readonly #underWay = new Map<string, Promise<AcceptResult>>();
  readonly #backlog: Backlog;
  readonly #outage: Outage;

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#backlog = new Backlog(options);
    this.#outage = new Outage(options.clock, options.logger);
  }

  /** A duplicate that comes while the first is being stored shares its fate. */
  accept(webhook: VerifiedWebhook): Promise<AcceptResult> {
    const first = this.#underWay.get(webhook.id);
    if (first) {
      return first.then(() => {
        this.counts.duplicates += 1;
        return { outcome: "duplicate" };
      });
    }
    const acceptance = this.#store(webhook).finally(() => this.#underWay.delete(webhook.id));
    this.#underWay.set(webhook.id, acceptance);
    return acceptance;
  }

  /** Resolves once nothing is being stored any more. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  async #store(webhook: VerifiedWebhook): Promise<AcceptResult> {
    const { inbox, source, clock, logger } = this.#options;
    this.#backlog.refuseWhenFull();
    const { id, timestamp, body } = webhook;
    const parsed = parseDelivery(body, clock.now());
    const quarantine = parsed.ok ? null : parsed.reason;
    const newRow: NewRow = {
      ...parsed.columns,
      source,
      id,
      timestamp,
      body,
      channel: "webhook",
      quarantine,
    };
    const inserted = await this.#inTime(async () => {
      await this.#options.open();
      return inbox.insert(newRow);
    });
    if (inserted.outcome === "duplicate") {
      this.counts.duplicates += 1;
      if (inserted.sameBody === false) {
        this.counts.conflicts += 1;
        logger.warn({ id, source }, "a delivery repeats an id with another body; the first one is kept");
      }
      return { outcome: "duplicate" };
    }
    if (quarantine !== null) {
      this.counts.quarantined += 1;
      logger.warn(
        { id, source, reason: quarantine },
        "a genuine delivery cannot be used and is in quarantine",
      );
      return { outcome: "quarantined" };
    }
    this.counts.accepted += 1;
    this.#backlog.added();
    return { outcome: "accepted" };
  }

  /** Whatever keeps the inbox from answering, the sender hears the same: not stored, come again. */
  async #inTime<Result>(store: () => Promise<Result>): Promise<Result> {
    const { clock, acceptTimeoutMs } = this.#options;
    let cancel = () => {};
    const deadline = new Promise<never>((_, reject) => {
      const late = () => reject(new Error(`the inbox did not answer within ${acceptTimeoutMs} ms`));
      cancel = clock.schedule(acceptTimeoutMs, late);
    });
    try {
      const result = await Promise.race([store(), deadline]);
      this.#outage.over();
      return result;
    } catch (cause) {
      this.#outage.noticed(cause);
      throw new InboxUnavailableError("the inbox cannot store deliveries right now", { cause });
    } finally {
      cancel();
    }
  }
}

/** An estimate of how many rows wait: counted now and then, plus what came since. Exact counting would cost each delivery a query. */
class Backlog {
  readonly #options: IngestOptions;
  #counted = 0;
  #since = 0;
  #countedAtMs = Number.NEGATIVE_INFINITY;
  #counting = false;

  constructor(options: IngestOptions) {
    this.#options = options;
  }

  added(): void {
    this.#since += 1;
  }

  refuseWhenFull(): void {
    const { backlogMax, clock } = this.#options;
    if (clock.monotonic() - this.#countedAtMs >= countEveryMs) void this.#count();
    if (this.#counted + this.#since < backlogMax) return;
    throw new BacklogFullError(`more than ${backlogMax} deliveries wait to be handled`);
  }

  async #count(): Promise<void> {
    if (this.#counting) return;
    this.#counting = true;
    this.#countedAtMs = this.#options.clock.monotonic();
    try {
      const { inbox, source, backlogMax } = this.#options;
      await this.#options.open();
      const before = this.#since;
      this.#counted = await inbox.backlog(source, backlogMax);
      this.#since -= before;
    } catch {
      // The delivery itself meets the same failure and reports it.
    } finally {
      this.#counting = false;
    }
  }
}

const countEveryMs = 1_000;

/** Says once that the inbox fails, now and then that it still does, and once that it is back. */
class Outage {
  readonly #clock: Clock;
  readonly #logger: ReceiverLogger;
  #refused = 0;
  #loggedAtMs = 0;

  constructor(clock: Clock, logger: ReceiverLogger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  noticed(error: unknown): void {
    this.#refused += 1;
    const now = this.#clock.monotonic();
    if (this.#refused > 1 && now - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = now;
    this.#logger.error(
      { err: error, refused: this.#refused },
      "the inbox cannot store deliveries; they are answered 503 and will be sent again",
    );
  }

  over(): void {
    if (this.#refused === 0) return;
    this.#logger.info({ refused: this.#refused }, "the inbox stores deliveries again");
    this.#refused = 0;
  }
}

const logEveryMs = 10_000;
