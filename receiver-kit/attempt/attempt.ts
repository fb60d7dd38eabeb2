import type { WebhookEvent } from "@workspace-tasks/events";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isReceiverError, NonRetryableError, ReceiverError } from "../errors.ts";
import { idempotencyKey } from "../event/event-order.ts";
import { parseBody } from "../event/parse-delivery.ts";
import { leaseLost, superseded } from "../inbox/handler-transaction.ts";
import type {
  FailedAttempt,
  HandlerTransaction,
  InboxClaim,
  InboxFault,
  InboxLease,
  InboxRowReference,
  InboxSettlement,
  InboxSettling,
} from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { splitSource } from "../signature/tenant.ts";
import type { AttemptOutcome } from "../stats/receiver-stats.ts";
import { HandlerQueries } from "./handler-queries.ts";
import type { BatchRegistration, EventContext, Handlers, TransactionContext } from "./handlers.ts";
import { retryDelayMs } from "./retry-policy.ts";

/** Ends an attempt early. An `AbortSignal` costs more than the rest of a short attempt, so it is created when it is read. */
export class Cancellation {
  /** Why the attempt was cancelled. */
  reason: Error | undefined;
  #controller: AbortController | undefined;
  #onCancel: ((reason: Error) => void) | undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.reason) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  /** The first reason counts. */
  cancel(reason: Error): void {
    if (this.reason) return;
    this.reason = reason;
    this.#controller?.abort(reason);
    this.#onCancel?.(reason);
  }

  /** Settles as `work` does, or rejects with the reason. For one work at a time. */
  race(work: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.reason) reject(this.reason);
      this.#onCancel = reject;
      work.then(resolve, reject);
    });
  }
}

export type AttemptSettings<Transaction> = ReceiverSettings<Transaction> & {
  readonly handlers: Handlers<Transaction>;
};

/** A claimed row that is handled. */
export interface AttemptRow {
  readonly claim: InboxClaim;
  /** Position of the key's head; earlier rows of the same claim may have advanced it. */
  readonly head: string | null;
}

export interface Attempt<Transaction> {
  /** One, or the rows of a batch; those of a key follow each other, in their order. */
  readonly rows: readonly AttemptRow[];
  /** Their handler, where that is one of batches. */
  readonly batch: BatchRegistration<Transaction> | undefined;
  readonly cancellation: Cancellation;
  /** Name of the handler that runs, or ran last. */
  handler?: string;
}

/** How the rows ended, in their order. `apart`: nothing of a batch was kept, and each row is to be handled alone now. */
export type AttemptResult = readonly AttemptOutcome[] | "apart";

export interface AttemptEvents {
  onDead(fields: EventFields, error: unknown): void;
  /** The handlers have ended, however, and the end of the attempt is being recorded. */
  onHandled(): void;
  /** A row that has ended had no handler to run: none is registered for an event of this name. */
  onIgnored(event: string): void;
  /** A query of the handler was rejected after it had ended. */
  onLateQuery(handler: string, query: string): void;
  /** The error of an attempt that failed. */
  onFailed?(error: unknown): void;
}

/** Handles one claimed row, or a batch of them, once. Never rejects. */
export async function runAttempt<Transaction>(
  settings: AttemptSettings<Transaction>,
  attempt: Attempt<Transaction>,
  events: AttemptEvents,
): Promise<AttemptResult> {
  const { inbox, handlerTimeoutMs: timeoutMs } = settings;
  const rows = planRows(attempt);
  const transaction = inbox.begin(rows, { timeoutMs });
  let ignored: readonly string[] = [];
  try {
    try {
      ignored = await runHandlers(settings, attempt, { rows, transaction, events });
    } finally {
      events.onHandled();
    }
    const outcome = await transaction.commit();
    if (outcome === "superseded") throw superseded();
    if (outcome === "lost") throw leaseLost();
    for (const event of ignored) events.onIgnored(event);
    return rows.map(({ settlement }) =>
      settlement.state === "stale" || outcome === "settled-stale" ? "stale" : "done",
    );
  } catch (error) {
    // When that fails, the connection was lost, and the transaction with it.
    await transaction.rollback().catch(() => undefined);
    return settleFailures(settings, attempt, events, error, transaction.fault);
  }
}

/** A row, what its handler is told of its place, and how it ends when that succeeds. */
interface PlannedRow extends InboxSettling {
  readonly staleness: Staleness;
}

function planRows<Transaction>({ rows, batch }: Attempt<Transaction>): readonly PlannedRow[] {
  if (!batch) {
    return rows.map(({ claim, head }) => {
      const staleness = stalenessOf(claim, head);
      return { claim, staleness, settlement: settlementOf(claim, staleness) };
    });
  }
  const heads = new Map<InboxLease, string | null>();
  const planned = rows.map(({ claim, head }): PlannedRow => {
    const staleness = stalenessOf(claim, heads.get(claim.lease) ?? head);
    const settlement = settlementOf(claim, staleness);
    if (settlement.advance) heads.set(claim.lease, settlement.advance.position);
    return { claim, staleness, settlement };
  });
  if (!batch.isState) return planned;
  const isNewest = ({ claim, settlement: { advance } }: PlannedRow) =>
    advance === null || advance.position === heads.get(claim.lease);
  return planned.map((row) => (isNewest(row) ? row : { ...row, ...older }));
}

/** A row of a batch that has a newer one of the same task or stage in it. */
const older = {
  staleness: { stale: true, alreadyApplied: false },
  settlement: { state: "stale", advance: null },
} as const;

interface Staleness {
  /** Something newer was applied before. */
  readonly stale: boolean;
  /** Equal positions are the same event, which has been applied unless an operator replayed it. */
  readonly alreadyApplied: boolean;
}

function stalenessOf({ position, replays }: InboxClaim, head: string | null): Staleness {
  if (position === null || head === null) return { stale: false, alreadyApplied: false };
  return { stale: position < head, alreadyApplied: position === head && replays === 0 };
}

function settlementOf(
  { orderKey: key, position, status, replays }: InboxClaim,
  { stale, alreadyApplied }: Staleness,
): InboxSettlement {
  if (stale || alreadyApplied) return { state: "stale", advance: null };
  if (key === null || position === null) return { state: "done", advance: null };
  return { state: "done", advance: { position, status, allowSame: replays > 0 } };
}

/** What an operator looks for in a line of the log. */
export interface EventFields extends InboxRowReference {
  readonly event: string | null;
  readonly task: string | undefined;
  readonly handler: string | undefined;
}

function fieldsOf({ source, id, event, orderKey }: InboxClaim, handler: string | undefined): EventFields {
  const ids = jsonOrUndefined(orderKey ?? "");
  const task: unknown = Array.isArray(ids) ? ids[0] : undefined;
  return { source, id, event, task: typeof task === "string" ? task : undefined, handler };
}

interface HandlerRun<Transaction> {
  readonly rows: readonly PlannedRow[];
  readonly transaction: HandlerTransaction<Transaction>;
  readonly events: AttemptEvents;
}

/** One call of a handler. */
interface HandlerCall<Transaction> {
  /** For messages. */
  readonly name: string;
  readonly subject: () => string;
  run(context: TransactionContext<Transaction>): void | Promise<void>;
}

/** @returns the names of events that no handler is registered for */
async function runHandlers<Transaction>(
  settings: AttemptSettings<Transaction>,
  attempt: Attempt<Transaction>,
  { rows, transaction, events }: HandlerRun<Transaction>,
): Promise<readonly string[]> {
  const { batch, cancellation } = attempt;
  const { handlers, clock, handlerTimeoutMs } = settings;
  const ignored: string[] = [];
  const calls = batch ? callsOfBatch(batch, rows) : callsOfRow(handlers, rows, ignored);
  if (calls.length === 0) return ignored;
  let queries: HandlerQueries | undefined;
  const runOne = async ({ name, subject, run }: HandlerCall<Transaction>) => {
    const own = new HandlerQueries({
      handler: () => `${name}, for ${subject()},`,
      onLate: (query) => events.onLateQuery(name, query),
    });
    queries = own;
    attempt.handler = name;
    try {
      await run(contextOf(own.watch(transaction.handle), cancellation));
      await own.settle();
      own.end("had returned");
    } catch (error) {
      own.end("had thrown");
      own.throwCauseOf(error);
    }
  };
  const runAll = async () => {
    for (const each of calls) {
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
  return ignored;
}

const ofAttempt = Symbol("attempt");

/**
 * One getter for all contexts: that of a literal would be another function for each, and V8 keeps the hidden class of such
 * an object until the next full collection, with everything that its attempt refers to.
 */
const signalProperty: PropertyDescriptor = {
  enumerable: true,
  configurable: true,
  get(this: { readonly [ofAttempt]: Cancellation }) {
    return this[ofAttempt].signal;
  },
};

function contextOf<Transaction>(
  transaction: Transaction,
  cancellation: Cancellation,
): TransactionContext<Transaction> {
  const context = Object.defineProperty({ transaction }, ofAttempt, { value: cancellation });
  return Object.defineProperty(context, "signal", signalProperty) as TransactionContext<Transaction>;
}

/** The handlers that match, in the order of their registration. */
function callsOfRow<Transaction>(
  handlers: Handlers<Transaction>,
  rows: readonly PlannedRow[],
  ignored: string[],
): readonly HandlerCall<Transaction>[] {
  return rows.flatMap(({ claim, staleness }) => {
    const event = readEvent(claim);
    const matching = handlers.matching(event, { channel: claim.channel, ...staleness });
    // What `reconcile` found is for state handlers, which need not exist.
    if (matching.length === 0 && claim.channel === "webhook" && !handlers.includes(event))
      ignored.push(event.event);
    const known = eventContext(claim, event, staleness);
    return matching.map(({ name, handler }) => ({
      name,
      subject: () => `the event ${event.event} ${claim.id}`,
      // A getter must stay one.
      run: (context) => handler(event, Object.assign(context, known)),
    }));
  });
}

function callsOfBatch<Transaction>(
  { name, handler, matches }: BatchRegistration<Transaction>,
  rows: readonly PlannedRow[],
): readonly HandlerCall<Transaction>[] {
  const items = rows.flatMap(({ claim, staleness }) => {
    const event = readEvent(claim);
    if (!matches(event, { channel: claim.channel, ...staleness })) return [];
    return [{ event, ...eventContext(claim, event, staleness) }];
  });
  if (items.length === 0) return [];
  const [first] = items;
  const subject = () =>
    items.length > 1 ? `a batch of ${items.length} events` : `the event ${first?.event.event} ${first?.id}`;
  return [{ name, subject, run: (context) => handler(items, context) }];
}

function eventContext(claim: InboxClaim, event: WebhookEvent, staleness: Staleness): EventContext {
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
    idempotencyKey: idempotencyKey(claim.source, eventIdOf(event) ?? claim.id),
  };
}

/** Events read from the tasks API were written by the receiver itself; a delivery is parsed again. */
function readEvent({ channel, body }: InboxClaim): WebhookEvent {
  if (channel === "reconcile")
    return Object.assign(JSON.parse(new TextDecoder().decode(body)), { additional: {} }) as WebhookEvent;
  // Its time was checked when it was stored; the clock may have been set back since.
  const parsed = parseBody(body);
  if (!parsed.ok) throw new NonRetryableError(`the stored delivery cannot be parsed: ${parsed.reason}`);
  return parsed.event;
}

function eventIdOf(event: WebhookEvent): string | undefined {
  const id = "id" in event ? event.id : event.additional["id"];
  return typeof id === "string" && id !== "" ? id : undefined;
}

async function settleFailures<Transaction>(
  settings: AttemptSettings<Transaction>,
  { rows, cancellation, handler }: Attempt<Transaction>,
  events: AttemptEvents,
  error: unknown,
  fault: InboxFault | undefined,
): Promise<AttemptResult> {
  // What a handler throws after its attempt was cancelled is a consequence, not the cause.
  const cause = cancellation.reason ?? readable(error);
  notifyListener(events.onFailed, cause);
  const isOfAll = fault === "connection" || isReceiverError(cause, "RECEIVER_CLOSING");
  if (rows.length > 1 && !isOfAll && !isReceiverError(cause, "RELEASE_TOO_OLD")) {
    const { source } = rows[0]?.claim ?? {};
    settings.logger.warn({ source, events: rows.length, err: cause }, handledApart);
    return "apart";
  }
  const isCancelled = cancellation.reason !== undefined;
  const settle = ({ claim }: AttemptRow) =>
    settleFailure(settings, claim, {
      events,
      cause,
      fault: isCancelled ? undefined : fault,
      isCancelled,
      handler,
    });
  return Promise.all(rows.map(settle));
}

interface Failure {
  readonly events: AttemptEvents;
  readonly cause: unknown;
  readonly fault: InboxFault | undefined;
  readonly isCancelled: boolean;
  readonly handler: string | undefined;
}

async function settleFailure<Transaction>(
  settings: AttemptSettings<Transaction>,
  claim: InboxClaim,
  { events, cause, fault, isCancelled, handler }: Failure,
): Promise<AttemptOutcome> {
  const { retry, random, logger } = settings;
  const fields = fieldsOf(claim, handler);
  const { source, id, attempts: attempt } = claim;
  if (isReceiverError(cause, "RELEASE_TOO_OLD")) {
    logger.warn({ source, id, err: cause }, notRecorded);
    return "lost";
  }
  const end = (failure: FailedAttempt) => untilRecorded(settings, claim, failure);
  const isLeaseLost = isReceiverError(cause, "LEASE_LOST");
  try {
    if (isReleased(cause) || (isLeaseLost && !isCancelled)) {
      const isHeld = await end({ kind: "release" });
      if (!isHeld) logger.warn({ source, id }, "the lease on an event was lost while it was being handled");
      return isHeld ? "released" : "lost";
    }
    const text = errorText(cause);
    if (fault === "connection") {
      const delayMs = retryDelayMs(retry, 1, random);
      logger.warn({ source, id, delayMs, err: cause }, noConnection);
      const failure = { kind: "retry", delayMs, error: text, counts: false } as const;
      return (await end(failure)) ? "released" : "lost";
    }
    // An event does not die of a failover, and one that ends the server has the longest delay between its attempts.
    const counts = fault !== "lost" || attempt < retry.attemptsMax;
    if (isReceiverError(cause, "NON_RETRYABLE") || (counts && attempt >= retry.attemptsMax)) {
      if (!(await end({ kind: "dead", error: text }))) return "lost";
      events.onDead(fields, cause);
      return "dead";
    }
    const isBrief = isLeaseLost || fault === "conflict";
    const delayMs = retryDelayMs(retry, isBrief ? 1 : attempt, random);
    logger.warn({ ...fields, attempt, delayMs, err: cause }, "a handler failed; the event will be retried");
    const failure = { kind: "retry", delayMs, error: text, counts } as const;
    return (await end(failure)) ? "retried" : "lost";
  } catch (thrown) {
    // The lease ends by itself, which is an attempt.
    logger.warn({ source, id, err: thrown }, notRecorded);
    return "lost";
  }
}

/** Repeated while the inbox fails and the lease lasts: a lease that ends by itself counts as a crash of this process. */
async function untilRecorded<Transaction>(
  { inbox, clock, leaseMs }: AttemptSettings<Transaction>,
  claim: InboxClaim,
  failure: FailedAttempt,
): Promise<boolean> {
  const endsMs = clock.monotonic() + leaseMs;
  for (let pauseMs = 100; ; pauseMs *= 2) {
    try {
      return await inbox.fail(claim, failure);
    } catch (error) {
      if (!isReceiverError(error, "INBOX_UNAVAILABLE") || clock.monotonic() + pauseMs >= endsMs) throw error;
      await new Promise<void>((resolve) => void clock.schedule(pauseMs, resolve, { background: true }));
    }
  }
}

/** Nothing is known against the event itself. */
const isReleased = (cause: unknown) =>
  isReceiverError(cause, "SUPERSEDED") || isReceiverError(cause, "RECEIVER_CLOSING");

const handledApart = "a batch failed, and nothing of it was kept; each of its events is handled alone";
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
  const describe = (each: unknown) => (isError(each) ? `${each.name}: ${each.message}` : String(each));
  // An ORM reports why the inbox rejected a statement as the cause only.
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  const text = isReceiverError(cause) ? `${describe(error)} (${describe(cause)})` : describe(error);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL rejects NUL in text, terminals interpret the others
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, 500);
}
