// Publishes with confirms. A message in flight is one that was sent and neither confirmed nor rejected: their number and
// their bytes have a limit, and a message counts until the broker or the end of its channel settles it, also after its
// caller has stopped waiting.
//
//   sent ─► confirmed ─► resolved         sent ─► returned (no queue takes it) ─► confirmed ─► rejected
//   sent ─► nack | channel closed ─► rejected         sent ─► time limit ─► rejected; in flight until it is settled
//
// Where not one confirm has been received since a message was sent, its time limit is also the end of the connection.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { ReceiverError } from "@workspace-tasks/receiver-kit";
import type { PublishCounts } from "@workspace-tasks/receiver-kit/parts";
import type { AmqpChannel, AmqpPublishOptions } from "./amqp.ts";
import type { BrokerConnection } from "./broker-connection.ts";

export interface OutgoingMessage {
  readonly exchange: string;
  readonly key: string;
  readonly body: Uint8Array;
  optionsFor(correlationId: string): AmqpPublishOptions;
}

/** How long a confirm may take. */
const confirmTimeoutMs = 5_000;
/** How long a message waits for a connection that was just lost. */
const reconnectWaitMs = 2_000;
const inFlightMax = 1_024;
const inFlightBytesMax = 67_108_864;

export class Publisher {
  readonly counts: PublishCounts = {
    ...{ confirmed: 0, returned: 0, nacked: 0, timedOut: 0, interrupted: 0, unsent: 0 },
  };
  readonly #clock: Clock;
  readonly #connection: BrokerConnection<AmqpChannel>;
  readonly #returned = new Set<string>();
  /** Settles a message in flight, by its correlation id. */
  readonly #settle = new Map<string, (error: unknown) => void>();
  #inFlight = 0;
  #inFlightBytes = 0;
  #sequence = 0;
  #confirmedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, connection: BrokerConnection<AmqpChannel>) {
    this.#clock = clock;
    this.#connection = connection;
  }

  /** Call for each new channel. */
  attach(channel: AmqpChannel): void {
    channel.on("return", ({ properties }) => this.#returned.add(String(properties.correlationId)));
  }

  /** Call when the channel is lost: a client may forget to settle what it sent. */
  detach(error: Error): void {
    for (const settle of [...this.#settle.values()]) settle(error);
    this.#returned.clear();
  }

  get inFlight(): { readonly messages: number; readonly bytes: number } {
    return { messages: this.#inFlight, bytes: this.#inFlightBytes };
  }

  /**
   * Resolves once the message is confirmed.
   *
   * @throws {ReceiverError} `BROKER_UNAVAILABLE`: it may have been stored all the same
   */
  async publish(message: OutgoingMessage): Promise<void> {
    this.#throwIfFull(message);
    // Taken before the wait, so that the limit also holds for those that wait for a connection.
    const release = this.#take(message.body.byteLength);
    let channel: AmqpChannel;
    try {
      channel = await this.#connection.session(reconnectWaitMs);
      if (this.#connection.isBlocked) throw unavailable("the broker is short of resources");
    } catch (error) {
      release();
      this.counts.unsent += 1;
      throw error;
    }
    await this.#send(channel, message, release);
  }

  #throwIfFull({ body }: OutgoingMessage): void {
    const isFull =
      this.#inFlight >= inFlightMax ||
      (this.#inFlight > 0 && this.#inFlightBytes + body.byteLength > inFlightBytesMax);
    if (!isFull) return;
    this.counts.unsent += 1;
    throw unavailable("too many deliveries wait for their confirms");
  }

  #take(bytes: number): () => void {
    this.#inFlight += 1;
    this.#inFlightBytes += bytes;
    return () => {
      this.#inFlight -= 1;
      this.#inFlightBytes -= bytes;
    };
  }

  #send(channel: AmqpChannel, message: OutgoingMessage, release: () => void): Promise<void> {
    const clock = this.#clock;
    this.#sequence += 1;
    const correlationId = this.#sequence.toString(36);
    const { exchange, key, body } = message;
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const sentAtMs = clock.monotonic();
    return new Promise((resolve, reject) => {
      let isWaiting = true;
      const fail = (count: keyof PublishCounts, reason: string, cause?: unknown) => {
        if (!isWaiting) return;
        isWaiting = false;
        this.counts[count] += 1;
        reject(unavailable(reason, cause));
      };
      const cancel = clock.schedule(confirmTimeoutMs, () => {
        const late = `no confirm was received within ${confirmTimeoutMs} ms`;
        fail("timedOut", late);
        if (this.#confirmedAtMs < sentAtMs && !this.#connection.isBlocked)
          this.#connection.fail(new Error(late));
      });
      const onConfirm = (error: unknown) => {
        if (!this.#settle.delete(correlationId)) return;
        cancel();
        release();
        const wasReturned = this.#returned.delete(correlationId);
        if (error) {
          const isNack = error instanceof Error && /nack/i.test(error.message);
          fail(
            isNack ? "nacked" : "interrupted",
            isNack ? "the queue rejected the delivery" : "the connection was lost",
            error,
          );
          return;
        }
        this.#confirmedAtMs = clock.monotonic();
        if (wasReturned) return fail("returned", "no queue takes the delivery");
        if (!isWaiting) return;
        isWaiting = false;
        this.counts.confirmed += 1;
        resolve();
      };
      this.#settle.set(correlationId, onConfirm);
      try {
        channel.publish(exchange, key, bytes, message.optionsFor(correlationId), onConfirm);
      } catch (error) {
        // The channel was closed a moment ago.
        onConfirm(error);
      }
    });
  }
}

const unavailable = (reason: string, cause?: unknown) =>
  new ReceiverError("BROKER_UNAVAILABLE", `rabbitmq: ${reason}`, { cause });
