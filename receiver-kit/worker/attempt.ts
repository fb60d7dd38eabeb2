import type { WebhookEvent } from "../../sdk/events/index.ts";
import type { Clock } from "../clock.ts";
import {
  HandlerTimeoutError,
  LeaseLostError,
  NonRetryableError,
  ReceiverClosingError,
  SupersededError,
} from "../errors.ts";
import { parseDelivery } from "../event/parse-delivery.ts";
import type { Claim, HandlerTransaction, HeadAdvance, Inbox, Settlement } from "../inbox/inbox.ts";
import type { ReceiverLogger } from "../logger.ts";
import type { Random } from "../random.ts";
import type { HandlerContext, Handlers } from "./handlers.ts";
import { type RetryPolicy, retryDelayMs } from "./retry-policy.ts";

export type AttemptOutcome =
  | "done"
  | "stale"
  | "retried"
  | "dead"
  /** Given back: the receiver closes, or a newer event was applied while this one was being handled. */
  | "released"
  /** Another worker may have the row by now; this attempt left no trace in the inbox. */
  | "lost";

export type AttemptOptions<Transaction> = {
  readonly inbox: Inbox<Transaction>;
  readonly claim: Claim;
  readonly handlers: Handlers<Transaction>;
  readonly controller: AbortController;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ReceiverLogger;
  readonly handlerTimeoutMs: number;
  readonly retry: RetryPolicy;
  readonly onDead: (error: unknown) => void;
};

/** Handles one claimed row, once. Never rejects. */
export async function runAttempt<Transaction>(options: AttemptOptions<Transaction>): Promise<AttemptOutcome> {
  const { inbox, claim, handlerTimeoutMs } = options;
  const stale = isStale(claim);
  const transaction = inbox.begin(claim, settlementOf(claim, stale), { timeoutMs: handlerTimeoutMs });
  try {
    await runHandlers(options, transaction, stale);
    const outcome = await transaction.commit();
    if (outcome === "superseded") throw new SupersededError();
    if (outcome === "lost") throw new LeaseLostError();
    return stale || outcome === "settled-stale" ? "stale" : "done";
  } catch (error) {
    await transaction.rollback().catch(() => {
      // The connection is gone, and the transaction with it.
    });
    return settleFailure(options, error);
  }
}

/** Equal positions are the same event, which has been applied unless somebody asks for it again. */
function isStale({ position, head, replays }: Claim): boolean {
  if (position === null || head === null) return false;
  return position < head || (position === head && replays === 0);
}

function settlementOf({ orderKey, position, status, replays }: Claim, stale: boolean): Settlement {
  if (stale) return { state: "stale", move: null };
  if (orderKey === null || position === null) return { state: "done", move: null };
  const move: HeadAdvance = { key: orderKey, position, status, allowSame: replays > 0 };
  return { state: "done", move };
}

async function runHandlers<Transaction>(
  options: AttemptOptions<Transaction>,
  { handle }: HandlerTransaction<Transaction>,
  stale: boolean,
): Promise<void> {
  const { claim, handlers, controller, clock, handlerTimeoutMs } = options;
  const event = readEvent(claim, clock.now());
  const matching = handlers.matching(event, { channel: claim.channel, stale });
  if (matching.length === 0) return;
  const { source, id, channel, receivedAtMs, body } = claim;
  const context: HandlerContext<Transaction> = {
    ...{ id, source, channel, receivedAtMs, body, stale },
    attempt: claim.attempts,
    replayed: claim.replays > 0,
    idempotencyKey: `${source}:${id}`,
    transaction: handle,
    signal: controller.signal,
  };
  const runAll = async () => {
    for (const handler of matching) {
      controller.signal.throwIfAborted();
      await handler(event, context);
    }
  };
  const cancel = clock.schedule(handlerTimeoutMs, () =>
    controller.abort(new HandlerTimeoutError(handlerTimeoutMs)),
  );
  try {
    await untilAborted(runAll(), controller.signal);
  } finally {
    cancel();
  }
}

/** What the tasks API said was written down by the receiver itself; a delivery is read again. */
function readEvent({ channel, body, receivedAtMs }: Claim, nowMs: number): WebhookEvent {
  if (channel === "reconcile") return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
  // The clock may have been set back since; what was not in the future then is not now.
  const parsed = parseDelivery(body, Math.max(receivedAtMs, nowMs));
  if (!parsed.ok) throw new NonRetryableError(`stored delivery cannot be read: ${parsed.reason}`);
  return parsed.event;
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
  const { source, id } = claim;
  // What a handler throws after its attempt was cut short is a consequence, not the cause.
  const cause = controller.signal.aborted ? controller.signal.reason : error;
  if (cause instanceof LeaseLostError) {
    logger.warn({ source, id }, "the lease on an event was lost while it was being handled");
    return "lost";
  }
  try {
    if (cause instanceof SupersededError || cause instanceof ReceiverClosingError) {
      return (await inbox.fail(claim, { kind: "release" })) ? "released" : "lost";
    }
    const text = errorText(cause);
    if (cause instanceof NonRetryableError || claim.attempts >= retry.attemptsMax) {
      if (!(await inbox.fail(claim, { kind: "dead", error: text }))) return "lost";
      options.onDead(cause);
      return "dead";
    }
    const delayMs = retryDelayMs(retry, claim.attempts, random);
    logger.warn(
      { source, id, attempt: claim.attempts, delayMs, err: cause },
      "a handler failed; it will be tried again",
    );
    return (await inbox.fail(claim, { kind: "retry", delayMs, error: text })) ? "retried" : "lost";
  } catch (failure) {
    // The lease ends by itself, and with it the attempt.
    logger.warn({ source, id, err: failure }, "the end of an attempt could not be recorded");
    return "lost";
  }
}

/** One line that every database can keep. */
function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL refuses NUL in text, terminals obey the others
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, 500);
}
