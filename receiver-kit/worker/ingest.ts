import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { isReceiverError, ReceiverError } from "../errors.ts";
import type { AcceptContext, AcceptResult } from "../event/accept-result.ts";
import { type ParsedDelivery, parseDelivery } from "../event/parse-delivery.ts";
import type { InboxStore, NewInboxRow } from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { tenantSource, throwIfOtherWorkspace } from "../signature/tenant.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
import type { IngestCounts } from "../stats/receiver-stats.ts";
import { createByteBudget } from "./byte-budget.ts";
import { InFlight } from "./claimer.ts";
import { OutageLog } from "./outage-log.ts";

/** `open` opens the inbox, once; called again after it failed. */
type Settings = ReceiverSettings & { readonly open: () => Promise<void> };

/** Stores verified deliveries as durable rows. */
export class Ingest {
  readonly counts: IngestCounts = { accepted: 0, duplicates: 0, quarantined: 0, conflicts: 0 };
  readonly outage: OutageLog;
  readonly #settings: Settings;
  readonly #inFlight = new InFlight();
  readonly #backlogs = new Map<string, ReturnType<typeof createBacklogEstimate>>();
  readonly #accept: ReturnType<typeof createAcceptor>;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#accept = createAcceptor(settings);
    const { inbox, source } = settings;
    const messages = {
      begins: "the inbox cannot store deliveries; they are not acknowledged and will be sent again",
      ends: "the inbox stores deliveries again",
    };
    const probe = () => this.#accept("writeMarks", 0, () => inbox.writeMarks(source, { probed: "" }));
    this.outage = new OutageLog(settings, messages, probe);
  }

  async accept(webhook: VerifiedWebhook, context: AcceptContext = {}): Promise<AcceptResult> {
    const parsed = parseDelivery(webhook.body, this.#settings.clock.now(), webhook.tenant !== undefined);
    throwIfOtherWorkspace(webhook, parsed.workspace);
    const source = tenantSource(this.#settings.source, webhook.tenant?.id);
    return this.#inFlight.track(this.#store(webhook, parsed, source, context));
  }

  stopProbing(): void {
    this.outage.stop();
  }

  /** Resolves once no delivery is being stored. */
  drain(): Promise<void> {
    return this.#inFlight.ended();
  }

  async #store(
    webhook: VerifiedWebhook,
    parsed: ParsedDelivery,
    source: string,
    context: AcceptContext,
  ): Promise<AcceptResult> {
    const { id, timestamp, body, secretIndex } = webhook;
    const { logger } = this.#settings;
    const backlog = this.#backlogOf(source);
    backlog.throwIfFull();
    const quarantine = parsed.ok ? null : parsed.reason;
    const { event, orderKey, position, status, workspaceId } = parsed.columns;
    const traceparent = context.traceparent ?? null;
    // One literal: an object that is composed of others takes several times as long to create.
    const result = await this.#insert({
      event,
      orderKey,
      position,
      status,
      workspaceId,
      source,
      id,
      timestamp,
      body,
      channel: "webhook",
      quarantine,
      secretIndex,
      traceparent,
    });
    if (result.outcome === "duplicate") {
      this.counts.duplicates += 1;
      if (result.sameBody === false) {
        this.counts.conflicts += 1;
        logger.warn({ id, source }, "a delivery repeats an id with another body; the first one is kept");
      }
      return { outcome: "duplicate" };
    }
    if (quarantine !== null) {
      this.counts.quarantined += 1;
      logger.warn({ id, source, reason: quarantine }, "a verified delivery is unusable and was quarantined");
      notifyListener(this.#settings.onQuarantined, { source, id }, quarantine);
      return { outcome: "quarantined" };
    }
    this.counts.accepted += 1;
    backlog.add();
    return { outcome: "accepted" };
  }

  /** Each tenant has its own, so that one cannot use up that of the others. */
  #backlogOf(source: string): ReturnType<typeof createBacklogEstimate> {
    const known = this.#backlogs.get(source);
    const backlog = known ?? createBacklogEstimate({ ...this.#settings, source });
    if (!known) this.#backlogs.set(source, backlog);
    return backlog;
  }

  async #insert(row: NewInboxRow) {
    try {
      const insert = () => this.#settings.inbox.insert(row);
      const result = await this.#accept("insert", row.body.byteLength, insert);
      this.outage.end();
      return result;
    } catch (error) {
      // What the store says is wrong, which is the cause of what the request fails with.
      this.outage.add((error as Error).cause ?? error);
      throw error;
    }
  }
}

/** How many rows wait: counted once a second, plus those stored since. An exact count would cost a query per delivery. */
function createBacklogEstimate({ inbox, open, source, backlogMax, clock }: Settings) {
  let counted = 0;
  let addedSince = 0;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  let counting = false;

  const count = async () => {
    if (counting) return;
    counting = true;
    countedAtMs = clock.monotonic();
    try {
      await open();
      const before = addedSince;
      counted = await inbox.backlog(source, backlogMax);
      addedSince -= before;
    } catch {
      // The delivery itself fails in the same way and reports it.
    } finally {
      counting = false;
    }
  };

  return {
    add() {
      addedSince += 1;
    },
    throwIfFull() {
      if (clock.monotonic() - countedAtMs >= countEveryMs) void count();
      if (counted + addedSince < backlogMax) return;
      throw new ReceiverError("BACKLOG_FULL", `more than ${backlogMax} deliveries wait to be handled`);
    },
  };
}

const countEveryMs = 1_000;

/** How long a request waits for its inbox. */
interface InboxLimit {
  readonly acceptTimeoutMs: number;
  readonly clock: Clock;
}

/**
 * What an inbox rejects with, or does not resolve within `leftMs`, is an outage: the response is 503, and the delivery is sent
 * again.
 *
 * @throws {ReceiverError} `INBOX_UNAVAILABLE`
 */
export async function orUnavailable<Result>(
  { acceptTimeoutMs, clock }: InboxLimit,
  method: keyof InboxStore & string,
  result: Promise<Result>,
  leftMs = acceptTimeoutMs,
): Promise<Result> {
  const message = `inbox: ${method} did not return within acceptTimeoutMs (${acceptTimeoutMs})`;
  const late = () => new ReceiverError("INBOX_UNAVAILABLE", message);
  try {
    return await withTimeout(result, leftMs, clock, late);
  } catch (cause) {
    if (isReceiverError(cause, "INBOX_UNAVAILABLE")) throw cause;
    throw new ReceiverError("INBOX_UNAVAILABLE", "the inbox cannot store deliveries right now", { cause });
  }
}

interface AcceptorSettings extends InboxLimit {
  readonly storingBytesMax: number;
  /** Opens the inbox, once; called again after it failed. */
  readonly open: () => Promise<void>;
}

/**
 * Returns a function that stores a delivery of `bytes` with `write`: in an inbox that is open, within `acceptTimeoutMs`, and
 * of few deliveries at a time. The bytes are in use until the inbox is finished with them, also after the time limit.
 */
export function createAcceptor(settings: AcceptorSettings) {
  const { clock, acceptTimeoutMs, storingBytesMax, open } = settings;
  const take = createByteBudget(storingBytesMax);
  let isOpen = false;
  /** @throws {ReceiverError} `INBOX_UNAVAILABLE` */
  return async <Result>(
    method: "insert" | "beginInline" | "writeMarks",
    bytes: number,
    write: () => Promise<Result>,
  ): Promise<Result> => {
    const startedMs = clock.monotonic();
    const release = take(bytes);
    if (!isOpen)
      await orUnavailable(settings, "open", open()).catch((error: unknown) => {
        release();
        throw error;
      });
    isOpen = true;
    const leftMs = Math.max(1, acceptTimeoutMs - (clock.monotonic() - startedMs));
    const stored = async () => {
      try {
        return await write();
      } finally {
        release();
      }
    };
    return orUnavailable(settings, method, stored(), leftMs);
  };
}
