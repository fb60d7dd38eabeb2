// Exchanges and queues, for a name, a version, and a number of shards and of partitions per shard:
//
//   <name>.v<version>.s<shard>of<shards>                x-consistent-hash exchange; the routing key is the task's id
//   <name>.v<version>.s<shard>of<shards>.p<partition>   quorum queue with a single active consumer
//   <name>.parked                                       quorum queue without consumer: what cannot be stored
//
// This package chooses the shard and the exchange the partition, so that the number of partitions may change while a task
// keeps its shard. A process with another number of shards shares no queue with the others. The arguments of a queue cannot
// be changed once it exists: other arguments, or another number of partitions, are another version, with own consumers.
//
// NO DELIVERY LIMIT. What the inbox cannot store is parked by the consumer, which knows why. The broker counts every
// redelivery, such as those after a restart of the consumers, and would drop what exceeds its limit (20 by default from
// RabbitMQ 4.0 on): so the limit is set to the highest number, and what a policy may still drop is parked.

import type { Channel } from "amqplib";
import { explain } from "./amqp-client.ts";
import type { RabbitmqSettings } from "./rabbitmq-options.ts";

export type Topology = Pick<
  RabbitmqSettings,
  "name" | "version" | "shards" | "partitions" | "replicas" | "queueBytesMax" | "declare"
>;
type Names = Pick<Topology, "name" | "version" | "shards">;

export const exchangeName = ({ name, version, shards }: Names, shard: number) =>
  `${name}.v${version}.s${shard}of${shards}`;

export const parkingQueueName = ({ name }: Pick<Topology, "name">) => `${name}.parked`;

/** Where a message is published to. */
export interface Route {
  readonly exchange: string;
  readonly key: string;
}

/** Characters. A routing key has at most 255 bytes. */
export const routingKeyMax = 80;

/** The way to the queue of a task, in its shard. */
export const routeTo = (names: Names, task: string, shard: number): Route => ({
  exchange: exchangeName(names, shard),
  key: task.slice(0, routingKeyMax),
});

export const routeToParking = (names: Names): Route => ({ exchange: "", key: parkingQueueName(names) });

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

export const partitionQueues = (topology: Names & Pick<Topology, "partitions">, shard: number) =>
  upTo(topology.partitions).map((partition) => `${exchangeName(topology, shard)}.p${partition}`);

const durable = { durable: true };

/** What the queues of shards and the parking queue have in common. */
const queueArguments = ({ replicas }: Pick<Topology, "replicas">) => ({
  "x-queue-type": "quorum",
  "x-quorum-initial-group-size": replicas,
  "x-overflow": "reject-publish",
  "x-delivery-limit": 2 ** 31 - 1,
});

/**
 * Creates what is missing; with `declare: false`, checks that the exchanges exist. Safe to repeat, from several processes.
 *
 * @throws {ReceiverError} `BROKER_SETUP_INVALID`
 */
export async function declareTopology(channel: Channel, topology: Topology): Promise<void> {
  await declareParkingQueue(channel, topology);
  for (const shard of upTo(topology.shards)) {
    const exchange = exchangeName(topology, shard);
    if (!topology.declare) await named(exchange, channel.checkExchange(exchange));
    for (const queue of partitionQueues(topology, shard)) await declareQueue(channel, topology, shard, queue);
  }
}

export async function declareParkingQueue(channel: Channel, topology: Topology): Promise<void> {
  const queue = parkingQueueName(topology);
  if (topology.declare)
    await named(queue, channel.assertQueue(queue, { ...durable, arguments: queueArguments(topology) }));
}

/** A queue, its exchange and the binding between them. */
export async function declareQueue(
  channel: Channel,
  topology: Topology,
  shard: number,
  queue: string,
): Promise<void> {
  const { declare, queueBytesMax } = topology;
  if (!declare) return;
  const exchange = exchangeName(topology, shard);
  await named(exchange, channel.assertExchange(exchange, "x-consistent-hash", durable));
  const ownArguments = {
    ...queueArguments(topology),
    "x-single-active-consumer": true,
    ...(queueBytesMax !== undefined && { "x-max-length-bytes": queueBytesMax }),
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": parkingQueueName(topology),
    "x-dead-letter-strategy": "at-least-once",
  };
  await named(queue, channel.assertQueue(queue, { ...durable, arguments: ownArguments }));
  // The key of a binding is the weight of its queue.
  await named(queue, channel.bindQueue(queue, exchange, "1"));
}

const named = <Value>(name: string, done: Promise<Value>): Promise<Value> =>
  done.catch((error: unknown) => {
    throw explain(name, error);
  });
