export type {
  AmqpChannel,
  AmqpConnect,
  AmqpConnection,
  AmqpConnectOptions,
  AmqpMessage,
  AmqpPublishOptions,
} from "./rabbitmq/amqp.ts";
export type { BrokerConnectionStats } from "./rabbitmq/broker-connection.ts";
export type { ConsumeCounts, ShardReceiver } from "./rabbitmq/partition-consumer.ts";
export type { PublishCounts } from "./rabbitmq/publisher.ts";
export {
  type PartitionStats,
  type RabbitmqConsumer,
  type RabbitmqConsumerOptions,
  type RabbitmqConsumerStats,
  rabbitmqConsumer,
} from "./rabbitmq/rabbitmq-consumer.ts";
export {
  type RabbitmqIntake,
  type RabbitmqIntakeOptions,
  type RabbitmqIntakeStats,
  rabbitmqIntake,
} from "./rabbitmq/rabbitmq-intake.ts";
export type { RabbitmqOptions } from "./rabbitmq/rabbitmq-options.ts";
export { clientOfShard, shardOf } from "./rabbitmq/shard.ts";
export type { TopologyVersion } from "./rabbitmq/topology.ts";
