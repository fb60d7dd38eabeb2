/// <reference lib="esnext.disposable" preserve="true" />

import { asyncDispose } from "@workspace-tasks/kernel/realm.ts";
import { nodeProblem } from "@workspace-tasks/kernel/version.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import {
  type BatchHandler,
  type BatchOptions,
  type EventHandler,
  type EventOf,
  type EventPattern,
  Handlers,
  misspeltPattern,
  type StatePattern,
  type StatePatterns,
} from "./attempt/handlers.ts";
import { storeGraceMs } from "./attempt/running-attempts.ts";
import { inBackground } from "./background.ts";
import { ReceiverError } from "./errors.ts";
import type { ReconcileClient } from "./event/reconcile-client.ts";
import { handleFetch } from "./http/fetch-handler.ts";
import { createRejectionLog } from "./http/rejection-log.ts";
import type { DeliverySink } from "./http/webhook-handler.ts";
import { type InboxStore, openOnce } from "./inbox/inbox.ts";
import { keepShard, type ShardPlace } from "./maintenance/keep-shard.ts";
import { Maintenance, openWithRetentionTime } from "./maintenance/maintenance.ts";
import { type ReplayOutcome, replayReadable, replayRow } from "./maintenance/replay.ts";
import { parseOptions, requireEventsVersion } from "./options.ts";
import {
  closeSchema,
  type ReceiverOptions,
  type ReceiverSettings,
  replaySchema,
  resolveReceiverOptions,
} from "./receiver-options.ts";
import { type ReconcileOptions, type ReconcileReport, reconcileTasks } from "./reconcile/reconcile.ts";
import { ReconcileSchedule } from "./reconcile/reconcile-schedule.ts";
import { isTenantSecrets } from "./signature/key-source.ts";
import { tenantSource } from "./signature/tenant.ts";
import { createVerifier } from "./signature/verifier.ts";
import type { ReceiverStats } from "./stats/receiver-stats.ts";
import { observe } from "./stats/receiver-telemetry.ts";
import { sharedRead } from "./stats/shared-read.ts";
import { Ingest } from "./worker/ingest.ts";
import { Worker } from "./worker/worker.ts";

export interface Receiver<Transaction> extends DeliverySink, AsyncDisposable {
  /**
   * Runs `handler` for every delivered event that matches the pattern, older ones too: see `context.stale`. The pattern is
   * the name of an event, of the catalog or one that it may add, a prefix such as `task.*`, or `*`.
   *
   * Once per event if all its handlers succeed; after a failure or a crash all of them run again, and only what they
   * wrote through `context.transaction` is not repeated.
   */
  on<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: EventHandler<EventOf<Pattern>, Transaction>,
  ): this;
  /**
   * Runs `handler` for an event only if nothing newer of its task or stage was applied before, so that state never
   * goes back. Also receives what `reconcile` found.
   *
   * @see interface §6, "Events may be delayed or out of order"
   */
  onState<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: EventHandler<StatePatterns[Pattern], Transaction>,
  ): this;
  /**
   * Runs `handler` for up to `eventsMax` delivered events at once, in one transaction that all of them end with; which ones is
   * what is due, it never waits for more. An event may appear twice, in other deliveries: see `item.alreadyApplied`.
   *
   * When it fails, nothing is kept, and it runs again at once for each event alone, as the same attempt: only the events that
   * fail alone have a failed attempt.
   *
   * @example examples/receiver-kit.test.ts#event-batch
   * ```ts
   * const receiver = createReceiver({ secrets: [signingSecret], inbox: sqliteInbox(file) });
   * receiver.onBatch("task.*", async (items, { transaction }) => {
   *   const rows = items.map(({ event }) => [event.taskId, event.event]);
   *   const insert = "INSERT INTO history SELECT value ->> 0, value ->> 1 FROM json_each(?)";
   *   await transaction.query(insert, [JSON.stringify(rows)]);
   * });
   * ```
   *
   * @throws {ReceiverError} `ARGUMENT_INVALID`; `start`, or a registration after it, throws `CONFIGURATION_INVALID` where another
   * handler matches the same events
   */
  onBatch<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: BatchHandler<EventOf<Pattern>, Transaction>,
    options?: BatchOptions,
  ): this;
  /**
   * As `onBatch`, for state: at most one event of a task or stage, the newest; older ones of the batch are stale.
   *
   * @example examples/receiver-kit.test.ts#state-batch
   * ```ts
   * const receiver = createReceiver({ secrets: [signingSecret], inbox: postgresInbox(pool) });
   * receiver.onStateBatch("task", async (items, { transaction }) => {
   *   await transaction.query(
   *     `INSERT INTO task_states SELECT * FROM unnest($1::text[], $2::text[])
   *      ON CONFLICT (task_id) DO UPDATE SET status = excluded.status`,
   *     [items.map(({ event }) => event.taskId), items.map(({ event }) => event.status)],
   *   );
   * });
   * ```
   *
   * @throws {ReceiverError} as `onBatch`
   */
  onStateBatch<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: BatchHandler<StatePatterns[Pattern], Transaction>,
    options?: BatchOptions,
  ): this;
  /**
   * Opens the inbox and starts handling events. A receiver that is not started only stores them. The process then lives until
   * `close`, whatever else it does.
   *
   * @throws {ReceiverError} `CONFIGURATION_INVALID` where an event of a batch matches another handler, too
   */
  start(): Promise<void>;
  /** Responds to a fetch `Request`; for frameworks other than Express. */
  fetch(request: Request): Promise<Response>;
  /**
   * Fetches tasks whose events may have been missed and runs the state handlers for what differs: tasks `RUNNING` for
   * too long, those with dead or quarantined events, and those started since deliveries may have been missed. The option
   * `reconcile` does it regularly; this is for tests and tools.
   *
   * Safe to repeat and to run in several processes. Uses the tasks API, whose fields are not part of the interface.
   */
  reconcile(client: ReconcileClient, options?: ReconcileOptions): Promise<ReconcileReport>;
  /**
   * Makes a settled, dead or quarantined event pending again; its attempts are counted from 1. `tenant` is required where
   * `secrets` finds the tenant.
   */
  replay(id: string, options?: { readonly tenant?: string | undefined }): Promise<ReplayOutcome>;
  /**
   * Remembers in the inbox that it holds this of so many shards: a consumer of a message broker calls it. Safe to repeat.
   *
   * @throws {ReceiverError} `CONFIGURATION_INVALID` when the inbox is that of another shard
   */
  keepShard(place: ShardPlace): Promise<void>;
  /**
   * The numbers of this receiver, and of its inbox. Those of the inbox are read for all callers at once, and at most a twentieth
   * of the time: after a read of 100 ms they stay as they are for 2 s.
   */
  stats(): Promise<ReceiverStats>;
  /**
   * Stops claiming, waits up to `graceMs` (default 10,000) for running handlers, releases unfinished events and closes
   * the inbox. The response to later deliveries is 503. Close the HTTP server first.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/**
 * A webhook receiver: verified deliveries become durable rows before they are acknowledged, and handlers run from there,
 * in the order of each task, with retries and dead letters. Guide: `docs/webhooks.md` in the package.
 *
 * @example examples/receiver-kit.test.ts#receiver
 * ```ts
 * const receiver = createReceiver({ secrets: [signingSecret], inbox: sqliteInbox(file) });
 * receiver.onState("task", async ({ taskId, status }, { transaction }) => {
 *   // Committed together with the event, or not at all.
 *   await transaction.query("INSERT OR REPLACE INTO task_states VALUES (?, ?)", [taskId, status]);
 * });
 * await receiver.start();
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` or `SECRET_INVALID` for options that can never work, `VERSION_MISMATCH`
 * @see interface §6
 */
export function createReceiver<Transaction>(options: ReceiverOptions<Transaction>): Receiver<Transaction> {
  const problem = nodeProblem();
  if (problem) throw new ReceiverError("CONFIGURATION_INVALID", `createReceiver: ${problem}`);
  requireEventsVersion();
  const settings = resolveReceiverOptions(options);
  const { inbox, source, secrets, toleranceSeconds, limits, clock, logger, telemetry } = settings;
  const verifier = createVerifier({ secrets, toleranceSeconds, clock });
  const handlers = new Handlers<Transaction>();
  // Writes nothing that the inbox does not need itself, so that it also works where nothing can be written.
  let hasOpened = false;
  let isOver = false;
  const openToRead = openOnce({
    async open() {
      await inbox.open();
      hasOpened = !isOver;
      if (hasOpened) return;
      await inbox.close();
      throw new ReceiverError("RECEIVER_CLOSING", "the receiver was closed before its inbox was open");
    },
  });
  const open = openWithRetentionTime(inbox, openToRead);
  const ingest = new Ingest({ ...settings, open });
  const worker = new Worker<Transaction>({ ...settings, handlers });
  const maintenance = new Maintenance({
    ...settings,
    replayReadable: (page) => replayReadable(settings, page),
    received: () => {
      const { accepted, duplicates, quarantined } = ingest.counts;
      return accepted + duplicates + quarantined;
    },
  });
  const { counts: rejections, onRejected, onError } = createRejectionLog(settings);
  let closing: Promise<void> | undefined;
  let started = false;
  let warned = false;

  const warnOnceIfNotStarted = () => {
    // Without handlers it stores for another process, as a function behind a gateway does.
    if (started || warned || handlers.isEmpty) return;
    warned = true;
    const message = "an event was stored, but start() was not called: this process handles no events";
    logger.warn({ source }, message);
  };

  const warnIfMisspelt = (pattern: string) => {
    const meant = misspeltPattern(pattern);
    const message = "a handler is registered for an event that is not in the catalog";
    if (meant) logger.warn({ source, pattern, meant }, message);
  };

  const readInboxStats = sharedRead(() => inbox.stats(), clock);
  const reconciled = { examined: 0, enqueued: 0, corrected: 0 };
  const reconcile = async (client: ReconcileClient, reconcileOptions: ReconcileOptions = {}) => {
    const tenant = sourceOf("reconcile", settings, reconcileOptions.tenant?.id);
    await open();
    const place = { inbox, source: tenant, receiverSource: source, clock };
    const report = await reconcileTasks(place, client, reconcileOptions);
    for (const name of ["examined", "enqueued", "corrected"] as const) reconciled[name] += report[name];
    logger.info({ source: tenant, ...report }, "reconciled with the tasks API");
    return report;
  };
  const schedule = new ReconcileSchedule({ ...settings, open, run: reconcile });

  // Timers of polls, leases and retries do not keep a process alive: a store that does not respond has none.
  let letEnd = () => {};
  const keepAlive = () => {
    letEnd = clock.schedule(keepAliveMs, keepAlive);
  };

  let stopObserving = () => {};

  const close = async (graceMs: number) => {
    stopObserving();
    ingest.stopProbing();
    const background = [maintenance.stop(), schedule.stop(), ingest.drain()];
    const stored = settledWithin(Promise.all(background), storeGraceMs, clock);
    try {
      await worker.stop(graceMs);
      await stored;
      isOver = true;
      // Once per `open`: other receivers may share the inbox.
      if (hasOpened) await inbox.close();
    } finally {
      letEnd();
    }
  };

  const receiver: Receiver<Transaction> = {
    verifier,
    limits,
    clock,
    source,
    telemetry,
    onRejected,
    onError,
    isClosing: () => closing !== undefined,
    async accept(webhook, context) {
      if (closing) throw new ReceiverError("INBOX_UNAVAILABLE", "the receiver is closing");
      const result = await ingest.accept(webhook, context);
      warnOnceIfNotStarted();
      return result;
    },
    on(pattern, handler) {
      handlers.on(pattern, handler);
      warnIfMisspelt(pattern);
      return receiver;
    },
    onBatch(pattern, handler, batchOptions) {
      handlers.onBatch(pattern, handler, batchOptions);
      warnIfMisspelt(pattern);
      return receiver;
    },
    onState(pattern, handler) {
      handlers.onState(pattern, handler);
      return receiver;
    },
    onStateBatch(pattern, handler, batchOptions) {
      handlers.onStateBatch(pattern, handler, batchOptions);
      return receiver;
    },
    async start() {
      if (closing) {
        const message = "start() was called after close(): create another receiver";
        throw new ReceiverError("RECEIVER_CLOSING", message);
      }
      handlers.requireOneOfBatches();
      started = true;
      if (!inbox.durable) {
        logger.warn(
          { source },
          "the inbox is in memory: acknowledged deliveries are lost when the process ends",
        );
      }
      if (handlers.isEmpty) {
        logger.warn(
          { source },
          "start() was called without handlers: events are marked done without effect; " +
            "call on or onState before start(), or do not call start() in a process that only stores",
        );
      }
      try {
        await open();
        if (closing) return;
        await inBackground(async () => {
          await maintenance.start();
          await worker.start();
        });
      } catch (error) {
        // What it needs may have been closed meanwhile.
        if (!closing) throw error;
      }
      if (closing) return;
      schedule.start();
      letEnd();
      keepAlive();
      stopObserving();
      stopObserving = observe(telemetry, () => receiver.stats());
    },
    fetch: (request) => handleFetch(receiver, request),
    reconcile,
    async replay(id, replayOptions = {}) {
      const { tenant } = parseOptions("replay", replaySchema, { ...replayOptions, id }, "ARGUMENT_INVALID");
      const row = { source: sourceOf("replay", settings, tenant), id };
      await open();
      return replayRow(inbox, row, clock.now());
    },
    async keepShard(place) {
      await open();
      await keepShard(inbox, source, place);
    },
    async stats() {
      await openToRead();
      const { counts: attempts, running, lateQueries, claimer } = worker;
      return {
        source,
        running,
        lateQueries,
        ingest: { ...ingest.counts },
        rejections: { ...rejections },
        attempts: { ...attempts },
        ignored: Object.fromEntries(worker.ignored),
        reconcile: { ...reconciled, failed: schedule.failed, succeededAgoMs: schedule.succeededAgoMs },
        outage: {
          storingForMs: ingest.outage.failingForMs,
          claimingForMs: claimer.outage.failingForMs,
        },
        inbox: await readInboxStats(),
      };
    },
    async close(closeOptions = {}) {
      const { graceMs } = parseOptions("close", closeSchema, closeOptions, "ARGUMENT_INVALID");
      closing ??= close(graceMs);
      return closing;
    },
    [asyncDispose]: () => receiver.close(),
  };
  const parts: ReceiverParts = { inbox, source, clock, logger, open: openToRead };
  return Object.defineProperty(receiver, partsSymbol, { value: parts });
}

/** What the page of an inbox needs of a receiver. */
export interface ReceiverParts extends Pick<ReceiverSettings, "source" | "clock" | "logger"> {
  readonly inbox: InboxStore;
  readonly open: () => Promise<void>;
}

/** Another copy of this package finds it, too. */
const partsSymbol = Symbol.for("workspace-tasks.receiver-parts");

/** `undefined` for what is no receiver. */
export const partsOf = (receiver: object): ReceiverParts | undefined =>
  (receiver as { readonly [partsSymbol]?: ReceiverParts })?.[partsSymbol];

/** A day: it only has to be there. */
const keepAliveMs = 86_400_000;

/** @throws {ReceiverError} `ARGUMENT_INVALID` for a tenant where `secrets` finds none, and for none where it does */
function sourceOf(
  method: string,
  { source, secrets }: Pick<ReceiverSettings, "source" | "secrets">,
  tenant: string | undefined,
): string {
  if (isTenantSecrets(secrets) === (tenant !== undefined)) return tenantSource(source, tenant);
  const expected = isTenantSecrets(secrets) ? "the id of a tenant" : "no tenant, because secrets finds none";
  throw new ReceiverError(
    "ARGUMENT_INVALID",
    `${method}: tenant: expected ${expected}, got ${JSON.stringify(tenant)}`,
  );
}
