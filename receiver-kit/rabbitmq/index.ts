export type {
  BrokerConnectionStats,
  RabbitmqConsumerStats,
  RabbitmqIntakeStats,
} from "@workspace-tasks/receiver-kit/parts";
export type { ShardReceiver } from "./partition-consumer.ts";
export {
  type RabbitmqConsumer,
  type RabbitmqConsumerOptions,
  rabbitmqConsumer,
} from "./rabbitmq-consumer.ts";
export {
  type RabbitmqIntake,
  type RabbitmqIntakeOptions,
  rabbitmqIntake,
} from "./rabbitmq-intake.ts";
export type { RabbitmqOptions } from "./rabbitmq-options.ts";
export { clientOfShard, shardOf } from "./shard.ts";
