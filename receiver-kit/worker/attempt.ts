import type { WebhookEvent } from "../../sdk/events/index.ts";
import { isReceiverError, NonRetryableError, ReceiverError } from "../errors.ts";
import { parseDelivery } from "../event/parse-delivery.ts";
import { notifyListener } from "../http/notify-listener.ts";
import type { Claim, HandlerTransaction, Settlement } from "../inbox/inbox.ts";
import { leaseLost, superseded } from "../inbox/lazy-transaction.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { AttemptOutcome } from "../receiver-stats.ts";
import { splitSource } from "../tenant-source.ts";
import type { HandlerContext, Handlers } from "./handlers.ts";
import { retryDelayMs } from "./retry-policy.ts";

export type AttemptOptions<Transaction> = Omit<ReceiverSettings<Transaction>, "onDead"> & {
  readonly claim: Claim;
  readonly handlers: Handlers<Transaction>;
  readonly controller: AbortController;
  readonly onDead: (error: unknown) => void;
  /** Called when the handlers have ended, however, and the end of the attempt is being recorded. */
  readonly onHandled?: () => void;
  /** Called with the error of an attempt that failed. */
  readonly onFailed?: (error: unknown) => void;
};

/** Handles one claimed row, once. Never rejects. */
export async function runAttempt<Transaction>(options: AttemptOptions<Transaction>): Promise<AttemptOutcome> {
  const { inbox, claim, handlerTimeoutMs } = options;
  const staleness = stalenessOf(claim);
  const transaction = inbox.begin(claim, settlementOf(claim, staleness), { timeoutMs: handlerTimeoutMs });
  try {
    await runHandlers(options, transaction, staleness).finally(options.onHandled);
    const outcome = await transaction.commit();
    if (outcome === "superseded") throw superseded();
    if (outcome === "lost") throw leaseLost();
    const isStale = staleness.stale || staleness.alreadyApplied || outcome === "settled-stale";
    return isStale ? "stale" : "done";
  } catch (error) {
    await transaction.rollback().catch(() => {
      // The connection was lost, and the transaction with it.
    });
    return settleFailure(options, error);
  }
}

interface Staleness {
  /** Something newer was applied before. */
  readonly stale: boolean;
  /** Equal positions are the same event, which has been applied unless an operator replayed it. */
  readonly alreadyApplied: boolean;
}

function stalenessOf({ position, head, replays }: Claim): Staleness {
  if (position === null || head === null) return { stale: false, alreadyApplied: false };
  return { stale: position < head, alreadyApplied: position === head && replays === 0 };
}

function settlementOf(
  { orderKey: key, position, status, replays }: Claim,
  { stale, alreadyApplied }: Staleness,
): Settlement {
  if (stale || alreadyApplied) return { state: "stale", advance: null };
  if (key === null || position === null) return { state: "done", advance: null };
  return { state: "done", advance: { key, position, status, allowSame: replays > 0 } };
}

async function runHandlers<Transaction>(
  options: AttemptOptions<Transaction>,
  { handle }: HandlerTransaction<Transaction>,
  staleness: Staleness,
): Promise<void> {
  const { claim, handlers, controller, clock, handlerTimeoutMs } = options;
  const event = readEvent(claim);
  const matching = handlers.matching(event, { channel: claim.channel, ...staleness });
  if (matching.length === 0) return;
  const { id, channel, receivedAtMs, body } = claim;
  const context: HandlerContext<Transaction> = {
    ...splitSource(claim.source),
    ...{ id, channel, receivedAtMs, body, ...staleness },
    secretIndex: claim.secretIndex ?? undefined,
    traceparent: claim.traceparent ?? undefined,
    attempt: claim.attempts,
    replayed: claim.replays > 0,
    idempotencyKey: `${claim.source}:${eventIdOf(event) ?? id}`,
    transaction: handle,
    signal: controller.signal,
  };
  const runAll = async () => {
    for (const handler of matching) {
      controller.signal.throwIfAborted();
      await handler(event, context);
    }
  };
  const cancelTimeout = clock.schedule(handlerTimeoutMs, () => {
    const message = `the handlers of this event took longer than ${handlerTimeoutMs} ms`;
    controller.abort(new ReceiverError("HANDLER_TIMEOUT", message));
  });
  try {
    await untilAborted(runAll(), controller.signal);
  } finally {
    cancelTimeout();
  }
}

/** Events read from the tasks API were written by the receiver itself; a delivery is parsed again. */
function readEvent({ channel, body }: Claim): WebhookEvent {
  if (channel === "reconcile") return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
  // Its time was checked when it was stored; the clock may have been set back since.
  const parsed = parseDelivery(body, Number.POSITIVE_INFINITY);
  if (!parsed.ok) throw new NonRetryableError(`the stored delivery cannot be parsed: ${parsed.reason}`);
  return parsed.event;
}

function eventIdOf(event: WebhookEvent): string | undefined {
  const id = event["id"];
  return typeof id === "string" && id !== "" ? id : undefined;
}

function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

async function settleFailure<Transaction>(
  options: AttemptOptions<Transaction>,
  error: unknown,
): Promise<AttemptOutcome> {
  const { inbox, claim, retry, random, logger, controller } = options;
  const { source, id, attempts: attempt } = claim;
  // What a handler throws after its attempt was aborted is a consequence, not the cause.
  const cause = controller.signal.aborted ? controller.signal.reason : error;
  notifyListener(options.onFailed, cause);
  if (isReceiverError(cause, "LEASE_LOST")) {
    logger.warn({ source, id }, "the lease on an event was lost while it was being handled");
    return "lost";
  }
  try {
    if (isReceiverError(cause, "SUPERSEDED") || isReceiverError(cause, "RECEIVER_CLOSING")) {
      return (await inbox.fail(claim, { kind: "release" })) ? "released" : "lost";
    }
    const text = errorText(cause);
    if (isReceiverError(cause, "NON_RETRYABLE") || attempt >= retry.attemptsMax) {
      if (!(await inbox.fail(claim, { kind: "dead", error: text }))) return "lost";
      options.onDead(cause);
      return "dead";
    }
    const delayMs = retryDelayMs(retry, attempt, random);
    logger.warn({ source, id, attempt, delayMs, err: cause }, "a handler failed; the event will be retried");
    return (await inbox.fail(claim, { kind: "retry", delayMs, error: text })) ? "retried" : "lost";
  } catch (thrown) {
    // The lease ends by itself, and with it the attempt.
    logger.warn({ source, id, err: thrown }, "the end of an attempt could not be recorded");
    return "lost";
  }
}

/** One line that every database can store. */
function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL rejects NUL in text, terminals interpret the others
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, 500);
}
