// Publishes with confirms, on a connection of its own. A message in flight was sent and neither confirmed nor rejected: their
// number and their bytes have a limit, and each counts until the broker or the end of its channel settles it, also after its
// caller has stopped waiting.
//
//   sent ─► confirmed ─► resolved         sent ─► returned (no queue takes it) ─► confirmed ─► rejected
//   sent ─► nack | channel closed ─► rejected         sent ─► time limit ─► rejected; in flight until it is settled
//
// Where not one confirm has been received since a message was sent, its time limit is also the end of the connection. What
// the broker contradicts, because an exchange or a queue is gone, is declared again by the next one.

import { isError } from "@workspace-tasks/kernel/realm.ts";
import { ReceiverError } from "@workspace-tasks/receiver-kit";
import type { PublishCounts } from "@workspace-tasks/receiver-kit/parts";
import type { ChannelModel, ConfirmChannel, Options } from "amqplib";
import type { Attempt } from "./kept-open.ts";
import { BrokerConnection, type ConnectionSettings } from "./kept-open.ts";
import type { Route, Topology } from "./topology.ts";

export interface OutgoingMessage extends Route {
  readonly body: Uint8Array;
  /** Its own: the correlation id is added. */
  readonly options: Options.Publish;
}

interface PublisherSettings extends ConnectionSettings, Pick<Topology, "declare"> {
  readonly place: string;
  /** What is logged while messages cannot be published. */
  readonly failing: string;
  declareFor(channel: ConfirmChannel): Promise<void>;
}

/** How long a confirm may take. */
const confirmTimeoutMs = 5_000;
/** How long after the loss of a connection messages wait for the next one. */
const reconnectWaitMs = 2_000;
const inFlightMax = 1_024;
const inFlightBytesMax = 67_108_864;

export class Publisher extends BrokerConnection<ConfirmChannel, PublisherSettings> {
  protected readonly place = this.settings.place;
  readonly counts: PublishCounts = {
    confirmed: 0,
    returned: 0,
    nacked: 0,
    timedOut: 0,
    interrupted: 0,
    unsent: 0,
  };
  readonly inFlight = { messages: 0, bytes: 0 };
  readonly #returned = new Set<string>();
  /** Settles a message in flight, by its correlation id. */
  readonly #settle = new Map<string, (error: unknown) => void>();
  #sequence = 0;
  #confirmedAtMs = Number.NEGATIVE_INFINITY;
  #failingSinceMs: number | undefined;
  /** Once: a queue without a majority, which may not respond, then delays no connection. */
  #isDeclared = false;

  protected async setUp(connection: ChannelModel, attempt: Attempt): Promise<ConfirmChannel> {
    const channel = await connection.createConfirmChannel();
    attempt.onEnd(() => {
      // A client may forget to settle what it sent.
      for (const settle of [...this.#settle.values()]) settle(new Error("the channel was closed"));
      this.#returned.clear();
    });
    channel.on("return", ({ properties }) => this.#returned.add(String(properties.correlationId)));
    // Before that the error also rejects the request that caused it, and only that names the queue.
    const endOnceReady = (error: Error) => this.session && attempt.end(error);
    channel.on("error", (error) => {
      this.#isDeclared = false;
      endOnceReady(error);
    });
    // The error of a connection follows the end of its channels.
    channel.on("close", () => setImmediate(endOnceReady, new Error("the channel was closed")));
    connection.on("unblocked", () => this.#noteWorking());
    if (!this.#isDeclared) await this.settings.declareFor(channel);
    this.#isDeclared = true;
    this.#noteWorking();
    return channel;
  }

  /** How long nothing could be published; ended by a confirm, and by a connection that is open again. */
  get failingForMs(): number | null {
    const sinceMs = this.#failingSinceMs;
    return sinceMs === undefined ? null : this.settings.clock.monotonic() - sinceMs;
  }

  /**
   * Resolves once the message is confirmed.
   *
   * @throws {ReceiverError} `BROKER_UNAVAILABLE`: it may have been stored all the same
   */
  async publish(message: OutgoingMessage): Promise<void> {
    const { inFlight } = this;
    const bytes = message.body.byteLength;
    if (
      inFlight.messages >= inFlightMax ||
      (inFlight.messages > 0 && inFlight.bytes + bytes > inFlightBytesMax)
    )
      throw this.#failed("unsent", "too many deliveries wait for their confirms");
    // Counted before the wait, so that the limit also holds for those that wait for a connection.
    this.#count(1, bytes);
    const channel = this.session ?? (await this.soon(reconnectWaitMs));
    if (channel && !this.isBlocked)
      return new Promise((resolve, reject) => this.#send(channel, message, resolve, reject));
    this.#count(-1, -bytes);
    const reason = channel ? "the broker is short of resources" : "there is no connection";
    throw this.#failed("unsent", reason, this.error);
  }

  #count(messages: number, bytes: number): void {
    this.inFlight.messages += messages;
    this.inFlight.bytes += bytes;
  }

  #failed(count: keyof PublishCounts, reason: string, cause?: unknown): ReceiverError {
    const { clock, failing, log, place } = this.settings;
    this.counts[count] += 1;
    this.#failingSinceMs ??= clock.monotonic();
    const error = new ReceiverError("BROKER_UNAVAILABLE", `rabbitmq: ${reason}`, { cause });
    log.add(failing, place, error);
    return error;
  }

  #noteWorking(): void {
    const { failing, log, place } = this.settings;
    if (this.#failingSinceMs !== undefined) log.end(failing, place);
    this.#failingSinceMs = undefined;
  }

  #send(
    channel: ConfirmChannel,
    { exchange, key, body, options }: OutgoingMessage,
    resolve: () => void,
    reject: (error: unknown) => void,
  ): void {
    const { clock, declare } = this.settings;
    this.#sequence += 1;
    const correlationId = this.#sequence.toString(36);
    const sentAtMs = clock.monotonic();
    let isWaiting = true;
    const fail = (count: keyof PublishCounts, reason: string, cause?: unknown) => {
      if (isWaiting) reject(this.#failed(count, reason, cause));
      isWaiting = false;
    };
    const cancel = clock.schedule(confirmTimeoutMs, () => {
      const late = `no confirm was received within ${confirmTimeoutMs} ms`;
      fail("timedOut", late);
      if (this.#confirmedAtMs < sentAtMs && !this.isBlocked) this.fail(new Error(late));
    });
    const settle = (error: unknown) => {
      if (!this.#settle.delete(correlationId)) return;
      cancel();
      this.#count(-1, -body.byteLength);
      const wasReturned = this.#returned.delete(correlationId);
      if (isError(error) && /nack/i.test(error.message))
        return fail("nacked", "the queue rejected the delivery", error);
      if (error) return fail("interrupted", "the connection was lost", error);
      this.#confirmedAtMs = clock.monotonic();
      if (wasReturned) {
        fail("returned", "no queue takes the delivery");
        this.#isDeclared = false;
        if (declare) this.fail(new Error("no queue takes a delivery; queues are declared again"));
      } else if (isWaiting) {
        this.counts.confirmed += 1;
        this.#noteWorking();
        resolve();
      }
    };
    this.#settle.set(correlationId, settle);
    try {
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      options.correlationId = correlationId;
      channel.publish(exchange, key, bytes, options, settle);
    } catch (error) {
      // The channel was closed a moment ago.
      settle(error);
    }
  }
}
