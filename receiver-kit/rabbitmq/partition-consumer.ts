// Reads one queue: takes what was delivered as a batch, stores it in the inbox of the shard, and then acknowledges it.
//
// While the inbox fails, messages stay unacknowledged and are not requeued: the prefetch limits them, and none is redelivered
// in a loop. After `releaseAfterMs` the channel is closed, so that the consumer of another process, whose connection to the
// inbox may work, becomes the active one. The next prefetch is larger: what cannot be stored may fill the former, and nothing
// behind it is seen. What failed waits behind what has not been tried yet.
//
// What fails for a reason of its own is parked at once, such as a delivery of another shard. Other failures park a message
// when they and the broker's count of its deliveries are many, while the inbox stored others. A message in the format
// of a newer release stays, for a process that reads it.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { settledWithin, withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import {
  type DeliverySink,
  isReceiverError,
  type Receiver,
  type VerifiedWebhook,
} from "@workspace-tasks/receiver-kit";
import * as parts from "@workspace-tasks/receiver-kit/parts";
import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import { decodeDelivery, movedMessage, taskOf } from "./delivery-message.ts";
import { isOwnFault, reasonOf } from "./incident-log.ts";
import { type Attempt, BrokerConnection, closeMs, KeptOpen, type KeptSettings } from "./kept-open.ts";
import type { Publisher } from "./publisher.ts";
import { shardOf } from "./shard.ts";
import * as topology from "./topology.ts";

/** What a shard needs to be: a receiver. With `keepShard`, its inbox refuses to be another shard. */
export type ShardReceiver = Pick<DeliverySink, "accept" | "source"> &
  Partial<Pick<Receiver<unknown>, "keepShard">>;

export interface PartitionSettings extends KeptSettings, topology.Topology {
  readonly queue: string;
  /** A shard of this process, for all of its queues, and when it last stored a delivery. */
  readonly shard: { readonly index: number; readonly receiver: ShardReceiver; storedAtMs: number };
  readonly prefetch: number;
  readonly counts: Omit<parts.ConsumeCounts, "released">;
  readonly connection: ConsumerConnection;
  readonly parking: Publisher;
}

export class ConsumerConnection extends BrokerConnection<ChannelModel> {
  protected readonly place = "consume";
  protected readonly setUp = async (connection: ChannelModel) => connection;
}

interface Entry {
  readonly message: ConsumeMessage;
  /** When the attempt began that failed last. */
  failedSinceMs: number | undefined;
  /** Failures while the shard stored others; the deliveries that the broker counts are some of them. */
  lonelyFailures: number;
}

/** What one channel has delivered. */
interface Consuming {
  readonly channel: Channel;
  readonly attempt: Attempt;
  consumerTag: string;
  /** What is not stored yet. */
  readonly buffer: Entry[];
  failingSinceMs: number | undefined;
  /** Consecutive batches of which nothing was stored. */
  failures: number;
  storing: Promise<void> | undefined;
}

/** More than a receiver's own limit, so that no batch waits without end, whatever the receiver is. */
const acceptTimeoutMs = 60_000;
const batchBytesMax = 8_000_000;
const releaseAfterMs = 10_000;
const lonelyFailuresMax = 8;
/** More deliveries that the broker has counted say nothing about the message: an outage makes their number large, too. */
const countedMax = 5;
/** A larger prefetch is for small bodies. */
const grownBytesMax = 16_000_000;
/** They pass: the backlog gets room, and a newer release reads the message. */
const passing: ReadonlySet<string> = new Set(["BACKLOG_FULL", "RELEASE_TOO_OLD"]);

const notStored = "queued deliveries cannot be stored and stay in their queue; repair the inbox";
const parked = "deliveries were parked; after the repair move them back: workspace-tasks-rabbitmq unpark";

export class PartitionConsumer extends KeptOpen<Consuming, PartitionSettings> {
  protected readonly incident = "a queue cannot be consumed, it is tried again";
  protected readonly place = this.settings.queue;
  protected readonly name = this.settings.queue;
  readonly #exchange = topology.exchangeName(this.settings, this.settings.shard.index);
  #prefetch = this.settings.prefetch;
  #failingSinceMs: number | undefined;
  #isFinishing = false;

  protected override until = () => this.settings.connection.next();

  get stats(): parts.RabbitmqConsumerStats["queues"][number] {
    const { queue, clock } = this.settings;
    const { session } = this;
    const sinceMs = this.#failingSinceMs;
    // Another process may store what this one could not.
    const isStandingBy = session !== undefined && !session.storing;
    return {
      queue,
      isConsuming: session !== undefined,
      waiting: session?.buffer.length ?? 0,
      failingForMs: sinceMs === undefined || isStandingBy ? null : clock.monotonic() - sinceMs,
    };
  }

  /** Consumes nothing more and resolves once the batch in progress is acknowledged, within `graceMs`. */
  async finish(graceMs: number): Promise<void> {
    const { clock } = this.settings;
    this.#isFinishing = true;
    this.wake();
    const { session } = this;
    if (!session) return;
    await settledWithin(session.channel.cancel(session.consumerTag), closeMs, clock);
    await settledWithin(Promise.resolve(session.storing), graceMs, clock);
  }

  protected async open(attempt: Attempt): Promise<Consuming> {
    const { clock, connection, queue, shard, shards } = this.settings;
    try {
      await shard.receiver.keepShard?.({ shard: shard.index, shards });
    } catch (error) {
      this.#failingSinceMs ??= clock.monotonic();
      throw error;
    }
    const channel = await (await connection.next())?.createChannel();
    if (!channel) throw new Error("the consumer is closed");
    const consuming: Consuming = {
      channel,
      attempt,
      consumerTag: "",
      buffer: [],
      failingSinceMs: undefined,
      failures: 0,
      storing: undefined,
    };
    attempt.onEnd(() => {
      this.wake();
      return settledWithin(channel.close(), closeMs, clock);
    });
    attempt.onEnd(() => consuming.storing);
    channel.on("error", (error) => attempt.end(error));
    // A lost connection is an incident of its own, so that it is no reason here.
    const close = () => attempt.end(connection.session && new Error("the channel was closed"));
    channel.on("close", () => setImmediate(close));
    await topology.declareQueue(channel, this.settings, shard.index, queue);
    await channel.prefetch(this.#prefetch);
    const receive = (message: ConsumeMessage | null) => this.#receive(consuming, message);
    consuming.consumerTag = (await channel.consume(queue, receive)).consumerTag;
    return consuming;
  }

  #receive(consuming: Consuming, message: ConsumeMessage | null): void {
    const { attempt, buffer } = consuming;
    // The queue was deleted, or has lost its majority.
    if (message === null) attempt.end(new Error("the broker ended the consumer"));
    if (message === null || attempt.isEnded || this.#isFinishing) return;
    const { counts } = this.settings;
    counts.delivered += 1;
    if (message.fields.redelivered) counts.redelivered += 1;
    const counted = Number(message.properties.headers?.["x-delivery-count"] ?? 0);
    buffer.push({ message, failedSinceMs: undefined, lonelyFailures: Math.min(countedMax, counted) });
    consuming.storing ??= this.#storeAll(consuming).finally(() => {
      consuming.storing = undefined;
    });
  }

  async #storeAll(consuming: Consuming): Promise<void> {
    const { clock, log, prefetch, queue } = this.settings;
    const { attempt, buffer, channel } = consuming;
    // What arrived in the same packet is one batch.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (buffer.length > 0 && !attempt.isEnded && !this.#isFinishing) {
      const startedMs = clock.monotonic();
      const batch = batchOf(buffer, prefetch);
      const stored = await Promise.all(batch.map((entry) => this.#store(entry)));
      if (attempt.isEnded) return;
      const failed = batch.filter((_, index) => !stored[index]);
      for (const entry of failed) entry.failedSinceMs = startedMs;
      const isInOrder = buffer.every(({ failedSinceMs }) => failedSinceMs === undefined);
      acknowledge(channel, batch, isInOrder ? undefined : stored);
      buffer.splice(0, batch.length);
      buffer.push(...failed);
      if (failed.length < batch.length) {
        consuming.failingSinceMs = undefined;
        this.#failingSinceMs = undefined;
        consuming.failures = 0;
        this.#prefetch = prefetch;
      }
      if (failed.length > 0) await this.#waitAfterFailure(consuming);
      else log.end(notStored, queue);
    }
  }

  /** Whether the message may be acknowledged. Never rejects. */
  async #store(entry: Entry): Promise<boolean> {
    const { counts, clock, log, queue, shard, shards } = this.settings;
    const { receiver } = shard;
    const { message } = entry;
    try {
      const delivery = decodeDelivery(message);
      if (!delivery) return await this.#park(message, "it is not a delivery");
      const { webhook, source, traceparent } = delivery;
      if (!isOfSource(receiver, source))
        return await this.#park(message, `it has the source ${source}, and the receiver ${receiver.source}`);
      const own = shardOf(taskIn(message, this.#exchange, webhook), shards);
      if (own !== shard.index) return await this.#park(message, `it belongs to shard ${own} of ${shards}`);
      const accepted = receiver.accept(webhook, { traceparent });
      const late = () => new Error(`the receiver did not store a delivery within ${acceptTimeoutMs} ms`);
      await withTimeout(accepted, acceptTimeoutMs, background(clock), late);
      counts.stored += 1;
      shard.storedAtMs = clock.monotonic();
      return true;
    } catch (error) {
      counts.failed += 1;
      if (isOwnFault(error) || this.#isSuspect(entry, error)) return this.#park(message, reasonOf(error));
      log.add(notStored, queue, error);
      return false;
    }
  }

  #isSuspect(entry: Entry, error: unknown): boolean {
    if (isReceiverError(error) && passing.has(error.code)) return false;
    const { failedSinceMs = Number.POSITIVE_INFINITY } = entry;
    if (this.settings.shard.storedAtMs >= failedSinceMs) entry.lonelyFailures += 1;
    return entry.lonelyFailures >= lonelyFailuresMax;
  }

  /** Moves a message to the parking queue. Never rejects. */
  async #park(message: ConsumeMessage, reason: string): Promise<boolean> {
    const { counts, log, parking, queue } = this.settings;
    const options = movedMessage(message, { "parked-from": queue, "parked-because": reason.slice(0, 300) });
    try {
      await parking.publish({ ...topology.routeToParking(this.settings), body: message.content, options });
    } catch {
      counts.failed += 1;
      return false;
    }
    counts.parked += 1;
    log.add(parked, queue, reason);
    return true;
  }

  async #waitAfterFailure(consuming: Consuming): Promise<void> {
    const { clock, prefetch } = this.settings;
    const nowMs = clock.monotonic();
    this.#failingSinceMs ??= nowMs;
    consuming.failingSinceMs ??= nowMs;
    if (nowMs - consuming.failingSinceMs < releaseAfterMs) return this.pause(consuming.failures++);
    const bytes = consuming.buffer.reduce((sum, { message }) => sum + message.content.byteLength, 0);
    if (bytes < grownBytesMax) this.#prefetch = Math.min(4 * this.#prefetch, 8 * prefetch);
    consuming.attempt.end();
  }
}

function batchOf(buffer: readonly Entry[], max: number): readonly Entry[] {
  let bytes = 0;
  const end = buffer.findIndex(({ message }, index) => {
    bytes += message.content.byteLength;
    return index >= max || (index > 0 && bytes > batchBytesMax);
  });
  return buffer.slice(0, end === -1 ? buffer.length : end);
}

/** @param stored what of the batch is; left out where that is all of it, and all before it */
function acknowledge(channel: Channel, batch: readonly Entry[], stored?: readonly boolean[]): void {
  const [last] = batch.slice(-1);
  try {
    if (last && !stored) channel.ack(last.message, true);
    else for (const [index, { message }] of batch.entries()) if (stored?.[index]) channel.ack(message);
  } catch {
    // The channel was closed a moment ago: what is stored is delivered again, and the inbox knows it.
  }
}

/** A receiver that hangs does not keep a process alive that has closed its consumer. */
const background = ({ schedule }: Clock): Pick<Clock, "schedule"> => ({
  schedule: (delayMs, run) => schedule(delayMs, run, { background: true }),
});

/** The routing key is the task, where the exchange of the shard has routed the message and the key was not cut. */
const taskIn = ({ fields }: ConsumeMessage, exchange: string, { id, body }: VerifiedWebhook) =>
  fields.exchange === exchange && fields.routingKey.length < topology.routingKeyMax
    ? fields.routingKey
    : taskOf(id, parts.readJson(body));

/** An intake and the receivers behind it have the same source; deliveries of tenants have `source/tenant`. */
const isOfSource = ({ source }: ShardReceiver, found: string) =>
  source === undefined || found === source || found.startsWith(`${source}/`);
