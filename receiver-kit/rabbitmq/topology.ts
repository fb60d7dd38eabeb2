// Exchanges and queues, for a name, a version, and a number of shards and of partitions per shard:
//
//   <name>.v<version>.s<shard>of<shards>                x-consistent-hash exchange; the routing key is the task's id
//   <name>.v<version>.s<shard>of<shards>.p<partition>   quorum queue with a single active consumer
//   <name>.parked                                       quorum queue without consumer: what cannot be stored
//
// The shard is chosen by this package and the partition by the exchange, so that the number of partitions may change
// while a task keeps its shard. Names contain the number of shards: a process that was started with another one shares
// no queue with the others, and stores nothing in a wrong shard. The arguments of a queue cannot be changed once it
// exists: other arguments, or another number of partitions, are another version, with consumers of its own.
//
// NO DELIVERY LIMIT. What the inbox cannot store is parked by the consumer, which knows why. The broker counts every
// redelivery, such as those after a restart of the consumers, and would drop what exceeds its limit (20 by default from
// RabbitMQ 4.0 on): so the limit is set to the highest number, and what a policy may still drop is parked.

import { ReceiverError } from "@workspace-tasks/receiver-kit";
import type { AmqpChannel } from "./amqp.ts";
import type { RabbitmqOptions } from "./rabbitmq-options.ts";

/** `RabbitmqOptions` with their defaults. */
export type RabbitmqSettings = Pick<RabbitmqOptions, "queueBytesMax"> & {
  readonly [Name in Exclude<keyof RabbitmqOptions, "queueBytesMax">]-?: NonNullable<RabbitmqOptions[Name]>;
};

export type Topology = Pick<
  RabbitmqSettings,
  "name" | "version" | "shards" | "partitions" | "replicas" | "queueBytesMax" | "declare"
>;

export const exchangeName = (
  { name, version, shards }: Pick<Topology, "name" | "version" | "shards">,
  shard: number,
) => `${name}.v${version}.s${shard}of${shards}`;

export const parkingQueueName = ({ name }: Pick<Topology, "name">) => `${name}.parked`;

export interface PartitionQueue {
  readonly queue: string;
  readonly shard: number;
}

/** The queues of a version, for the shards that `isWanted`. */
export function partitionQueues(
  topology: Pick<Topology, "name" | "version" | "shards" | "partitions">,
  isWanted: (shard: number) => boolean = () => true,
): readonly PartitionQueue[] {
  const shards = Array.from({ length: topology.shards }, (_, shard) => shard).filter(isWanted);
  return shards.flatMap((shard) =>
    Array.from({ length: topology.partitions }, (_, partition) => ({
      queue: `${exchangeName(topology, shard)}.p${partition}`,
      shard,
    })),
  );
}

const deliveryLimit = 2 ** 31 - 1;

export function queueArguments({
  name,
  replicas,
  queueBytesMax,
}: Pick<Topology, "name" | "replicas" | "queueBytesMax">) {
  return {
    "x-queue-type": "quorum",
    "x-quorum-initial-group-size": replicas,
    "x-single-active-consumer": true,
    "x-overflow": "reject-publish",
    ...(queueBytesMax !== undefined && { "x-max-length-bytes": queueBytesMax }),
    "x-delivery-limit": deliveryLimit,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": parkingQueueName({ name }),
    "x-dead-letter-strategy": "at-least-once",
  };
}

const parkingArguments = ({ replicas }: Pick<Topology, "replicas">) => ({
  "x-queue-type": "quorum",
  "x-quorum-initial-group-size": replicas,
  "x-overflow": "reject-publish",
  "x-delivery-limit": deliveryLimit,
});

/**
 * Creates what is missing; with `declare: false`, checks that it exists. Safe to repeat, from several processes at once.
 *
 * @throws {ReceiverError} `BROKER_SETUP_INVALID`
 */
export async function declareTopology(channel: AmqpChannel, topology: Topology): Promise<void> {
  const { shards, declare } = topology;
  const exchanges = Array.from({ length: shards }, (_, shard) => exchangeName(topology, shard));
  const queues = partitionQueues(topology);
  const parking = parkingQueueName(topology);
  const step = (name: string, done: Promise<unknown>) =>
    done.catch((error: unknown) => {
      throw explain(name, error);
    });
  if (!declare) {
    for (const exchange of exchanges) await step(exchange, channel.checkExchange(exchange));
    return;
  }
  const durable = { durable: true };
  await step(parking, channel.assertQueue(parking, { ...durable, arguments: parkingArguments(topology) }));
  for (const exchange of exchanges)
    await step(exchange, channel.assertExchange(exchange, "x-consistent-hash", durable));
  const options = { ...durable, arguments: queueArguments(topology) };
  for (const { queue, shard } of queues) {
    await step(queue, channel.assertQueue(queue, options));
    // The key of a binding is the weight of its queue.
    await step(queue, channel.bindQueue(queue, exchangeName(topology, shard), "1"));
  }
}

/** What the broker rejects however often it is tried is an error of the setup; anything else is passed on. */
export function explain(name: string, error: unknown): unknown {
  const { code, message = "" } = (error ?? {}) as { code?: unknown; message?: string };
  const invalid = (hint: string) =>
    new ReceiverError("BROKER_SETUP_INVALID", `rabbitmq: ${name}: ${hint} (${message})`, { cause: error });
  if (code === 406)
    return invalid(
      "it exists with other arguments, which cannot be changed: raise version, and consume the queues of the former one until they are empty",
    );
  if (code === 404) return invalid("it does not exist, and declare is false");
  if (code === 403) return invalid("the user of the URL may not configure it");
  if (code === 503 || /unknown exchange type|COMMAND_INVALID/.test(message))
    return invalid("enable the plugin: rabbitmq-plugins enable rabbitmq_consistent_hash_exchange");
  return error;
}
