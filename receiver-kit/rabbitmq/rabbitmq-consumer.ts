import { asyncDispose } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import { ReceiverError, type ReceiverTelemetry } from "@workspace-tasks/receiver-kit";
import * as parts from "@workspace-tasks/receiver-kit/parts";
import { type AmqpConnect, connectAmqplib, isRejection } from "./amqp-client.ts";
import { IncidentLog } from "./incident-log.ts";
import { ConsumerConnection, PartitionConsumer, type ShardReceiver } from "./partition-consumer.ts";
import { Publisher } from "./publisher.ts";
import * as common from "./rabbitmq-options.ts";
import * as topology from "./topology.ts";

export interface RabbitmqConsumerOptions extends common.RabbitmqOptions {
  /**
   * The receiver of each shard; `undefined` for shards that another process serves. The consumer only stores deliveries:
   * start the receivers, so that they are handled. The inbox remembers its shard and their number.
   */
  readonly receivers: readonly (ShardReceiver | undefined)[];
  /**
   * Messages of one queue that this process has and has not acknowledged yet, of up to `bodyBytesMax` each; up to eight times
   * as many while none of small ones can be stored. Default 256.
   */
  readonly prefetch?: number | undefined;
  /** Metrics: `openTelemetry(api)` of `@workspace-tasks/receiver-kit/telemetry`. */
  readonly telemetry?: Pick<ReceiverTelemetry, "observe"> | undefined;
}

const consumerOptions = s.strictOptions<RabbitmqConsumerOptions>()({
  ...common.rabbitmqOptions,
  receivers: s.refine<readonly (ShardReceiver | undefined)[]>(
    "a list of receivers, such as createReceiver(…), one for each shard",
    (given) =>
      Array.isArray(given) &&
      given.some(Boolean) &&
      given.every((receiver) => receiver === undefined || typeof receiver?.accept === "function"),
  ),
  prefetch: s.withDefault(s.positiveInteger, parts.defaults.rabbitmq.prefetch),
  telemetry: s.optional(s.objectWith<Pick<ReceiverTelemetry, "observe">>("openTelemetry(api)", "observe")),
});

const notParked = "a delivery can be neither stored nor parked and stays in its queue";

export interface RabbitmqConsumer extends AsyncDisposable {
  /**
   * Connects, declares exchanges and queues, and consumes. When no node or inbox can be reached it resolves all the same, and
   * is tried again.
   *
   * @throws {ReceiverError} `BROKER_SETUP_INVALID` when the broker rejects what it is asked for, `CONFIGURATION_INVALID` when
   *   an inbox is that of another shard; both are tried again all the same
   */
  start(): Promise<void>;
  /** The depth of the queues is in RabbitMQ's own metrics. */
  stats(): parts.RabbitmqConsumerStats;
  /**
   * Stops consuming, waits up to `graceMs` (default 1,000) until the batches in progress are stored and acknowledged, and
   * disconnects. Close it before its receivers.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/**
 * Brings deliveries from RabbitMQ to the inboxes of receivers: a message is acknowledged once its row is committed, so
 * that what an inbox does not store stays in the queue. Every process may consume: one at a time is active per queue.
 *
 * @example examples/receiver-rabbitmq.ts#consumer
 * ```ts
 * const pool = new pg.Pool({
 *   connectionString: process.env["DATABASE_URL"],
 *   max: 28, // two receivers, each with 8 handlers, and 6 clients to listen, store, settle and notify
 *   connectionTimeoutMillis: 5_000,
 * });
 * const receivers = ["shard0", "shard1"].map((schema) =>
 *   createReceiver({ secrets, inbox: postgresInbox(pool, { schema }) }),
 * );
 * await pool.query("CREATE TABLE IF NOT EXISTS task_states (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)");
 * for (const receiver of receivers) {
 *   receiver.onState("task", async ({ taskId, status }, { transaction }) => {
 *     await transaction.query(
 *       "INSERT INTO task_states VALUES ($1, $2) ON CONFLICT (task_id) DO UPDATE SET status = excluded.status",
 *       [taskId, status],
 *     );
 *   });
 *   await receiver.start();
 * }
 * const consumer = rabbitmqConsumer({ ...broker, receivers });
 * await consumer.start();
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`, `VERSION_MISMATCH`
 */
export function rabbitmqConsumer(options: RabbitmqConsumerOptions): RabbitmqConsumer {
  return createConsumer(options, connectAmqplib);
}

/** A consumer with another AMQP client. */
export function createConsumer(options: RabbitmqConsumerOptions, connect: AmqpConnect): RabbitmqConsumer {
  common.requireReceiverKitVersion();
  const settings = parts.parseOptions("rabbitmqConsumer", consumerOptions, options);
  const { shards, receivers, clock, operationTimeoutMs, telemetry } = settings;
  if (receivers.length !== shards) {
    const found = `rabbitmqConsumer: receivers: expected ${shards}, one for each shard, got ${receivers.length}`;
    throw new ReceiverError("CONFIGURATION_INVALID", found);
  }
  const counts = { delivered: 0, redelivered: 0, stored: 0, failed: 0, parked: 0 };
  const own = { ...settings, connect, log: new IncidentLog(settings) };
  const connection = new ConsumerConnection(own);
  // A connection that publishes is not read while the broker is short of memory: acknowledgements would not arrive.
  const parking = new Publisher({
    ...own,
    failing: notParked,
    place: "park",
    declareFor: (channel) => topology.declareParkingQueue(channel, settings),
  });
  const partitions = receivers.flatMap((receiver, index) => {
    if (!receiver) return [];
    const shard = { index, receiver, storedAtMs: Number.NEGATIVE_INFINITY };
    return topology
      .partitionQueues(settings, index)
      .map((queue) => new PartitionConsumer({ ...own, queue, shard, counts, connection, parking }));
  });
  let closing: Promise<void> | undefined;
  let stopObserving = () => {};

  const start = async () => {
    // They wait for the connection, also for one that begins with an error.
    const started = Promise.allSettled(partitions.map((partition) => partition.start()));
    await connection.start();
    // A queue without a majority delays no other.
    if (connection.session) await settledWithin(started, operationTimeoutMs / 2, clock);
    const rejected = partitions.find(({ error }) => isRejection(error));
    if (rejected) throw rejected.error;
  };

  const close = async (graceMs: number) => {
    await Promise.all(partitions.map((partition) => partition.finish(graceMs)));
    await Promise.all(partitions.map((partition) => partition.stop()));
    await Promise.all([connection.stop(), parking.stop()]);
  };

  const consumer: RabbitmqConsumer = {
    async start() {
      common.requireNotClosed("consumer", closing);
      stopObserving();
      stopObserving = parts.observe(telemetry, async () => consumer.stats());
      return start();
    },
    stats: () => ({
      source: receivers.find(Boolean)?.source ?? parts.defaults.source,
      connection: connection.stats,
      messages: { ...counts, released: partitions.reduce((sum, { lost }) => sum + lost, 0) },
      queues: partitions.map(({ stats }) => stats),
    }),
    close(closeOptions = {}) {
      const { graceMs } = parts.parseOptions("close", common.closeSchema, closeOptions, "ARGUMENT_INVALID");
      stopObserving();
      closing ??= close(graceMs);
      return closing;
    },
    [asyncDispose]: () => consumer.close(),
  };
  return consumer;
}
