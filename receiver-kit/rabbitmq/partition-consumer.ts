// Reads one queue: takes what was delivered as a batch, stores it in the inbox of the shard, and then acknowledges it.
//
//   closed ── open ──► consuming ⇄ storing ── the inbox fails ──► holding ── backoff ──► storing
//                                                                 holding for `releaseAfterMs` ──► closed ── backoff ──► consuming
//
// While it holds, messages stay unacknowledged and are not requeued: the prefetch limits them, and none is redelivered in
// a loop. After that it closes its channel, so that the consumer of another process, whose connection to the inbox may
// work, becomes the active one. Messages are acknowledged in the order of the queue as far as all are stored.
//
// A message that fails while others of its batch are stored, again and again, is parked: published to a queue of its own,
// confirmed, and then acknowledged. So is one that is not a delivery. It blocks nothing, and is not lost. One in the format
// of a newer release stays in the queue, for a process that reads it.

import { settledWithin, withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { type AcceptResult, type DeliverySink, isReceiverError } from "@workspace-tasks/receiver-kit";
import { type ConsumeCounts, defaults } from "@workspace-tasks/receiver-kit/parts";
import type { AmqpChannel, AmqpConnection, AmqpMessage, AmqpPublishOptions } from "./amqp.ts";
import { decodeDelivery } from "./delivery-message.ts";
import type { RabbitmqSettings } from "./topology.ts";

/** What a shard needs to be: a receiver. */
export type ShardReceiver = Pick<DeliverySink, "accept" | "source">;

/** What became of a message: `stored` also stands for parked, and `deferred` for one that is not parked, however often it fails. */
type StoreResult = "stored" | "failed" | "deferred";
/** It is stored when the backlog has room, or by a process of a newer release. */
const deferring: ReadonlySet<string> = new Set(["BACKLOG_FULL", "RELEASE_TOO_OLD"]);

type Shared = "operationTimeoutMs" | "clock" | "random" | "logger";
export interface PartitionSettings extends Pick<RabbitmqSettings, Shared> {
  readonly queue: string;
  readonly receiver: ShardReceiver;
  readonly parkingQueue: string;
  readonly prefetch: number;
  readonly counts: ConsumeCounts;
}

/** More than a receiver's own limit, so that no batch waits without end, whatever the receiver is. */
const acceptTimeoutMs = 60_000;
const batchBytesMax = 8_000_000;
const releaseAfterMs = 30_000;
/** Batches in which a message failed and another was stored, after which it is parked. */
const lonelyFailuresMax = 8;

export class PartitionConsumer {
  readonly #settings: PartitionSettings;
  readonly #connection: AmqpConnection;
  #channel: AmqpChannel | undefined;
  #consumerTag = "";
  #buffer: AmqpMessage[] = [];
  #lonelyFailures = new WeakMap<AmqpMessage, number>();
  /** Parked messages that no queue takes; the broker confirms them all the same. */
  readonly #returned = new Set<string>();
  #isStoring = false;
  #isStopping = false;
  #isAbandoned = false;
  #failures = 0;
  #failingSinceMs: number | undefined;
  #reopenings = 0;
  #wake: (() => void) | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(settings: PartitionSettings, connection: AmqpConnection) {
    this.#settings = settings;
    this.#connection = connection;
  }

  get stats() {
    const { queue, clock } = this.#settings;
    const since = this.#failingSinceMs;
    return {
      queue,
      isConsuming: this.#channel !== undefined,
      waiting: this.#buffer.length,
      failingForMs: since === undefined ? null : clock.monotonic() - since,
    };
  }

  /** Resolves once it consumes, which may take several attempts: a queue may have no majority for a while. */
  async start(): Promise<void> {
    const { clock, operationTimeoutMs, logger, queue } = this.#settings;
    while (!this.#isAbandoned && !this.#isStopping) {
      try {
        const late = () =>
          new Error(`the broker did not respond within operationTimeoutMs (${operationTimeoutMs})`);
        await withTimeout(this.#open(), operationTimeoutMs, clock, late);
        return;
      } catch (error) {
        if (this.#isAbandoned || this.#isStopping) return;
        logger.warn({ err: error, queue }, "a queue cannot be consumed");
        // It may be consuming although its request failed.
        const channel = this.#channel;
        this.#channel = undefined;
        channel?.close().catch(() => {});
        this.#reopenings += 1;
        await this.#pause(this.#reopenings);
      }
    }
  }

  /** Opens a channel and consumes. */
  async #open(): Promise<void> {
    const { queue, prefetch } = this.#settings;
    const channel = await this.#connection.createConfirmChannel();
    channel.on("error", () => {});
    channel.on("close", () => this.#onClosed(channel));
    channel.on("return", ({ properties }) => this.#returned.add(String(properties.correlationId)));
    this.#returned.clear();
    this.#channel = channel;
    this.#buffer = [];
    await channel.prefetch(prefetch);
    const { consumerTag } = await channel.consume(queue, (message) => this.#onMessage(channel, message));
    this.#consumerTag = consumerTag;
  }

  /** The connection is lost: what was not acknowledged is delivered again, to the next active consumer. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#channel = undefined;
    this.#buffer = [];
    this.#wake?.();
  }

  /** Consumes nothing more and resolves once the batch in progress is acknowledged. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wake?.();
    const channel = this.#channel;
    if (channel) await Promise.allSettled([channel.cancel(this.#consumerTag)]);
    await this.#storing;
    // The client may send the end of the connection before what the channel has sent, but not that of the channel.
    if (channel && channel === this.#channel) await Promise.allSettled([channel.close()]);
  }

  #onMessage(channel: AmqpChannel, message: AmqpMessage | null): void {
    if (channel !== this.#channel || this.#isStopping) return;
    // The queue was deleted, or has lost its majority.
    if (message === null) return void this.#release(channel);
    const { counts } = this.#settings;
    counts.delivered += 1;
    if (message.fields.redelivered) counts.redelivered += 1;
    this.#buffer.push(message);
    if (this.#isStoring) return;
    this.#isStoring = true;
    // What arrived in the same packet is one batch.
    setImmediate(() => {
      this.#storing = this.#storeAll().finally(() => {
        this.#isStoring = false;
      });
    });
  }

  async #storeAll(): Promise<void> {
    const channel = this.#channel;
    while (channel && channel === this.#channel && this.#buffer.length > 0 && !this.#isStopping) {
      const batch = this.#takeBatch();
      const results = await Promise.all(batch.map((message) => this.#store(channel, message)));
      if (channel !== this.#channel) return;
      const failed = batch.filter((_, index) => results[index] !== "stored");
      this.#acknowledge(channel, batch, results);
      this.#buffer.unshift(...failed);
      const suspects = batch.filter((_, index) => results[index] === "failed");
      this.#note(failed.length < batch.length, failed, suspects);
      if (failed.length === 0) continue;
      if (this.#hasFailedTooLong) return void this.#release(channel);
      await this.#pause(this.#failures);
    }
  }

  #takeBatch(): readonly AmqpMessage[] {
    let bytes = 0;
    const end = this.#buffer.findIndex(({ content }, index) => {
      bytes += content.byteLength;
      return index > 0 && bytes > batchBytesMax;
    });
    return this.#buffer.splice(0, end === -1 ? this.#buffer.length : end);
  }

  /** Never rejects. */
  async #store(channel: AmqpChannel, message: AmqpMessage): Promise<StoreResult> {
    const { receiver, queue, counts, clock, logger } = this.#settings;
    const tries = this.#lonelyFailures.get(message) ?? 0;
    try {
      const delivery = decodeDelivery(message);
      if (!delivery) return this.#park(channel, message, "it is not a delivery");
      const { webhook, source, traceparent } = delivery;
      throwIfOtherSource(receiver, source);
      const late = () => new Error(`the receiver did not store a delivery within ${acceptTimeoutMs} ms`);
      const accepted: Promise<AcceptResult> = receiver.accept(webhook, { traceparent });
      await withTimeout(accepted, acceptTimeoutMs, clock, late);
      counts.stored += 1;
      return "stored";
    } catch (error) {
      counts.failed += 1;
      if (isReceiverError(error, "WORKSPACE_MISMATCH")) return this.#park(channel, message, error.message);
      if (tries >= lonelyFailuresMax) return this.#park(channel, message, String(error));
      if (this.#failingSinceMs === undefined)
        logger.warn({ err: error, queue }, "a queued delivery cannot be stored; it stays in the queue");
      this.#failingSinceMs ??= clock.monotonic();
      return isReceiverError(error) && deferring.has(error.code) ? "deferred" : "failed";
    }
  }

  #note(hasStored: boolean, failed: readonly AmqpMessage[], suspects: readonly AmqpMessage[]): void {
    const { clock } = this.#settings;
    if (hasStored) {
      this.#failures = 0;
      this.#reopenings = 0;
      this.#failingSinceMs = failed.length > 0 ? clock.monotonic() : undefined;
      for (const message of suspects)
        this.#lonelyFailures.set(message, (this.#lonelyFailures.get(message) ?? 0) + 1);
    } else {
      this.#failures += 1;
      for (const message of failed) this.#lonelyFailures.delete(message);
    }
  }

  get #hasFailedTooLong(): boolean {
    const since = this.#failingSinceMs;
    return since !== undefined && this.#settings.clock.monotonic() - since >= releaseAfterMs;
  }

  #acknowledge(channel: AmqpChannel, batch: readonly AmqpMessage[], stored: readonly StoreResult[]): void {
    try {
      const last = batch.at(-1);
      // A batch begins with the oldest message that is not acknowledged.
      if (last && stored.every((result) => result === "stored")) channel.ack(last, true);
      else
        for (const [index, message] of batch.entries())
          if (stored[index] === "stored") channel.ack(message, false);
    } catch {
      // The channel was closed a moment ago: what is stored is delivered again, and the inbox knows it.
    }
  }

  async #park(channel: AmqpChannel, message: AmqpMessage, reason: string): Promise<StoreResult> {
    const { queue, parkingQueue, counts, clock, operationTimeoutMs, logger } = this.#settings;
    const { messageId, appId, type, timestamp, headers } = message.properties;
    const correlationId = String(message.fields.deliveryTag);
    const options: AmqpPublishOptions = {
      ...{ persistent: true, mandatory: true, contentType: "application/json" },
      ...{ messageId: String(messageId ?? ""), correlationId },
      ...{ appId: String(appId ?? ""), type: String(type ?? ""), timestamp: Number(timestamp ?? 0) },
      headers: {
        ...(headers as Record<string, string>),
        "parked-from": queue,
        "parked-because": reason.slice(0, 300),
      },
    };
    const confirmed = new Promise<void>((resolve, reject) => {
      channel.publish("", parkingQueue, message.content, options, (error) =>
        error ? reject(error) : resolve(),
      );
    });
    try {
      const late = () =>
        new Error(`no confirm was received within operationTimeoutMs (${operationTimeoutMs})`);
      await withTimeout(confirmed, operationTimeoutMs, clock, late);
      if (this.#returned.delete(correlationId)) throw new Error(`there is no queue ${parkingQueue}`);
      counts.parked += 1;
      logger.error(
        { queue, parkingQueue, id: messageId, reason },
        "a queued delivery cannot be stored and was parked",
      );
      return "stored";
    } catch (error) {
      logger.error(
        { err: error, queue, id: messageId },
        "a queued delivery can be neither stored nor parked",
      );
      this.#failingSinceMs ??= clock.monotonic();
      return "failed";
    }
  }

  #onClosed(channel: AmqpChannel): void {
    if (channel === this.#channel) this.#release(channel);
  }

  /** Leaves the queue to other consumers and returns to it later. */
  #release(channel: AmqpChannel): void {
    const { counts, clock, operationTimeoutMs } = this.#settings;
    if (this.#isAbandoned || this.#isStopping) return;
    counts.released += 1;
    this.#channel = undefined;
    this.#buffer = [];
    this.#failures = 0;
    this.#failingSinceMs = undefined;
    const closed = settledWithin(
      channel.close().catch(() => {}),
      operationTimeoutMs,
      clock,
    );
    const reopen = async () => {
      await closed;
      await this.#storing;
      this.#reopenings += 1;
      await this.#pause(this.#reopenings);
      await this.start();
    };
    this.#wake?.();
    void reopen();
  }

  /** Waits longer with each failure. */
  #pause(failures: number): Promise<void> {
    const { clock, random } = this.#settings;
    const { firstMs, maxMs } = defaults.rabbitmq.backoff;
    const delayMs = Math.min(maxMs, firstMs * 2 ** Math.min(20, failures)) * (0.5 + random() / 2);
    return new Promise((resolve) => {
      const cancel = clock.schedule(delayMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
      if (this.#isAbandoned || this.#isStopping) this.#wake();
    });
  }
}

/** An intake and the receivers behind it have the same source; deliveries of tenants have `source/tenant`. */
function throwIfOtherSource({ source }: ShardReceiver, found: string): void {
  if (source === undefined || found === source || found.startsWith(`${source}/`)) return;
  throw new Error(`the delivery has the source ${found}, and the receiver ${source}`);
}
