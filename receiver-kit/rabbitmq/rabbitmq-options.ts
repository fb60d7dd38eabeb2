import type { Clock } from "../../sdk/kernel/clock.ts";
import type { Random } from "../../sdk/kernel/random.ts";
import { consoleLogger, guardLogger, type ReceiverLogger } from "../logger.ts";
import { defaults, option, sharedOptions } from "../options.ts";

/** What intakes and consumers of one topology have in common. */
export interface RabbitmqOptions {
  /** `amqp://` or `amqps://` URLs of the nodes of one cluster, tried in turn. */
  readonly urls: readonly string[];
  /** For `net.connect` or `tls.connect`: certificates, for example. */
  readonly socketOptions?: object | undefined;
  /** First part of the names of exchanges and queues; one for each `source`. Default `workspace-tasks`. */
  readonly name?: string | undefined;
  /** Increase it to change `partitions`, `replicas` or `queueBytesMax`. Default 1. */
  readonly version?: number | undefined;
  /**
   * Inboxes behind the queues. A task belongs to one of them for as long as it is known, so this number must not change:
   * choose more than there are database servers, with several schemas on one server. Default 1.
   */
  readonly shards?: number | undefined;
  /** Queues per shard. Default 4. */
  readonly partitions?: number | undefined;
  /** Members of each quorum queue. Default 3. */
  readonly replicas?: number | undefined;
  /** Bytes in one queue, beyond which deliveries are rejected with 503. Default: what the disks of the nodes hold. */
  readonly queueBytesMax?: number | undefined;
  /** `false`: exchanges and queues are created in another way, by a user that may. Default `true`. */
  readonly declare?: boolean | undefined;
  /** A connection on which nothing was received for two to three of these is replaced. Default 5. */
  readonly heartbeatSeconds?: number | undefined;
  /** How long connecting, and each request to the broker, may take. Default 10,000. */
  readonly operationTimeoutMs?: number | undefined;
  /** Default: warnings and errors on stderr; `silentLogger` for none. A pino logger fits. */
  readonly logger?: ReceiverLogger | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

const isUrl = (value: unknown) => {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  return ["amqp:", "amqps:"].includes(new URL(value).protocol);
};

/** The schemas of `RabbitmqOptions`. */
export const rabbitmqOptions = {
  urls: option.value<readonly string[]>(
    "a list of amqp:// or amqps:// URLs",
    (given) => Array.isArray(given) && given.length > 0 && given.every(isUrl),
  ),
  socketOptions: option
    .value<object>("an object", (given) => typeof given === "object" && given !== null)
    .default({}),
  name: option.name.default(defaults.rabbitmq.name),
  version: option.positiveInteger.default(defaults.rabbitmq.version),
  shards: option.positiveInteger.default(defaults.rabbitmq.shards),
  partitions: option.positiveInteger.default(defaults.rabbitmq.partitions),
  replicas: option.positiveInteger.default(defaults.rabbitmq.replicas),
  queueBytesMax: option.positiveInteger.optional(),
  declare: option.boolean.default(true),
  heartbeatSeconds: option.positiveInteger.default(defaults.rabbitmq.heartbeatSeconds),
  operationTimeoutMs: option.durationMs.default(defaults.rabbitmq.operationTimeoutMs),
  logger: option
    .objectWith<ReceiverLogger>("a logger with info, warn and error", "info", "warn", "error")
    .default(consoleLogger)
    .transform(guardLogger),
  clock: sharedOptions.clock,
  random: option.random,
};
