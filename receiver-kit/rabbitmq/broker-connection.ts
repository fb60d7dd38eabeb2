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
export class BrokerConnection<Session> extends KeptOpen<Session, URL> {
  readonly #settings: ConnectionSettings;
  readonly #place: string;
  readonly #setUp: (connection: ChannelModel, attempt: Attempt) => Promise<Session>;
  #url: URL;
  #blockedSinceMs: number | undefined;

  constructor(
    settings: ConnectionSettings,
    /** What it is for. */
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
      need: async () => {
        this.#url = new URL(urls[next % urls.length] as string);
        next += 1;
        return this.#url;
      },
      open: (attempt, url) => this.#open(attempt, url),
    });
    this.#settings = settings;
    this.#place = place;
    this.#setUp = setUp;
    this.#url = new URL(urls[0] as string);
  }

  get stats(): BrokerConnectionStats {
    const sinceNow = (sinceMs: number) => this.#settings.clock.monotonic() - sinceMs;
    return {
      state: this.state,
      // Without the password.
      node: this.session ? this.#url.host : null,
      lost: this.lost,
      unavailableForMs: this.session ? null : sinceNow(this.closedSinceMs),
      blockedForMs: this.#blockedSinceMs === undefined ? null : sinceNow(this.#blockedSinceMs),
    };
  }

  get isBlocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  async #open(attempt: Attempt, url: URL): Promise<Session> {
    const { clock, connect, heartbeatSeconds, log, operationTimeoutMs, socketOptions } = this.#settings;
    url.searchParams.set("heartbeat", String(heartbeatSeconds));
    const options = { noDelay: true, keepAlive: true, ...socketOptions, timeout: operationTimeoutMs };
    const connection = await connect(url.href, options);
    attempt.onEnd(async () => {
      this.#unblock();
      await settledWithin(connection.close(), closeMs, clock);
      destroy(connection);
    });
    connection.on("error", (error) => attempt.end(error));
    connection.on("close", (error) => attempt.end(error ?? new Error("the connection was closed")));
    connection.on("blocked", () => {
      this.#blockedSinceMs ??= clock.monotonic();
      log.add(blocking, this.#place, url.host);
    });
    connection.on("unblocked", () => this.#unblock());
    return this.#setUp(connection, attempt);
  }

  #unblock(): void {
    this.#blockedSinceMs = undefined;
    this.#settings.log.end(blocking, this.#place);
  }
}
