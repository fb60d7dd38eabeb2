// Reads one queue: takes what was delivered as a batch, stores it in the inbox of the shard, and then acknowledges it.
//
// While the inbox fails, messages stay unacknowledged and are not requeued: the prefetch limits them, and none is redelivered
// in a loop. After `releaseAfterMs` the channel is closed, so that the consumer of another process, whose connection to the
// inbox may work, becomes the active one. When nothing was stored until then, the next prefetch is larger: what cannot be
// stored may fill the former, and nothing behind it is seen.
//
// What fails for a reason of its own is moved at once: to the parking queue, or to its own shard. Other failures move a
// message when they and the broker's count of its deliveries are many, while the inbox stored others. A message in the format
// of a newer release stays, for a process that reads it.

import { settledWithin, withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import {
  type DeliverySink,
  isReceiverError,
  type Receiver,
  type VerifiedWebhook,
} from "@workspace-tasks/receiver-kit";
import * as parts from "@workspace-tasks/receiver-kit/parts";
import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import type { BrokerConnection } from "./broker-connection.ts";
import { decodeDelivery, taskOf } from "./delivery-message.ts";
import { isOwnFault, reasonOf } from "./incident-log.ts";
import { type Attempt, closeMs, KeptOpen, type KeptSettings } from "./kept-open.ts";
import { shardOf } from "./shard.ts";
import {
  declareQueue,
  exchangeName,
  type Route,
  routeTo,
  routeToParking,
  routingKeyMax,
  type Topology,
} from "./topology.ts";

/** What a shard needs to be: a receiver. With `keepShard`, its inbox refuses to be another shard. */
export type ShardReceiver = Pick<DeliverySink, "accept" | "source"> &
  Partial<Pick<Receiver<unknown>, "keepShard">>;

/** A shard of this process, for all of its queues. */
export interface Shard {
  readonly index: number;
  readonly receiver: ShardReceiver;
  /** When it last stored a delivery. */
  storedAtMs: number;
}

export interface PartitionSettings extends KeptSettings, Topology {
  readonly queue: string;
  readonly shard: Shard;
  readonly prefetch: number;
  readonly counts: parts.ConsumeCounts;
  readonly connection: BrokerConnection<ChannelModel>;
  /** Resolves once another queue has the message. */
  move(message: ConsumeMessage, reason: string, route: Route): Promise<void>;
}

/** What one channel has delivered. */
interface Consuming {
  readonly channel: Channel;
  readonly attempt: Attempt;
  consumerTag: string;
  readonly buffer: ConsumeMessage[];
  /** In the buffer, or being stored. */
  waiting: number;
  hasStored: boolean;
  failingSinceMs: number | undefined;
  storing: Promise<void> | undefined;
}

/** `undefined`: it may be acknowledged. */
type Failure = { readonly error: unknown } | undefined;
const unmoved: Failure = { error: undefined };

/** More than a receiver's own limit, so that no batch waits without end, whatever the receiver is. */
const acceptTimeoutMs = 60_000;
const batchBytesMax = 8_000_000;
const releaseAfterMs = 10_000;
/** Attempts of all processes after which a message is parked, and those of this one during which others were stored. */
const attemptsMax = 8;
const lonelyMax = 3;
/** A larger prefetch is for small bodies. */
const grownBytesMax = 16_000_000;
/** They pass: the backlog gets room, and a newer release reads the message. */
const passing: ReadonlySet<string> = new Set(["BACKLOG_FULL", "RELEASE_TOO_OLD"]);

const notStored = "queued deliveries cannot be stored and stay in their queue; repair the inbox";
const notMoved = "a delivery can be neither stored nor moved and stays in its queue";
const parked = "deliveries were parked; after the repair move them back: workspace-tasks-rabbitmq unpark";
const forwarded = "deliveries were in a queue of another shard and were moved to their own";

export class PartitionConsumer extends KeptOpen<Consuming, ChannelModel> {
  readonly #settings: PartitionSettings;
  readonly #attempts = new WeakMap<ConsumeMessage, { all: number; lonely: number }>();
  readonly #exchange: string;
  #prefetch: number;
  /** Consecutive batches of which nothing was stored. */
  #failures = 0;
  #failingSinceMs: number | undefined;
  #isStopping = false;
  #wake = () => {};

  constructor(settings: PartitionSettings) {
    const { queue, connection, shard, shards } = settings;
    super(settings, {
      incident: "a queue cannot be consumed, it is tried again",
      place: queue,
      name: () => queue,
      need: async () => {
        try {
          await shard.receiver.keepShard?.({ shard: shard.index, shards });
        } catch (error) {
          this.#noteFailing();
          throw error;
        }
        return connection.next();
      },
      open: (attempt, opened) => this.#consume(attempt, opened),
    });
    this.#settings = settings;
    this.#exchange = exchangeName(settings, shard.index);
    this.#prefetch = settings.prefetch;
  }

  get stats(): parts.RabbitmqConsumerStats["queues"][number] {
    const { queue, clock } = this.#settings;
    const { session } = this;
    const since = this.#failingSinceMs;
    // Another process may store what this one could not.
    const isStandingBy = session !== undefined && !session.storing;
    return {
      queue,
      isConsuming: session !== undefined,
      waiting: session?.waiting ?? 0,
      failingForMs: since === undefined || isStandingBy ? null : clock.monotonic() - since,
    };
  }

  #noteFailing(): void {
    this.#failingSinceMs ??= this.#settings.clock.monotonic();
  }

  /** Consumes nothing more and resolves once the batch in progress is acknowledged, within `graceMs`. */
  async finish(graceMs: number): Promise<void> {
    const { clock } = this.#settings;
    this.#isStopping = true;
    this.#wake();
    const { session } = this;
    if (session) {
      await settledWithin(session.channel.cancel(session.consumerTag), closeMs, clock);
      await settledWithin(Promise.resolve(session.storing), graceMs, clock);
    }
    await this.stop();
  }

  async #consume(attempt: Attempt, opened: ChannelModel): Promise<Consuming> {
    const { connection, counts, queue, shard } = this.#settings;
    const channel = await opened.createChannel();
    const consuming: Consuming = {
      ...{ channel, attempt, consumerTag: "", buffer: [] },
      ...{ waiting: 0, hasStored: false, failingSinceMs: undefined, storing: undefined },
    };
    attempt.onEnd(() => {
      if (consuming.consumerTag !== "") counts.released += 1;
      this.#wake();
      return channel.close();
    });
    attempt.onEnd(() => consuming.storing);
    channel.on("error", (error) => attempt.end(error));
    // Without a reason where the connection is lost: that is another incident.
    const close = () => attempt.end(connection.session && new Error("the channel was closed"));
    channel.on("close", () => setImmediate(close));
    await declareQueue(channel, this.#settings, shard.index, queue);
    await channel.prefetch(this.#prefetch);
    const receive = (message: ConsumeMessage | null) => this.#receive(consuming, message);
    consuming.consumerTag = (await channel.consume(queue, receive)).consumerTag;
    return consuming;
  }

  #receive(consuming: Consuming, message: ConsumeMessage | null): void {
    const { attempt, buffer } = consuming;
    // The queue was deleted, or has lost its majority.
    if (message === null) attempt.end(new Error("the broker ended the consumer"));
    if (message === null || attempt.isEnded || this.#isStopping) return;
    const { counts } = this.#settings;
    counts.delivered += 1;
    if (message.fields.redelivered) counts.redelivered += 1;
    buffer.push(message);
    consuming.waiting += 1;
    if (consuming.storing) return;
    // What arrived in the same packet is one batch.
    consuming.storing = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#storeAll(consuming))
      .finally(() => {
        consuming.storing = undefined;
      });
  }

  async #storeAll(consuming: Consuming): Promise<void> {
    const { clock, log, queue } = this.#settings;
    const { attempt, buffer } = consuming;
    while (buffer.length > 0 && !attempt.isEnded && !this.#isStopping) {
      const startedMs = clock.monotonic();
      const batch = takeBatch(buffer);
      const failures = await Promise.all(batch.map((message) => this.#store(message)));
      const hasFailed = failures.some(Boolean);
      if (hasFailed) await this.#moveSuspects(batch, failures, startedMs);
      if (attempt.isEnded) return;
      acknowledge(consuming.channel, batch, failures);
      if (hasFailed) buffer.unshift(...batch.filter((_, index) => failures[index]));
      consuming.waiting = buffer.length;
      if (failures.includes(undefined)) {
        consuming.hasStored = true;
        consuming.failingSinceMs = undefined;
        this.#failingSinceMs = undefined;
        this.#failures = 0;
        this.#prefetch = this.#settings.prefetch;
      }
      if (failures.some(Boolean)) await this.#waitAfterFailure(consuming);
      else log.end(notStored, queue);
    }
  }

  /** Never rejects. */
  async #store(message: ConsumeMessage): Promise<Failure> {
    const { counts, clock, shard, shards } = this.#settings;
    const { receiver } = shard;
    try {
      const delivery = decodeDelivery(message);
      if (!delivery) return await this.#move(message, "it is not a delivery");
      const { webhook, source, traceparent } = delivery;
      if (!isOfSource(receiver, source))
        return await this.#move(message, `it has the source ${source}, and the receiver ${receiver.source}`);
      const task = taskIn(message, this.#exchange, webhook);
      const own = shardOf(task, shards);
      const reason = `it belongs to shard ${own} of ${shards}`;
      if (own !== shard.index) return await this.#move(message, reason, routeTo(this.#settings, task, own));
      const accepted = receiver.accept(webhook, { traceparent });
      const late = () => new Error(`the receiver did not store a delivery within ${acceptTimeoutMs} ms`);
      await withTimeout(accepted, acceptTimeoutMs, clock, late);
      counts.stored += 1;
      shard.storedAtMs = clock.monotonic();
      return undefined;
    } catch (error) {
      counts.failed += 1;
      return isOwnFault(error) ? await this.#move(message, reasonOf(error)) : { error };
    }
  }

  /** Moves what failed often enough, while the inbox stored others. */
  async #moveSuspects(
    batch: readonly ConsumeMessage[],
    failures: Failure[],
    startedMs: number,
  ): Promise<void> {
    const { log, queue, shard } = this.#settings;
    for (const [index, failure] of failures.entries()) {
      const message = batch[index];
      if (!failure?.error || !message) continue;
      const { error } = failure;
      log.add(notStored, queue, error);
      if (isReceiverError(error) && passing.has(error.code)) continue;
      const before = Number(message.properties.headers?.["x-delivery-count"] ?? 0);
      const attempts = this.#attempts.get(message) ?? { all: before, lonely: 0 };
      this.#attempts.set(message, attempts);
      attempts.all += 1;
      if (shard.storedAtMs >= startedMs) attempts.lonely += 1;
      if (attempts.all < attemptsMax || attempts.lonely < lonelyMax) continue;
      failures[index] = await this.#move(message, reasonOf(error));
    }
  }

  /** Moves a message to another shard by its route, else to the parking queue. */
  async #move(message: ConsumeMessage, reason: string, route?: Route): Promise<Failure> {
    const { counts, log, move, queue } = this.#settings;
    try {
      await move(message, reason, route ?? routeToParking(this.#settings));
      if (!route) counts.parked += 1;
      log.add(route ? forwarded : parked, queue, reason);
      log.end(notMoved, queue);
      return undefined;
    } catch (error) {
      counts.failed += 1;
      log.add(notMoved, queue, error);
      return unmoved;
    }
  }

  async #waitAfterFailure(consuming: Consuming): Promise<void> {
    const { clock, prefetch, random } = this.#settings;
    const { firstMs, maxMs } = parts.defaults.rabbitmq.backoff;
    const nowMs = clock.monotonic();
    this.#noteFailing();
    consuming.failingSinceMs ??= nowMs;
    if (nowMs - consuming.failingSinceMs >= releaseAfterMs) {
      const bytes = consuming.buffer.reduce((sum, { content }) => sum + content.byteLength, 0);
      if (!consuming.hasStored && bytes < grownBytesMax)
        this.#prefetch = Math.min(4 * this.#prefetch, 8 * prefetch);
      consuming.attempt.end();
      return;
    }
    const delayMs = Math.min(maxMs, firstMs * 2 ** this.#failures) * (0.5 + random() / 2);
    this.#failures += 1;
    await new Promise<void>((resolve) => {
      const cancel = clock.schedule(delayMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

function takeBatch(buffer: ConsumeMessage[]): readonly ConsumeMessage[] {
  let bytes = 0;
  const last = buffer.findIndex(({ content }, index) => {
    bytes += content.byteLength;
    return index > 0 && bytes > batchBytesMax;
  });
  return buffer.splice(0, last === -1 ? buffer.length : last);
}

function acknowledge(channel: Channel, batch: readonly ConsumeMessage[], failures: readonly Failure[]): void {
  const last = batch.at(-1);
  try {
    // A batch begins with the oldest message that is not acknowledged.
    if (last && !failures.some(Boolean)) channel.ack(last, true);
    else for (const [index, message] of batch.entries()) if (!failures[index]) channel.ack(message);
  } catch {
    // The channel was closed a moment ago: what is stored is delivered again, and the inbox knows it.
  }
}

/** The routing key is the task, where the exchange of the shard has routed the message and the key was not cut. */
const taskIn = ({ fields }: ConsumeMessage, exchange: string, { id, body }: VerifiedWebhook) =>
  fields.exchange === exchange && fields.routingKey.length < routingKeyMax
    ? fields.routingKey
    : taskOf(id, parts.readJson(body));

/** An intake and the receivers behind it have the same source; deliveries of tenants have `source/tenant`. */
const isOfSource = ({ source }: ShardReceiver, found: string) =>
  source === undefined || found === source || found.startsWith(`${source}/`);
