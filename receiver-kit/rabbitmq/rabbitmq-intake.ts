import { asyncDispose } from "@workspace-tasks/kernel/realm.ts";
import { objectWith, optional, strictOptions } from "@workspace-tasks/kernel/schema.ts";
import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import * as kit from "@workspace-tasks/receiver-kit";
import * as parts from "@workspace-tasks/receiver-kit/parts";
import { type AmqpConnect, connectAmqplib } from "./amqp-client.ts";
import { encodeDelivery, taskOf } from "./delivery-message.ts";
import { IncidentLog } from "./incident-log.ts";
import { Publisher } from "./publisher.ts";
import * as common from "./rabbitmq-options.ts";
import { shardOf } from "./shard.ts";
import * as topology from "./topology.ts";

export interface RabbitmqIntakeOptions extends common.RabbitmqOptions, kit.VerifierOptions {
  /** The source of the receivers behind the queues. Default `default`. */
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
  ...common.rabbitmqOptions,
  telemetry: optional(objectWith<kit.ReceiverTelemetry>("openTelemetry(api)", "observe", "accept", "handle")),
});

const failing = "deliveries cannot be published; the response is 503 and they will be sent again";

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
   * Waits up to `graceMs` (default 1,000) for the confirms of what was sent, and disconnects. The response to later
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
 * const secrets = [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""];
 * const urls = (process.env["RABBITMQ_URLS"] ?? "amqp://guest:guest@localhost").split(",");
 * const broker = { urls, shards: 2, replicas: urls.length };
 * const intake = rabbitmqIntake({ ...broker, secrets });
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
  common.requireReceiverKitVersion();
  const settings = parts.parseOptions("rabbitmqIntake", intakeOptions, options);
  const { source, limits, clock, shards, telemetry, toleranceSeconds } = settings;
  const verifier = kit.createVerifier({ secrets: options.secrets, toleranceSeconds, clock });
  const { counts: rejections, onRejected, onError } = parts.createRejectionLog(settings);
  const inFlight = new parts.InFlight();
  const publisher = new Publisher({
    ...settings,
    connect,
    log: new IncidentLog(settings),
    failing,
    place: source,
    declareFor: (channel) => topology.declareTopology(channel, settings),
  });
  let closing: Promise<void> | undefined;
  let stopObserving = () => {};

  const store = async (
    webhook: kit.VerifiedWebhook,
    json: unknown,
    deliverySource: string,
    { traceparent }: kit.AcceptContext,
  ): Promise<kit.AcceptResult> => {
    const task = taskOf(webhook.id, json);
    const { exchange, key } = topology.routeTo(settings, task, shardOf(task, shards));
    const options = encodeDelivery({ webhook, source: deliverySource, traceparent });
    await publisher.publish({ exchange, key, body: webhook.body, options });
    return { outcome: "accepted" };
  };

  const intake: RabbitmqIntake = {
    verifier,
    limits,
    clock,
    source,
    telemetry,
    onRejected,
    onError,
    isClosing: () => closing !== undefined,
    async accept(webhook, context = {}) {
      if (closing) throw new kit.ReceiverError("BROKER_UNAVAILABLE", "the intake is closing");
      const json = parts.readJson(webhook.body);
      parts.throwIfOtherWorkspace(webhook, parts.namedWorkspace(json));
      const deliverySource = parts.tenantSource(source, webhook.tenant?.id);
      return inFlight.track(store(webhook, json, deliverySource, context));
    },
    async start() {
      common.requireNotClosed("intake", closing);
      stopObserving();
      stopObserving = parts.observe(telemetry, async () => intake.stats());
      await publisher.start();
    },
    fetch: (request) => parts.handleFetch(intake, request),
    stats: () => ({
      source,
      connection: publisher.stats,
      failingForMs: publisher.failingForMs,
      published: { ...publisher.counts },
      rejections: { ...rejections },
      inFlight: { ...publisher.inFlight },
    }),
    close(closeOptions = {}) {
      const { graceMs } = parts.parseOptions("close", common.closeSchema, closeOptions, "ARGUMENT_INVALID");
      stopObserving();
      closing ??= settledWithin(inFlight.ended(), graceMs, clock).then(() => publisher.stop());
      return closing;
    },
    [asyncDispose]: () => intake.close(),
  };
  return intake;
}
