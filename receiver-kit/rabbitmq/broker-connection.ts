import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import type { BrokerConnectionStats } from "@workspace-tasks/receiver-kit/parts";
import type { ChannelModel } from "amqplib";
import { type AmqpConnect, destroy } from "./amqp-client.ts";
import { type Attempt, closeMs, KeptOpen, type KeptSettings } from "./kept-open.ts";
import type { RabbitmqSettings } from "./rabbitmq-options.ts";

export interface ConnectionSettings
  extends KeptSettings,
    Pick<RabbitmqSettings, "urls" | "socketOptions" | "heartbeatSeconds"> {
  readonly connect: AmqpConnect;
}

const blocking = "RabbitMQ is short of memory or disk and reads nothing; free some on its nodes";

/** A connection to a cluster, replaced by one to the next node whenever it is lost, and what `setUp` makes of each. */
export class BrokerConnection<Session> extends KeptOpen<Session> {
  readonly #settings: ConnectionSettings;
  #url: URL;
  #blockedSinceMs: number | undefined;

  /** @param place what it is for */
  constructor(
    settings: ConnectionSettings,
    place: string,
    setUp: (connection: ChannelModel, attempt: Attempt) => Promise<Session>,
  ) {
    const { urls, random } = settings;
    // Receivers spread over the nodes.
    let next = Math.floor(random() * urls.length);
    super(settings, {
      incident: "RabbitMQ is unavailable, it is tried again",
      place,
      attempts: urls.length,
      name: () => this.#url.host,
      open: async (attempt) => {
        this.#url = new URL(urls[next++ % urls.length] as string);
        return setUp(await this.#connect(attempt, place), attempt);
      },
    });
    this.#settings = settings;
    this.#url = new URL(urls[0] as string);
  }

  get stats(): BrokerConnectionStats {
    const nowMs = this.#settings.clock.monotonic();
    return {
      // Without the password.
      node: this.session ? this.#url.host : null,
      lost: this.lost,
      unavailableForMs: this.session ? null : nowMs - this.closedSinceMs,
      blockedForMs: this.#blockedSinceMs === undefined ? null : nowMs - this.#blockedSinceMs,
    };
  }

  get isBlocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  async #connect(attempt: Attempt, place: string): Promise<ChannelModel> {
    const { clock, connect, heartbeatSeconds, log, operationTimeoutMs, socketOptions } = this.#settings;
    const url = new URL(this.#url);
    url.searchParams.set("heartbeat", String(heartbeatSeconds));
    const options = { noDelay: true, keepAlive: true, ...socketOptions, timeout: operationTimeoutMs };
    const connection = await connect(url.href, options);
    const unblock = () => {
      this.#blockedSinceMs = undefined;
      log.end(blocking, place);
    };
    attempt.onEnd(async () => {
      unblock();
      await settledWithin(connection.close(), closeMs, clock);
      destroy(connection);
    });
    connection.on("error", (error) => attempt.end(error));
    connection.on("close", (error) => attempt.end(error ?? new Error("the connection was closed")));
    connection.on("blocked", () => {
      this.#blockedSinceMs ??= clock.monotonic();
      log.add(blocking, place, url.host);
    });
    connection.on("unblocked", unblock);
    return connection;
  }
}
