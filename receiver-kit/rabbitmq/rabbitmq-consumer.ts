import { asyncDispose } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import { ReceiverError, type ReceiverTelemetry } from "@workspace-tasks/receiver-kit";
import * as parts from "@workspace-tasks/receiver-kit/parts";
import type { AmqpConnect, AmqpConnection } from "./amqp.ts";
import { BrokerConnection } from "./broker-connection.ts";
import { connectAmqplib } from "./connect-amqplib.ts";
import { PartitionConsumer, type ShardReceiver } from "./partition-consumer.ts";
import { type RabbitmqOptions, rabbitmqOptions } from "./rabbitmq-options.ts";
import { requireReceiverKitVersion } from "./require-receiver-kit-version.ts";
import { declareTopology, parkingQueueName, partitionQueues } from "./topology.ts";

export interface RabbitmqConsumerOptions extends RabbitmqOptions {
  /**
   * The receiver of each shard; `undefined` for shards that another process serves. The consumer only stores deliveries:
   * start the receivers, so that they are handled.
   */
  readonly receivers: readonly (ShardReceiver | undefined)[];
  /** Messages of one queue that this process has and has not acknowledged yet, of up to `bodyBytesMax` each. Default 256. */
  readonly prefetch?: number | undefined;
  /** Metrics: `openTelemetry(api)` of `@workspace-tasks/receiver-kit/telemetry`. */
  readonly telemetry?: Pick<ReceiverTelemetry, "observe"> | undefined;
}

const consumerOptions = s.strictOptions<RabbitmqConsumerOptions>()({
  ...rabbitmqOptions,
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

export interface RabbitmqConsumer extends AsyncDisposable {
  /**
   * Connects, declares exchanges and queues, and consumes. When no node can be reached it resolves all the same, and is
   * tried again.
   *
   * @throws {ReceiverError} `BROKER_SETUP_INVALID`
   */
  start(): Promise<void>;
  /** The depth of the queues is in RabbitMQ's own metrics. */
  stats(): parts.RabbitmqConsumerStats;
  /**
   * Stops consuming, waits up to `graceMs` (default 10,000) until the batches in progress are stored and acknowledged, and
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
 * const consumer = rabbitmqConsumer({ urls, shards: 2, receivers });
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
  requireReceiverKitVersion();
  const settings = parts.parseOptions("rabbitmqConsumer", consumerOptions, options);
  const { shards, receivers, clock, operationTimeoutMs, telemetry } = settings;
  if (receivers.length !== shards) {
    const found = `rabbitmqConsumer: receivers: expected ${shards}, one for each shard, got ${receivers.length}`;
    throw new ReceiverError("CONFIGURATION_INVALID", found);
  }
  const isServed = (shard: number) => receivers[shard] !== undefined;
  const own = partitionQueues(settings, isServed);
  const counts: parts.ConsumeCounts = {
    delivered: 0,
    redelivered: 0,
    stored: 0,
    failed: 0,
    parked: 0,
    released: 0,
  };
  let closing: Promise<void> | undefined;
  let partitions: readonly PartitionConsumer[] | undefined;
  let isDeclared = false;
  let stopObserving = () => {};

  const partitionOf = (opened: AmqpConnection, queue: string, shard: number) =>
    new PartitionConsumer(
      {
        ...settings,
        ...{ queue, counts, parkingQueue: parkingQueueName(settings) },
        receiver: receivers[shard] as ShardReceiver,
      },
      opened,
    );

  const broker = new BrokerConnection<readonly PartitionConsumer[]>(
    { ...settings, connect },
    {
      async setUp(opened) {
        if (!isDeclared) {
          const channel = await opened.createConfirmChannel();
          channel.on("error", () => {});
          await declareTopology(channel, settings);
          await channel.close();
          isDeclared = true;
        }
        const opening = own.map(({ queue, shard }) => partitionOf(opened, queue, shard));
        // A queue without a majority delays no other.
        const started = Promise.all(opening.map((partition) => partition.start()));
        await settledWithin(started, operationTimeoutMs / 2, clock);
        partitions = opening;
        return opening;
      },
      onLost(lost) {
        partitions = undefined;
        for (const partition of lost) partition.abandon();
      },
    },
  );

  const close = async (graceMs: number) => {
    const stopped = Promise.all(partitions?.map((partition) => partition.stop()) ?? []);
    await settledWithin(stopped, graceMs, clock);
    await broker.close(operationTimeoutMs);
  };

  const consumer: RabbitmqConsumer = {
    start() {
      stopObserving();
      stopObserving = parts.observe(telemetry, async () => consumer.stats());
      return broker.start();
    },
    stats: () => ({
      source: receivers.find(Boolean)?.source ?? parts.defaults.source,
      connection: broker.stats,
      messages: { ...counts },
      queues:
        partitions?.map(({ stats }) => stats) ??
        own.map(({ queue }) => ({ queue, isConsuming: false, waiting: 0, failingForMs: null })),
    }),
    close(closeOptions = {}) {
      const { graceMs } = parts.parseOptions("close", parts.closeSchema, closeOptions, "ARGUMENT_INVALID");
      stopObserving();
      closing ??= close(graceMs);
      return closing;
    },
    [asyncDispose]: () => consumer.close(),
  };
  return consumer;
}
