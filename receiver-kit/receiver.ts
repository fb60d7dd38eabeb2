import { type Clock, systemClock } from "./clock.ts";
import { InboxUnavailableError, type WebhookRejectedError } from "./errors.ts";
import { handleFetch } from "./http/fetch-handler.ts";
import { RejectionLog } from "./http/rejection-log.ts";
import type { RequestLimits } from "./http/request-body.ts";
import type { DeliverySink } from "./http/webhook-handler.ts";
import type { Inbox, InboxStats, KeyOrder, RowReference } from "./inbox/inbox.ts";
import { openOnce } from "./inbox/open-once.ts";
import { consoleLogger, type ReceiverLogger } from "./logger.ts";
import { type Random, systemRandom } from "./random.ts";
import type { Secrets } from "./signature/secret-ring.ts";
import type { VerifiedWebhook } from "./signature/verifier.ts";
import { createVerifier } from "./signature/verifier.ts";
import {
  type EventHandler,
  type EventPattern,
  type EventPatterns,
  Handlers,
  type StatePattern,
  type StatePatterns,
} from "./worker/handlers.ts";
import { Ingest, type IngestCounts } from "./worker/ingest.ts";
import { Maintenance, type RetentionOptions, resolveRetention } from "./worker/maintenance.ts";
import {
  type ReconcileClient,
  type ReconcileOptions,
  type ReconcileReport,
  reconcileTasks,
} from "./worker/reconcile.ts";
import { replayRow } from "./worker/replay.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./worker/retry-policy.ts";
import { Worker, type WorkerCounts } from "./worker/worker.ts";

export type ReceiverOptions<Transaction> = {
  /** The endpoint's signing secrets, `whsec_…`; several while one is rotated, or a function that answers them. */
  readonly secrets: Secrets;
  /** Where deliveries are kept: `sqliteInbox(…)`, `postgresInbox(…)`, or `memoryInbox()` in tests. */
  readonly inbox: Inbox<Transaction>;
  /** Names the endpoint when several share one inbox: ids and order are kept per source. Default `default`. */
  readonly source?: string;
  /** How far the signing time may lie in the past or the future. Default 300. */
  readonly toleranceSeconds?: number;
  /** Limits of one request. */
  readonly limits?: Partial<RequestLimits>;
  /** How long storing one delivery may take before it is answered 503. Default 10,000. */
  readonly acceptTimeoutMs?: number;
  /** Deliveries waiting to be handled beyond which new ones are answered 429. Default 100,000. */
  readonly backlogMax?: number;
  /** Events handled at the same time. Default 8. */
  readonly concurrency?: number;
  /** How long the handlers of one event may take. Default 60,000. */
  readonly handlerTimeoutMs?: number;
  /** How long a claimed event stays with a process that stopped; renewed at a third of it. Default 30,000. */
  readonly leaseMs?: number;
  /** How often to look for due events that nothing announced. Default 1,000. */
  readonly pollMs?: number;
  readonly retry?: Partial<RetryPolicy>;
  /**
   * What a failed event means to later ones of its task or stage. `latest`, the default: they go on, and it is stale
   * when its turn comes again. `strict`: they wait until it is done or dead.
   */
  readonly keyOrder?: KeyOrder;
  readonly retention?: RetentionOptions;
  /** Default: warnings and errors on stderr; `silentLogger` for none. A pino logger fits. */
  readonly logger?: ReceiverLogger;
  /** Told of every refused request; the log tells the first of each code. */
  readonly onRejected?: (rejection: WebhookRejectedError) => void;
  /** Told of every event that was given up. */
  readonly onDead?: (row: RowReference, error: unknown) => void;
  readonly clock?: Clock;
  readonly random?: Random;
};

export type ReceiverStats = {
  /** Since this receiver was created. */
  readonly ingest: Readonly<IngestCounts>;
  /** Attempts of this receiver's worker, by how they ended. */
  readonly attempts: Readonly<WorkerCounts>;
  /** Events being handled by this receiver right now. */
  readonly running: number;
  readonly inbox: InboxStats;
};

export interface Receiver<Transaction> extends DeliverySink, AsyncDisposable {
  /**
   * Runs `handler` for every delivered event that the pattern names, older ones too: `context.stale` tells.
   *
   * Once per event if all its handlers succeed; after a failure or a crash all of them run again, and only what they
   * wrote through `context.transaction` is not repeated.
   */
  on<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: EventHandler<EventPatterns[Pattern], Transaction>,
  ): this;
  /**
   * Runs `handler` for an event only if nothing newer of its task or stage was applied before, so that state never
   * goes back. Also sees what `reconcile` found.
   *
   * @see interface §6, "Events may be delayed or out of order"
   */
  onState<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: EventHandler<StatePatterns[Pattern], Transaction>,
  ): this;
  /** Opens the inbox and starts handling events. A receiver that is not started only stores them. */
  start(): Promise<void>;
  /** Answers a fetch `Request`; for frameworks other than Express. */
  fetch(request: Request): Promise<Response>;
  /**
   * Reads tasks that may have moved on unheard of from the tasks API, and puts what is newer before the state
   * handlers: tasks `RUNNING` for too long, those with dead or quarantined events, and after a downtime all since.
   *
   * Safe to repeat and to run in several processes. Lies on the tasks API, whose shape is beyond the interface.
   */
  reconcile(client: ReconcileClient, options?: ReconcileOptions): Promise<ReconcileReport>;
  /** Has a settled, dead or quarantined event handled again; its attempts are counted anew. */
  replay(id: string): Promise<"replayed" | "not-found" | "not-replayable">;
  stats(): Promise<ReceiverStats>;
  /**
   * Stops claiming, waits up to `graceMs` (default 10,000) for running handlers, gives unfinished events back and
   * closes the inbox. Deliveries that come later are answered 503. Close the HTTP server first.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * A webhook receiver: verified deliveries become durable rows before they are acknowledged, and handlers run from there,
 * in the order of each task, with retries and dead letters.
 *
 * @throws {WebhookSecretError} at once when a secret cannot be right
 * @throws {RangeError} at once when an option is out of range
 * @throws {TypeError} at once without an inbox
 * @see interface §6
 */
export function createReceiver<Transaction>(options: ReceiverOptions<Transaction>): Receiver<Transaction> {
  const settings = resolveOptions(options);
  const { inbox, source, clock, logger } = settings;
  const verifier = createVerifier({
    secrets: options.secrets,
    toleranceSeconds: options.toleranceSeconds,
    clock,
  });
  const handlers = new Handlers<Transaction>();
  const open = openOnce(inbox);
  const ingest = new Ingest({ ...settings, open });
  const worker = new Worker<Transaction>({ ...settings, handlers });
  const maintenance = new Maintenance(settings);
  const rejections = new RejectionLog(logger);
  let closing: Promise<void> | undefined;

  const close = async (graceMs: number) => {
    await worker.stop(graceMs);
    await maintenance.stop();
    await ingest.drain();
    await inbox.close();
  };

  const receiver: Receiver<Transaction> = {
    verifier,
    limits: settings.limits,
    clock,
    onRejected(rejection) {
      rejections.rejected(rejection);
      options.onRejected?.(rejection);
    },
    onError: (error, webhook) => rejections.failed(error, webhook),
    async accept(webhook: VerifiedWebhook) {
      if (closing) throw new InboxUnavailableError("the receiver is closing");
      return ingest.accept(webhook);
    },
    on(pattern, handler) {
      handlers.on(pattern, handler);
      return receiver;
    },
    onState(pattern, handler) {
      handlers.onState(pattern, handler);
      return receiver;
    },
    async start() {
      if (!inbox.durable) {
        logger.warn(
          { source },
          "the inbox is in memory: acknowledged deliveries are lost when the process ends",
        );
      }
      await open();
      await maintenance.start();
      await worker.start();
    },
    fetch: (request) => handleFetch(receiver, request),
    async reconcile(client, reconcileOptions = {}) {
      await open();
      const sinceMs = reconcileOptions.sinceMs ?? maintenance.downMs;
      const report = await reconcileTasks({ inbox, source, clock }, client, { ...reconcileOptions, sinceMs });
      maintenance.caughtUp();
      logger.info({ source, ...report }, "reconciled with the tasks API");
      return report;
    },
    async replay(id) {
      await open();
      return replayRow(inbox, { source, id }, clock.now());
    },
    async stats() {
      await open();
      return {
        ingest: { ...ingest.counts },
        attempts: { ...worker.counts },
        running: worker.running,
        inbox: await inbox.stats(),
      };
    },
    close({ graceMs = 10_000 } = {}) {
      closing ??= close(graceMs);
      return closing;
    },
    [Symbol.asyncDispose]: () => receiver.close(),
  };
  return receiver;
}

function resolveOptions<Transaction>(options: ReceiverOptions<Transaction>) {
  if (typeof options?.inbox?.insert !== "function") {
    throw new TypeError(
      "inbox: expected an inbox such as sqliteInbox(path), postgresInbox(pool) or memoryInbox(), " +
        `got ${describeKind(options?.inbox)}`,
    );
  }
  const source = options.source ?? "default";
  if (!/^[A-Za-z0-9._:-]{1,64}$/.test(source)) {
    throw new RangeError(`source: expected 1 to 64 of A-Z a-z 0-9 . _ : -, got ${JSON.stringify(source)}`);
  }
  return {
    inbox: options.inbox,
    source,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    logger: options.logger ?? consoleLogger,
    onDead: options.onDead,
    keyOrder: options.keyOrder ?? "latest",
    retention: resolveRetention(options.retention ?? {}),
    limits: {
      bodyBytesMax: positive("limits.bodyBytesMax", options.limits?.bodyBytesMax, 1_048_576),
      bodyTimeoutMs: positive("limits.bodyTimeoutMs", options.limits?.bodyTimeoutMs, 10_000),
    },
    acceptTimeoutMs: positive("acceptTimeoutMs", options.acceptTimeoutMs, 10_000),
    backlogMax: positive("backlogMax", options.backlogMax, 100_000),
    concurrency: positive("concurrency", options.concurrency, 8),
    handlerTimeoutMs: positive("handlerTimeoutMs", options.handlerTimeoutMs, 60_000),
    leaseMs: positive("leaseMs", options.leaseMs, 30_000),
    pollMs: positive("pollMs", options.pollMs, 1_000),
    retry: {
      firstDelayMs: positive(
        "retry.firstDelayMs",
        options.retry?.firstDelayMs,
        defaultRetryPolicy.firstDelayMs,
      ),
      delayMsMax: positive("retry.delayMsMax", options.retry?.delayMsMax, defaultRetryPolicy.delayMsMax),
      attemptsMax: positive("retry.attemptsMax", options.retry?.attemptsMax, defaultRetryPolicy.attemptsMax),
    },
  } as const;
}

function positive(name: string, given: number | undefined, fallback: number): number {
  const value = given ?? fallback;
  if (Number.isInteger(value) && value > 0) return value;
  throw new RangeError(`${name}: expected a positive whole number, got ${String(value)}`);
}

function describeKind(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}
