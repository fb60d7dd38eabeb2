import type { Random } from "@workspace-tasks/kernel/random.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError, type WebhookRejectedError } from "./errors.ts";
import { isReconcileClient, type ReconcileClient } from "./event/reconcile-client.ts";
import {
  type Inbox,
  type InboxKeyOrder,
  type InboxRetention,
  type InboxRowReference,
  inboxOption,
  storeOf,
} from "./inbox/inbox.ts";
import { guardLogger, loggerOption, type ReceiverLogger } from "./logger.ts";
import {
  defaults,
  nameOption,
  parseOptions,
  type RequestLimitOptions,
  randomOption,
  sharedOptions,
  textOption,
} from "./options.ts";
import { isTenantSecrets, type TenantIdentity } from "./signature/key-source.ts";
import type { VerifierOptions } from "./signature/verifier.ts";
import type { ReceiverTelemetry } from "./stats/receiver-telemetry.ts";

export interface RetentionOptions {
  /** Days that bodies of settled events are kept. Default 7. */
  readonly bodiesDays?: number | undefined;
  /** Days that bodies of dead and quarantined events are kept; without them the events cannot be replayed. Default 30. */
  readonly unhandledBodiesDays?: number | undefined;
  /** Days that ids of settled events are kept, so that a late duplicate is recognised. Default 14, which is the minimum. */
  readonly idsDays?: number | undefined;
  /**
   * Days that unchanged ordering heads are kept: as long as an older event of their keys may be delivered or replayed. Default 35, at
   * least `idsDays`.
   */
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

/** A tenant, and who reads its tasks: a client of its workspace. */
export interface TenantClient {
  readonly tenant: TenantIdentity;
  readonly client: ReconcileClient;
}

/** Reconciles by itself, from `start` to `close`, in one process of an inbox at a time; what fails is logged and counted. */
export interface ReconcileScheduleOptions {
  /** Reads the tasks. Where `secrets` finds the tenant: a function, called in each round, that returns the client of every tenant. */
  readonly client: ReconcileClient | (() => Iterable<TenantClient> | PromiseLike<Iterable<TenantClient>>);
  /** From the start of one round to the next; also how long a task is `RUNNING` before it is fetched. Default 300,000, at least 1,000. */
  readonly everyMs?: number | undefined;
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
  /** Reconciles with the tasks API, at the start and then regularly. Default: never. */
  readonly reconcile?: ReconcileScheduleOptions | undefined;
  /** Default: warnings and errors on stderr; `silentLogger` for none. A pino logger fits. */
  readonly logger?: ReceiverLogger | undefined;
  /** Called for every rejected request. The log has a line per code and ten minutes. */
  readonly onRejected?: ((rejection: WebhookRejectedError) => void) | undefined;
  /** Called for every event that became dead. */
  readonly onDead?: ((row: InboxRowReference, error: unknown) => void) | undefined;
  /** Called for every delivery that was quarantined: it is genuine and cannot be parsed as an event. */
  readonly onQuarantined?: ((row: InboxRowReference, reason: string) => void) | undefined;
  readonly random?: Random | undefined;
  /** Traces and metrics: `openTelemetry(api)` of `@workspace-tasks/receiver-kit/telemetry`. */
  readonly telemetry?: ReceiverTelemetry | undefined;
}

/** Senders retry for days, and operators send deliveries again later still; an id forgotten earlier would run twice. */
const idsDaysMin = 14;
const dayMs = 86_400_000;

const retentionDays = s.strictOptions<RetentionOptions>()({
  bodiesDays: s.withDefault(s.numberFrom(0), defaults.retention.bodiesDays),
  unhandledBodiesDays: s.withDefault(s.numberFrom(0), defaults.retention.unhandledBodiesDays),
  idsDays: s.withDefault(s.numberFrom(idsDaysMin), defaults.retention.idsDays),
  headsDays: s.withDefault(s.numberFrom(idsDaysMin), defaults.retention.headsDays),
});

export const retentionOption: s.Schema<InboxRetention> = (given = {}, path) => {
  const { bodiesDays, unhandledBodiesDays, idsDays, headsDays } = retentionDays(given, path);
  if (headsDays < idsDays) {
    throw new s.ValidationError(
      `${path}.headsDays`,
      `expected at least idsDays (${idsDays}), got ${headsDays}`,
    );
  }
  return {
    bodiesMs: bodiesDays * dayMs,
    unhandledBodiesMs: unhandledBodiesDays * dayMs,
    rowsMs: idsDays * dayMs,
    headsMs: headsDays * dayMs,
  };
};

const retry = s.strictOptions<RetryPolicy>()({
  firstDelayMs: s.withDefault(s.durationMs, defaults.retry.firstDelayMs),
  delayMsMax: s.withDefault(s.durationMs, defaults.retry.delayMsMax),
  attemptsMax: s.withDefault(s.positiveInteger, defaults.retry.attemptsMax),
});

const reconcileSchedule = s.strictOptions<ReconcileScheduleOptions>()({
  client: s.refine<ReconcileScheduleOptions["client"]>(
    "a client with tasks.list, such as createClient(…), or a function that returns those of all tenants",
    (given) => typeof given === "function" || isReconcileClient(given),
  ),
  everyMs: s.withDefault(s.numberFrom(1_000), defaults.reconcile.everyMs),
});

const receiverOptions = s.strictOptions<ReceiverOptions<unknown>>()({
  ...sharedOptions,
  inbox: inboxOption,
  acceptTimeoutMs: s.withDefault(s.durationMs, defaults.ingest.acceptTimeoutMs),
  storingBytesMax: s.withDefault(s.positiveInteger, defaults.ingest.storingBytesMax),
  backlogMax: s.withDefault(s.positiveInteger, defaults.ingest.backlogMax),
  concurrency: s.withDefault(s.positiveInteger, defaults.worker.concurrency),
  tenantConcurrency: s.optional(s.positiveInteger),
  handlerTimeoutMs: s.withDefault(s.durationMs, defaults.worker.handlerTimeoutMs),
  leaseMs: s.withDefault(s.durationMs, defaults.worker.leaseMs),
  pollMs: s.withDefault(s.durationMs, defaults.worker.pollMs),
  retry: s.withDefault(retry, {}),
  keyOrder: s.withDefault(s.oneOf<InboxKeyOrder>("latest", "strict"), defaults.worker.keyOrder),
  retention: retentionOption,
  reconcile: s.optional(reconcileSchedule),
  logger: loggerOption,
  onDead: s.optional(s.functionOf<(row: InboxRowReference, error: unknown) => void>()),
  onQuarantined: s.optional(s.functionOf<(row: InboxRowReference, reason: string) => void>()),
  random: randomOption,
  telemetry: s.optional(s.objectWith<ReceiverTelemetry>("openTelemetry(api)", "accept", "handle", "observe")),
});

export const closeSchema = s.strictOptions<{ graceMs: number }>()({
  graceMs: s.withDefault(s.numberFrom(0), defaults.closeGraceMs),
});

export const replaySchema = s.strictOptions<{ id: string; tenant: string }>()({
  id: textOption,
  tenant: s.optional(nameOption),
});

/** The options with their defaults. */
export type ReceiverSettings<Transaction = unknown> = ReturnType<typeof resolveReceiverOptions<Transaction>>;

/** @throws {ReceiverError} `CONFIGURATION_INVALID` */
export function resolveReceiverOptions<Transaction>(options: ReceiverOptions<Transaction>) {
  const settings = parseOptions("createReceiver", receiverOptions, options);
  const { tenantConcurrency = Math.ceil(settings.concurrency / 2) } = settings;
  const { secrets } = options;
  const { client } = settings.reconcile ?? {};
  if (client !== undefined && isTenantSecrets(secrets) !== (typeof client === "function")) {
    const expected = isTenantSecrets(secrets)
      ? "a function, because secrets finds the tenant"
      : "a client, because secrets finds no tenant";
    throw new ReceiverError(
      "CONFIGURATION_INVALID",
      `createReceiver: reconcile.client: expected ${expected}`,
    );
  }
  const inbox = storeOf(options.inbox);
  const logger = guardLogger(settings.logger);
  return { ...settings, inbox, logger, secrets, tenantConcurrency };
}
