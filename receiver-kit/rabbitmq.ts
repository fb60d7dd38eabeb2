export type { ShardReceiver } from "./rabbitmq/partition-consumer.ts";
export {
  type RabbitmqConsumer,
  type RabbitmqConsumerOptions,
  rabbitmqConsumer,
} from "./rabbitmq/rabbitmq-consumer.ts";
export {
  type RabbitmqIntake,
  type RabbitmqIntakeOptions,
  rabbitmqIntake,
} from "./rabbitmq/rabbitmq-intake.ts";
export type { RabbitmqOptions } from "./rabbitmq/rabbitmq-options.ts";
export { clientOfShard, shardOf } from "./rabbitmq/shard.ts";
export type {
  BrokerConnectionStats,
  RabbitmqConsumerStats,
  RabbitmqIntakeStats,
} from "./stats/broker-stats.ts";
