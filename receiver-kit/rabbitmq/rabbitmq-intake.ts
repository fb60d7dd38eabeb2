import { asyncDispose } from "@workspace-tasks/kernel/realm.ts";
import { objectWith, optional, strictOptions } from "@workspace-tasks/kernel/schema.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import * as kit from "@workspace-tasks/receiver-kit";
import * as parts from "@workspace-tasks/receiver-kit/parts";
import type { AmqpChannel, AmqpConnect } from "./amqp.ts";
import { BrokerConnection } from "./broker-connection.ts";
import { connectAmqplib } from "./connect-amqplib.ts";
import { encodeDelivery, routingKeyOf } from "./delivery-message.ts";
import { Publisher } from "./publisher.ts";
import { type RabbitmqOptions, rabbitmqOptions } from "./rabbitmq-options.ts";
import { requireReceiverKitVersion } from "./require-receiver-kit-version.ts";
import { shardOf } from "./shard.ts";
import { declareTopology, exchangeName } from "./topology.ts";

export interface RabbitmqIntakeOptions extends RabbitmqOptions, kit.VerifierOptions {
  /** As of the receivers behind the queues. Default `default`. */
  readonly source?: string | undefined;
  /** Limits of one request. */
  readonly limits?: kit.RequestLimitOptions | undefined;
  /** Called for every rejected request. The log shows only the first per code. */
  readonly onRejected?: ((rejection: kit.WebhookRejectedError) => void) | undefined;
  /** Traces and metrics: `openTelemetry(api)` of `@workspace-tasks/receiver-kit/telemetry`. */
  readonly telemetry?: kit.ReceiverTelemetry | undefined;
}

const intakeOptions = strictOptions<RabbitmqIntakeOptions>()({
  ...parts.sharedOptions,
  ...rabbitmqOptions,
  telemetry: optional(objectWith<kit.ReceiverTelemetry>("openTelemetry(api)", "observe", "accept", "handle")),
});

export interface RabbitmqIntake extends kit.DeliverySink, AsyncDisposable {
  /**
   * Connects and declares exchanges and queues, so that the first delivery does not wait. When no node can be reached it
   * resolves all the same: it is tried again, and the response is 503 meanwhile.
   *
   * @throws {ReceiverError} `BROKER_SETUP_INVALID`
   */
  start(): Promise<void>;
  /** Responds to a fetch `Request`; for frameworks other than Express. */
  fetch(request: Request): Promise<Response>;
  stats(): parts.RabbitmqIntakeStats;
  /**
   * Waits up to `graceMs` (default 10,000) for the confirms of what was sent, and disconnects. The response to later
   * deliveries is 503. Close the HTTP server first.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/**
 * The HTTP side of receivers whose inboxes are behind RabbitMQ: a delivery is acknowledged once the broker confirms that
 * it is on the disks of a majority of its queue's members. A `rabbitmqConsumer` brings it to its inbox.
 *
 * @example examples/receiver-rabbitmq.ts#intake
 * ```ts
 * const intake = rabbitmqIntake({ urls, shards: 2, secrets });
 * await intake.start();
 *
 * const app = express();
 * app.post("/webhooks", webhookMiddleware(intake));
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` or `SECRET_INVALID` for options that can never work, `VERSION_MISMATCH`
 * @see interface §6
 */
export function rabbitmqIntake(options: RabbitmqIntakeOptions): RabbitmqIntake {
  return createIntake(options, connectAmqplib);
}

/** An intake with another AMQP client. */
export function createIntake(options: RabbitmqIntakeOptions, connect: AmqpConnect): RabbitmqIntake {
  requireReceiverKitVersion();
  const settings = parts.parseOptions("rabbitmqIntake", intakeOptions, options);
  const { source, limits, clock, shards, telemetry, toleranceSeconds } = settings;
  const verifier = kit.createVerifier({ secrets: options.secrets, toleranceSeconds, clock });
  const { counts: rejections, onRejected, onError } = parts.createRejectionLog(settings);
  const inFlight = new parts.InFlight();
  const outage = new parts.OutageLog(settings, {
    begins: "deliveries cannot be published; the response is 503 and they will be sent again",
    ends: "deliveries are published again",
  });
  let closing: Promise<void> | undefined;
  // Once: a queue without a majority, which may not respond, then delays no connection.
  let isDeclared = false;
  let stopObserving = () => {};

  const connection = new BrokerConnection<AmqpChannel>(
    { ...settings, connect },
    {
      async setUp(opened) {
        const channel = await opened.createConfirmChannel();
        // The error also rejects the request that caused it, and only that names the queue.
        channel.on("error", () => {});
        if (!isDeclared) {
          await declareTopology(channel, settings);
          isDeclared = true;
        }
        channel.on("return", () => {
          isDeclared = false;
          connection.fail(new Error("no queue takes a delivery; the queues are declared again"));
        });
        channel.on("error", (error) => connection.fail(error));
        channel.on("close", () => connection.fail(new Error("the channel was closed")));
        publisher.attach(channel);
        return channel;
      },
      onLost: (_channel, error) => publisher.detach(error),
    },
  );
  const publisher = new Publisher(clock, connection);

  const store = async (
    webhook: kit.VerifiedWebhook,
    json: unknown,
    deliverySource: string,
    context: kit.AcceptContext,
  ): Promise<kit.AcceptResult> => {
    const key = routingKeyOf(webhook.id, json);
    const shard = shardOf(key, shards);
    const delivery = {
      ...{ webhook, source: deliverySource, traceparent: context.traceparent },
      receivedAtMs: clock.now(),
    };
    try {
      await publisher.publish({
        exchange: exchangeName(settings, shard),
        // A routing key has at most 255 bytes.
        key: key.slice(0, 80),
        body: webhook.body,
        optionsFor: (correlationId) => encodeDelivery(delivery, correlationId),
      });
      outage.end();
      return { outcome: "accepted" };
    } catch (error) {
      outage.add(error);
      throw error;
    }
  };

  const close = async (graceMs: number) => {
    await settledWithin(inFlight.ended(), graceMs, clock);
    await connection.close(settings.operationTimeoutMs);
  };

  const intake: RabbitmqIntake = {
    ...{ verifier, limits, clock, source, telemetry, onRejected, onError },
    async accept(webhook, context = {}) {
      if (closing) throw new kit.ReceiverError("BROKER_UNAVAILABLE", "the intake is closing");
      const json = parts.readJson(webhook.body);
      parts.throwIfOtherWorkspace(webhook, parts.namedWorkspace(json));
      const deliverySource = parts.tenantSource(source, webhook.tenant?.id);
      return inFlight.track(store(webhook, json, deliverySource, context));
    },
    start() {
      stopObserving();
      stopObserving = parts.observe(telemetry, async () => intake.stats());
      return connection.start();
    },
    fetch: (request) => parts.handleFetch(intake, request),
    stats: () => ({
      source,
      connection: connection.stats,
      failingForMs: outage.failingForMs,
      published: { ...publisher.counts },
      rejections: { ...rejections },
      inFlight: publisher.inFlight,
    }),
    close(closeOptions = {}) {
      const { graceMs } = parts.parseOptions("close", parts.closeSchema, closeOptions, "ARGUMENT_INVALID");
      stopObserving();
      closing ??= close(graceMs);
      return closing;
    },
    [asyncDispose]: () => intake.close(),
  };
  return intake;
}
