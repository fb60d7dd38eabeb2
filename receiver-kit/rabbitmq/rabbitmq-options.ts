import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Random } from "@workspace-tasks/kernel/random.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { versionMismatch } from "@workspace-tasks/kernel/version.ts";
import { ReceiverError, type ReceiverLogger } from "@workspace-tasks/receiver-kit";
import * as parts from "@workspace-tasks/receiver-kit/parts";

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
  /**
   * Members of each quorum queue, at most one per node of the cluster when it is declared; `rabbitmq-queues grow` adds some
   * later. Default 3.
   */
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

/** `RabbitmqOptions` with their defaults. */
export type RabbitmqSettings = Pick<RabbitmqOptions, "queueBytesMax"> & {
  readonly [Name in Exclude<keyof RabbitmqOptions, "queueBytesMax">]-?: NonNullable<RabbitmqOptions[Name]>;
};

const isUrl = (value: unknown) => {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  return ["amqp:", "amqps:"].includes(new URL(value).protocol);
};

/** The schemas of `RabbitmqOptions`. */
export const rabbitmqOptions = {
  // They hold passwords.
  urls: s.secret(
    s.refine<readonly string[]>(
      "a list of amqp:// or amqps:// URLs, with users and passwords percent-encoded",
      (given) => Array.isArray(given) && given.length > 0 && given.every(isUrl),
    ),
  ),
  socketOptions: s.withDefault(s.object, {}),
  name: s.withDefault(parts.nameOption, parts.defaults.rabbitmq.name),
  version: s.withDefault(s.positiveInteger, parts.defaults.rabbitmq.version),
  shards: s.withDefault(s.positiveInteger, parts.defaults.rabbitmq.shards),
  partitions: s.withDefault(s.positiveInteger, parts.defaults.rabbitmq.partitions),
  replicas: s.withDefault(s.positiveInteger, parts.defaults.rabbitmq.replicas),
  queueBytesMax: s.optional(s.positiveInteger),
  declare: s.withDefault(s.boolean, true),
  heartbeatSeconds: s.withDefault(s.positiveInteger, parts.defaults.rabbitmq.heartbeatSeconds),
  operationTimeoutMs: s.withDefault(s.durationMs, parts.defaults.rabbitmq.operationTimeoutMs),
  logger: s.transform(parts.loggerOption, parts.guardLogger),
  clock: parts.sharedOptions.clock,
  random: parts.randomOption,
};

/** Less than an orchestrator waits, also with a broker that does not respond. */
export const closeSchema = s.strictOptions<{ graceMs: number }>()({
  graceMs: s.withDefault(s.numberFrom(0), 1_000),
});

/** @throws {ReceiverError} `RECEIVER_CLOSING` for `start` after `close`, which would wait for a connection without an end */
export function requireNotClosed(name: string, closing: Promise<void> | undefined): void {
  if (!closing) return;
  throw new ReceiverError("RECEIVER_CLOSING", `start() was called after close(): create another ${name}`);
}

/** @throws {ReceiverError} `VERSION_MISMATCH` */
export function requireReceiverKitVersion(): void {
  const kit = "@workspace-tasks/receiver-kit";
  const mismatch = versionMismatch("@workspace-tasks/receiver-rabbitmq", kit, parts.version);
  if (mismatch) throw new ReceiverError("VERSION_MISMATCH", mismatch);
}
