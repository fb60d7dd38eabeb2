import type { Random } from "../sdk/kernel/random.ts";
import type { WebhookRejectedError } from "./errors.ts";
import {
  type Inbox,
  type InboxKeyOrder,
  type InboxRetention,
  type InboxRowReference,
  storeOf,
} from "./inbox/inbox.ts";
import { inboxOption } from "./inbox/inbox-option.ts";
import { limitInbox } from "./inbox/limited-inbox.ts";
import { consoleLogger, guardLogger, type ReceiverLogger } from "./logger.ts";
import {
  defaults,
  option,
  parseOptions,
  type RequestLimitOptions,
  sharedOptions,
  strictOptions,
} from "./options.ts";
import type { VerifierOptions } from "./signature/verifier.ts";
import type { ReceiverTelemetry } from "./stats/receiver-telemetry.ts";

export interface RetentionOptions {
  /** Days that bodies of settled events are kept. Default 7. */
  readonly bodiesDays?: number | undefined;
  /** Days that bodies of dead and quarantined events are kept; without them the events cannot be replayed. Default 30. */
  readonly unhandledBodiesDays?: number | undefined;
  /** Days that ids of settled events are kept, so that a late duplicate is recognised. Default 14, which is the minimum. */
  readonly idsDays?: number | undefined;
  /** Days that unchanged ordering heads are kept. Default 365, at least `idsDays`. */
  readonly headsDays?: number | undefined;
}

export interface RetryPolicy {
  /** Delay after the first failed attempt; doubles with each further one. Default 1,000. */
  readonly firstDelayMs?: number | undefined;
  /** Longest delay. Default 3,600,000. */
  readonly delayMsMax?: number | undefined;
  /** Attempts after which an event is dead. Default 15, which take about three hours. */
  readonly attemptsMax?: number | undefined;
}

export interface ReceiverOptions<Transaction> extends VerifierOptions {
  /** Where deliveries are stored: `sqliteInbox(…)`, `postgresInbox(…)`, or `memoryInbox()` in tests. */
  readonly inbox: Inbox<Transaction>;
  /** Names the endpoint when several share one inbox: ids and order are kept per source. Default `default`. */
  readonly source?: string | undefined;
  /** Limits of one request. */
  readonly limits?: RequestLimitOptions | undefined;
  /** How long storing one delivery may take before the response is 503. Default 10,000. */
  readonly acceptTimeoutMs?: number | undefined;
  /** Bytes of deliveries that wait for the inbox to store them, beyond which the response is 503. Default 67,108,864. */
  readonly storingBytesMax?: number | undefined;
  /** Deliveries waiting to be handled, beyond which the response is 429. Default 100,000. */
  readonly backlogMax?: number | undefined;
  /** Events handled at the same time. Default 8. */
  readonly concurrency?: number | undefined;
  /** Events of one tenant handled at the same time, where `secrets` finds the tenant. Default: half of `concurrency`. */
  readonly tenantConcurrency?: number | undefined;
  /** How long the handlers of one event may take. Default 60,000. */
  readonly handlerTimeoutMs?: number | undefined;
  /** How long a claimed event stays with a process that stopped; renewed at a third of it. Default 30,000. */
  readonly leaseMs?: number | undefined;
  /** How often to look for due events when no notification arrives. Default 1,000. */
  readonly pollMs?: number | undefined;
  readonly retry?: RetryPolicy | undefined;
  /**
   * What a failed event means to later ones of its task or stage. `latest`, the default: they are handled, and the
   * failed one is stale at its retry. `strict`: they wait until it is done or dead.
   */
  readonly keyOrder?: InboxKeyOrder | undefined;
  readonly retention?: RetentionOptions | undefined;
  /** Default: warnings and errors on stderr; `silentLogger` for none. A pino logger fits. */
  readonly logger?: ReceiverLogger | undefined;
  /** Called for every rejected request. The log shows only the first per code. */
  readonly onRejected?: ((rejection: WebhookRejectedError) => void) | undefined;
  /** Called for every event that became dead. */
  readonly onDead?: ((row: InboxRowReference, error: unknown) => void) | undefined;
  /** Called for every delivery that was quarantined: it is genuine and cannot be parsed as an event. */
  readonly onQuarantined?: ((row: InboxRowReference, reason: string) => void) | undefined;
  readonly random?: Random | undefined;
  /** Traces and metrics: `openTelemetry(api)` of `workspace-tasks/receiver-kit/telemetry`. */
  readonly telemetry?: ReceiverTelemetry | undefined;
}

/** Senders retry for days, and operators send deliveries again later still; an id forgotten earlier would run twice. */
const idsDaysMin = 14;
const dayMs = 86_400_000;

export const retentionOption = strictOptions<RetentionOptions>()({
  bodiesDays: option.numberFrom(0).default(defaults.retention.bodiesDays),
  unhandledBodiesDays: option.numberFrom(0).default(defaults.retention.unhandledBodiesDays),
  idsDays: option.numberFrom(idsDaysMin).default(defaults.retention.idsDays),
  headsDays: option.numberFrom(idsDaysMin).default(defaults.retention.headsDays),
})
  .refine(({ headsDays, idsDays }) => headsDays >= idsDays, {
    path: ["headsDays"],
    message: "at least idsDays",
  })
  .transform(
    ({ bodiesDays, unhandledBodiesDays, idsDays, headsDays }): InboxRetention => ({
      bodiesMs: bodiesDays * dayMs,
      unhandledBodiesMs: unhandledBodiesDays * dayMs,
      rowsMs: idsDays * dayMs,
      headsMs: headsDays * dayMs,
    }),
  )
  .prefault({});

const retry = strictOptions<RetryPolicy>()({
  firstDelayMs: option.durationMs.default(defaults.retry.firstDelayMs),
  delayMsMax: option.durationMs.default(defaults.retry.delayMsMax),
  attemptsMax: option.positiveInteger.default(defaults.retry.attemptsMax),
});

const receiverOptions = strictOptions<ReceiverOptions<unknown>>()({
  ...sharedOptions,
  inbox: inboxOption,
  acceptTimeoutMs: option.durationMs.default(defaults.ingest.acceptTimeoutMs),
  storingBytesMax: option.positiveInteger.default(defaults.ingest.storingBytesMax),
  backlogMax: option.positiveInteger.default(defaults.ingest.backlogMax),
  concurrency: option.positiveInteger.default(defaults.worker.concurrency),
  tenantConcurrency: option.positiveInteger.optional(),
  handlerTimeoutMs: option.durationMs.default(defaults.worker.handlerTimeoutMs),
  leaseMs: option.durationMs.default(defaults.worker.leaseMs),
  pollMs: option.durationMs.default(defaults.worker.pollMs),
  retry: retry.prefault({}),
  keyOrder: option.oneOf<InboxKeyOrder>("latest", "strict").default(defaults.worker.keyOrder),
  retention: retentionOption,
  logger: option
    .objectWith<ReceiverLogger>("a logger with info, warn and error", "info", "warn", "error")
    .default(consoleLogger),
  onDead: option.functionOf<(row: InboxRowReference, error: unknown) => void>().optional(),
  onQuarantined: option.functionOf<(row: InboxRowReference, reason: string) => void>().optional(),
  random: option.random,
  telemetry: option
    .objectWith<ReceiverTelemetry>("openTelemetry(api)", "accept", "handle", "observe")
    .optional(),
});

export const closeSchema = strictOptions<{ graceMs: number }>()({
  graceMs: option.numberFrom(0).default(defaults.closeGraceMs),
});

export const replaySchema = strictOptions<{ id: string; tenant: string }>()({
  id: option.text,
  tenant: option.name.optional(),
});

/** The options with their defaults. */
export type ReceiverSettings<Transaction = unknown> = ReturnType<typeof resolveReceiverOptions<Transaction>>;

/** @throws {ReceiverError} `CONFIGURATION_INVALID` */
export function resolveReceiverOptions<Transaction>(options: ReceiverOptions<Transaction>) {
  const settings = parseOptions("createReceiver", receiverOptions, options);
  const { tenantConcurrency = Math.ceil(settings.concurrency / 2) } = settings;
  const { secrets } = options;
  const inbox = limitInbox(storeOf(options.inbox), settings);
  const logger = guardLogger(settings.logger);
  return { ...settings, inbox, logger, secrets, tenantConcurrency };
}
