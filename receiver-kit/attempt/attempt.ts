import type { WebhookEvent } from "@workspace-tasks/events";
import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { isReceiverError, NonRetryableError, ReceiverError } from "../errors.ts";
import { parseBody } from "../event/parse-delivery.ts";
import type { HandlerTransaction, InboxClaim, InboxFault, InboxSettlement } from "../inbox/inbox.ts";
import { leaseLost, superseded } from "../inbox/lazy-transaction.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { splitSource } from "../signature/tenant.ts";
import type { AttemptOutcome } from "../stats/receiver-stats.ts";
import type { Cancellation } from "./cancellation.ts";
import { HandlerQueries } from "./handler-queries.ts";
import type { HandlerContext, Handlers, Registration } from "./handlers.ts";
import { retryDelayMs } from "./retry-policy.ts";

export type AttemptSettings<Transaction> = ReceiverSettings<Transaction> & {
  readonly handlers: Handlers<Transaction>;
};

/** A claimed row that is handled. */
export interface Attempt {
  readonly claim: InboxClaim;
  /** Position of the key's head; earlier rows of the same claim may have advanced it. */
  readonly head: string | null;
  readonly cancellation: Cancellation;
}

export interface AttemptEvents {
  onDead(error: unknown): void;
  /** The handlers have ended, however, and the end of the attempt is being recorded. */
  onHandled(): void;
  /** An attempt that has ended had no handler to run: none is registered for an event of this name. */
  onIgnored(event: string): void;
  /** A query of the handler was rejected after it had ended. */
  onLateQuery(handler: string, query: string): void;
  /** The error of an attempt that failed. */
  onFailed?(error: unknown): void;
}

/** Handles one claimed row, once. Never rejects. */
export async function runAttempt<Transaction>(
  settings: AttemptSettings<Transaction>,
  attempt: Attempt,
  events: AttemptEvents,
): Promise<AttemptOutcome> {
  const { inbox, handlerTimeoutMs: timeoutMs } = settings;
  const staleness = stalenessOf(attempt);
  const settlement = settlementOf(attempt.claim, staleness);
  const transaction = inbox.begin([{ claim: attempt.claim, settlement }], { timeoutMs });
  let ignored: string | undefined;
  try {
    try {
      ignored = await runHandlers(settings, attempt, { transaction, staleness, events });
    } finally {
      events.onHandled();
    }
    const outcome = await transaction.commit();
    if (outcome === "superseded") throw superseded();
    if (outcome === "lost") throw leaseLost();
    if (ignored !== undefined) events.onIgnored(ignored);
    const isStale = staleness.stale || staleness.alreadyApplied || outcome === "settled-stale";
    return isStale ? "stale" : "done";
  } catch (error) {
    // When that fails, the connection was lost, and the transaction with it.
    await transaction.rollback().catch(() => undefined);
    return settleFailure(settings, attempt, events, error, transaction.fault);
  }
}

interface Staleness {
  /** Something newer was applied before. */
  readonly stale: boolean;
  /** Equal positions are the same event, which has been applied unless an operator replayed it. */
  readonly alreadyApplied: boolean;
}

function stalenessOf({ claim: { position, replays }, head }: Attempt): Staleness {
  if (position === null || head === null) return { stale: false, alreadyApplied: false };
  return { stale: position < head, alreadyApplied: position === head && replays === 0 };
}

function settlementOf(
  { orderKey: key, position, status, replays }: InboxClaim,
  { stale, alreadyApplied }: Staleness,
): InboxSettlement {
  if (stale || alreadyApplied) return { state: "stale", advance: null };
  if (key === null || position === null) return { state: "done", advance: null };
  return { state: "done", advance: { key, position, status, allowSame: replays > 0 } };
}

interface HandlerRun<Transaction> {
  readonly transaction: HandlerTransaction<Transaction>;
  readonly staleness: Staleness;
  readonly events: AttemptEvents;
}

/** @returns the name of an event that no handler is registered for */
async function runHandlers<Transaction>(
  settings: AttemptSettings<Transaction>,
  { claim, cancellation }: Attempt,
  { transaction, staleness, events }: HandlerRun<Transaction>,
): Promise<string | undefined> {
  const { handlers, clock, handlerTimeoutMs } = settings;
  const event = readEvent(claim);
  const matching = handlers.matching(event, { channel: claim.channel, ...staleness });
  if (matching.length === 0) {
    // What `reconcile` found is for state handlers, which need not exist.
    return claim.channel === "webhook" && !handlers.includes(event) ? event.event : undefined;
  }
  let queries: HandlerQueries | undefined;
  const runOne = async ({ name, handler }: Registration<Transaction>) => {
    const own = new HandlerQueries({
      handler: `${name}, for the event ${event.event} ${claim.id},`,
      onLate: (query) => events.onLateQuery(name, query),
    });
    queries = own;
    const handle = own.watch(transaction.handle);
    try {
      await handler(event, createContext(claim, event, { handle, staleness, cancellation }));
      await own.settle();
      own.end("had returned");
    } catch (error) {
      own.end("had thrown");
      own.throwCauseOf(error);
    }
  };
  const runAll = async () => {
    for (const each of matching) {
      if (cancellation.reason) throw cancellation.reason;
      await runOne(each);
    }
  };
  const cancelTimeout = clock.schedule(handlerTimeoutMs, () => {
    const message = `the handlers of this event took longer than handlerTimeoutMs (${handlerTimeoutMs})`;
    cancellation.cancel(new ReceiverError("HANDLER_TIMEOUT", message));
  });
  try {
    await cancellation.race(runAll());
  } finally {
    cancelTimeout();
    queries?.end("was cancelled");
  }
  return undefined;
}

interface ContextParts<Transaction> {
  readonly handle: Transaction;
  readonly staleness: Staleness;
  readonly cancellation: Cancellation;
}

function createContext<Transaction>(
  claim: InboxClaim,
  event: WebhookEvent,
  { handle, staleness, cancellation }: ContextParts<Transaction>,
): HandlerContext<Transaction> {
  const { source, tenant } = splitSource(claim.source);
  return {
    id: claim.id,
    source,
    tenant,
    secretIndex: claim.secretIndex ?? undefined,
    traceparent: claim.traceparent ?? undefined,
    channel: claim.channel,
    receivedAtMs: claim.receivedAtMs,
    body: claim.body,
    attempt: claim.attempts,
    replayed: claim.replays > 0,
    ...staleness,
    idempotencyKey: `${claim.source}:${eventIdOf(event) ?? claim.id}`,
    transaction: handle,
    get signal() {
      return cancellation.signal;
    },
  };
}

/** Events read from the tasks API were written by the receiver itself; a delivery is parsed again. */
function readEvent({ channel, body }: InboxClaim): WebhookEvent {
  if (channel === "reconcile") return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
  // Its time was checked when it was stored; the clock may have been set back since.
  const parsed = parseBody(body);
  if (!parsed.ok) throw new NonRetryableError(`the stored delivery cannot be parsed: ${parsed.reason}`);
  return parsed.event;
}

function eventIdOf(event: WebhookEvent): string | undefined {
  const id = event["id"];
  return typeof id === "string" && id !== "" ? id : undefined;
}

async function settleFailure<Transaction>(
  { inbox, retry, random, logger }: AttemptSettings<Transaction>,
  { claim, cancellation }: Attempt,
  events: AttemptEvents,
  error: unknown,
  fault: InboxFault | undefined,
): Promise<AttemptOutcome> {
  const { source, id, attempts: attempt } = claim;
  // What a handler throws after its attempt was cancelled is a consequence, not the cause.
  const cause = cancellation.reason ?? readable(error);
  notifyListener(events.onFailed, cause);
  if (isReceiverError(cause, "RELEASE_TOO_OLD")) {
    logger.warn({ source, id, err: cause }, notRecorded);
    return "lost";
  }
  const isLeaseLost = isReceiverError(cause, "LEASE_LOST");
  try {
    if (isReleased(cause) || (isLeaseLost && !cancellation.reason)) {
      const isHeld = await inbox.fail(claim, { kind: "release" });
      if (!isHeld) logger.warn({ source, id }, "the lease on an event was lost while it was being handled");
      return isHeld ? "released" : "lost";
    }
    const text = errorText(cause);
    if (fault === "connection" && cause === error) {
      const delayMs = retryDelayMs(retry, 1, random);
      logger.warn({ source, id, delayMs, err: cause }, noConnection);
      const failure = { kind: "retry", delayMs, error: text, counts: false } as const;
      return (await inbox.fail(claim, failure)) ? "released" : "lost";
    }
    if (isReceiverError(cause, "NON_RETRYABLE") || attempt >= retry.attemptsMax) {
      if (!(await inbox.fail(claim, { kind: "dead", error: text }))) return "lost";
      events.onDead(cause);
      return "dead";
    }
    const isBrief = isLeaseLost || fault === "conflict";
    const delayMs = retryDelayMs(retry, isBrief ? 1 : attempt, random);
    logger.warn({ source, id, attempt, delayMs, err: cause }, "a handler failed; the event will be retried");
    const failure = { kind: "retry", delayMs, error: text, counts: true } as const;
    return (await inbox.fail(claim, failure)) ? "retried" : "lost";
  } catch (thrown) {
    // The lease ends by itself, and with it the attempt.
    logger.warn({ source, id, err: thrown }, notRecorded);
    return "lost";
  }
}

/** Nothing is known against the event itself. */
const isReleased = (cause: unknown) =>
  isReceiverError(cause, "SUPERSEDED") || isReceiverError(cause, "RECEIVER_CLOSING");

const noConnection =
  "the inbox had no connection for the transaction of an event; it is handled later, and the attempt does not count";
const notRecorded = "the end of an attempt could not be recorded";

/** What a handler threw, or an error in its place where that cannot be read: a revoked proxy, a `message` that throws. */
function readable(thrown: unknown): unknown {
  try {
    errorText(thrown);
    isReceiverError(thrown);
    return thrown;
  } catch {
    return new Error("the handler threw a value that cannot be read");
  }
}

/** One line that every database can store. */
function errorText(error: unknown): string {
  const describe = (each: unknown) =>
    each instanceof Error ? `${each.name}: ${each.message}` : String(each);
  // An ORM reports why the inbox rejected a statement as the cause only.
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  const text = isReceiverError(cause) ? `${describe(error)} (${describe(cause)})` : describe(error);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL rejects NUL in text, terminals interpret the others
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, 500);
}
