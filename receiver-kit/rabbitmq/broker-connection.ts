import { settledWithin } from "@workspace-tasks/kernel/with-timeout.ts";
import type { BrokerConnectionStats } from "@workspace-tasks/receiver-kit/parts";
import type { ChannelModel } from "amqplib";
import type { AmqpConnect } from "./amqp-client.ts";
import { type Attempt, closeMs, KeptOpen, type KeptSettings } from "./kept-open.ts";
import type { RabbitmqSettings } from "./rabbitmq-options.ts";

export interface ConnectionSettings
  extends KeptSettings,
    Pick<RabbitmqSettings, "urls" | "socketOptions" | "heartbeatSeconds"> {
  readonly connect: AmqpConnect;
}

const blocking = "RabbitMQ is short of memory or disk and reads nothing; free some on its nodes";

/** A connection to a cluster, replaced by one to the next node whenever it is lost, and what `setUp` makes of each. */
export abstract class BrokerConnection<
  Session,
  Settings extends ConnectionSettings = ConnectionSettings,
> extends KeptOpen<Session, Settings> {
  protected readonly incident = "RabbitMQ is unavailable, it is tried again";
  protected override readonly attempts = this.settings.urls.length;
  // Receivers spread over the nodes.
  #next = Math.floor(this.settings.random() * this.attempts);
  #blockedSinceMs: number | undefined;

  #host = "";

  protected abstract setUp(connection: ChannelModel, attempt: Attempt): Promise<Session>;

  protected get name(): string {
    return this.#host;
  }

  get stats(): BrokerConnectionStats {
    const nowMs = this.settings.clock.monotonic();
    return {
      // Without the password.
      node: this.session ? this.#host : null,
      lost: this.lost,
      unavailableForMs: this.session ? null : nowMs - this.closedSinceMs,
      blockedForMs: this.#blockedSinceMs === undefined ? null : nowMs - this.#blockedSinceMs,
    };
  }

  get isBlocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  protected async open(attempt: Attempt): Promise<Session> {
    const { clock, connect, heartbeatSeconds, log, operationTimeoutMs, socketOptions, urls } = this.settings;
    const { place } = this;
    const url = new URL(urls[this.#next++ % urls.length] as string);
    this.#host = url.host;
    url.searchParams.set("heartbeat", String(heartbeatSeconds));
    const socket = new AbortController();
    let connection: ChannelModel | undefined;
    attempt.onEnd(async () => {
      this.#blockedSinceMs = undefined;
      try {
        if (connection) await settledWithin(connection.close(), closeMs, clock);
      } finally {
        // Also one that is not open yet, or whose other end is silent.
        socket.abort();
      }
    });
    const fixed = { timeout: operationTimeoutMs, signal: socket.signal };
    connection = await connect(url.href, { noDelay: true, keepAlive: true, ...socketOptions, ...fixed });
    const unblock = () => {
      this.#blockedSinceMs = undefined;
      log.end(blocking, place);
    };
    // One that is still short of them says so again.
    unblock();
    connection.on("error", (error) => attempt.end(error));
    connection.on("close", (error) => attempt.end(error ?? new Error("the connection was closed")));
    connection.on("blocked", () => {
      this.#blockedSinceMs ??= clock.monotonic();
      log.add(blocking, place, url.host);
    });
    connection.on("unblocked", unblock);
    return this.setUp(connection, attempt);
  }
}
