// One connection to a cluster, replaced whenever it is lost.
//
//   idle ── start ──► connecting ── set up ──► ready          ready ── lost ──► connecting, at another node
//                     connecting ── failed ──► waiting ── backoff ──► connecting
//   any ── close ──► closed
//
// The nodes are tried in turn, and only after all of them have failed is there a pause, which doubles. `blocked` is a
// property of `ready`: the broker reads nothing more, and the connection stays open. Everything that is awaited has a
// limit, because a broker may stop responding without closing the connection.

import { type Deferred, deferred } from "@workspace-tasks/kernel/deferred.ts";
import { settledWithin, withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { isReceiverError, ReceiverError } from "@workspace-tasks/receiver-kit";
import { type BrokerConnectionStats, defaults } from "@workspace-tasks/receiver-kit/parts";
import type { AmqpConnect, AmqpConnection } from "./amqp.ts";
import { explain, type RabbitmqSettings } from "./topology.ts";

type Shared =
  | "urls"
  | "socketOptions"
  | "heartbeatSeconds"
  | "operationTimeoutMs"
  | "clock"
  | "random"
  | "logger";
export type BrokerConnectionSettings = Pick<RabbitmqSettings, Shared> & { readonly connect: AmqpConnect };

interface Work<Session> {
  /** What a new connection needs before it is ready. */
  setUp(connection: AmqpConnection): Promise<Session>;
  /** Called once for each session, before the next connection. */
  onLost(session: Session, error: Error): void;
}

/** A connection that lasted less than this counts as failed, so that one that is lost at once is not tried in a loop. */
const stableMs = 1_000;

export class BrokerConnection<Session> {
  readonly #settings: BrokerConnectionSettings;
  readonly #work: Work<Session>;
  #state: BrokerConnectionStats["state"] = "idle";
  #session: Session | undefined;
  #next: number;
  #node: string | null = null;
  #failures = 0;
  #lostCount = 0;
  #unavailableSinceMs: number;
  #blockedSinceMs: number | undefined;
  /** Resolves when there is a connection, or each node has failed. */
  #attempt: Deferred<void> = deferred();
  /** Of the open connection: resolves with why it was lost. */
  #lost: Deferred<Error> | undefined;
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #lastError: unknown;
  /** Of the first attempt at each node, and later of the latest attempt: `start()` rejects with it, so it is not logged too. */
  #setupError: ReceiverError | undefined;
  #startsWaiting = 0;

  constructor(settings: BrokerConnectionSettings, work: Work<Session>) {
    this.#settings = settings;
    this.#work = work;
    // Receivers spread over the nodes.
    this.#next = Math.floor(settings.random() * settings.urls.length);
    this.#unavailableSinceMs = settings.clock.monotonic();
  }

  get stats(): BrokerConnectionStats {
    const nowMs = this.#settings.clock.monotonic();
    return {
      state: this.#state,
      node: this.#state === "ready" ? this.#node : null,
      lost: this.#lostCount,
      unavailableForMs: this.#state === "ready" ? null : nowMs - this.#unavailableSinceMs,
      blockedForMs: this.#blockedSinceMs === undefined ? null : nowMs - this.#blockedSinceMs,
    };
  }

  get isBlocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  /**
   * Connects and stays connected until it is closed. Resolves after the first attempt at each node, also when all of them
   * failed: they are tried again.
   *
   * @throws {ReceiverError} `BROKER_SETUP_INVALID`
   */
  async start(): Promise<void> {
    this.#startsWaiting += 1;
    this.#running ??= this.#run();
    if (this.#isTrying) await this.#attempt.promise;
    this.#startsWaiting -= 1;
    if (!this.#session && this.#setupError) throw this.#setupError;
  }

  get #isTrying(): boolean {
    return this.#state === "idle" || this.#state === "connecting";
  }

  /**
   * The session, once there is one. Waits for an attempt in progress for up to `waitMs`, and for none that is due later.
   *
   * @throws {ReceiverError} `BROKER_UNAVAILABLE`
   */
  async session(waitMs: number): Promise<Session> {
    this.#running ??= this.#run();
    if (!this.#session && this.#isTrying) {
      await settledWithin(this.#attempt.promise, waitMs, this.#settings.clock);
    }
    if (this.#session) return this.#session;
    throw new ReceiverError("BROKER_UNAVAILABLE", "rabbitmq: there is no connection", {
      cause: this.#lastError,
    });
  }

  /** Gives up the open connection: it does not respond. */
  fail(error: Error): void {
    this.#lost?.resolve(error);
  }

  /** Closes the connection, within `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    this.#state = "closed";
    this.#wake?.();
    this.#lost?.resolve(new Error("closed"));
    if (this.#running) await settledWithin(this.#running, timeoutMs, this.#settings.clock);
  }

  async #run(): Promise<void> {
    const { clock, logger, urls } = this.#settings;
    while (!this.#isClosed) {
      this.#state = "connecting";
      const url = urls[this.#next % urls.length] as string;
      this.#next += 1;
      try {
        await this.#stayConnected(url);
      } catch (error) {
        this.#failures += 1;
        this.#lastError = error;
        if (isReceiverError(error, "BROKER_SETUP_INVALID")) this.#setupError = error;
        else if (this.#failures > urls.length) this.#setupError = undefined;
        const isThrown = this.#startsWaiting > 0 && this.#setupError !== undefined;
        if (!isThrown && (this.#failures === 1 || this.#failures % (10 * urls.length) === 0))
          logger.error(
            { err: error, node: nodeOf(url), failures: this.#failures },
            "RabbitMQ is unavailable",
          );
      }
      if (this.#isClosed) break;
      const hasTriedAll = this.#failures >= urls.length;
      if (hasTriedAll) {
        this.#state = "waiting";
        this.#endAttempt();
      }
      const { firstMs, maxMs } = defaults.rabbitmq.backoff;
      const backoffMs = Math.min(maxMs, firstMs * 2 ** Math.min(20, this.#failures - urls.length));
      // Receivers that lost the same node do not all return at the same instant.
      const delayMs = (hasTriedAll ? backoffMs : firstMs / 10) * (0.5 + this.#settings.random() / 2);
      await new Promise<void>((resolve) => {
        const cancel = clock.schedule(delayMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#endAttempt();
  }

  get #isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Resolves or rejects when the connection is lost; rejects when there was none. */
  async #stayConnected(url: string): Promise<void> {
    const { clock, logger, operationTimeoutMs } = this.#settings;
    const lost = deferred<Error>();
    this.#lost = lost;
    const connection = await this.#open(url, lost);
    const node = nodeOf(url);
    let session: Session;
    try {
      const late = () =>
        new ReceiverError(
          "BROKER_UNAVAILABLE",
          `rabbitmq: ${node} did not respond within operationTimeoutMs (${operationTimeoutMs})`,
        );
      // The connection's own error says more than that of the channel which it closed.
      const failed = lost.promise.then((error) => {
        throw error;
      });
      const setUp = Promise.race([this.#work.setUp(connection), failed]);
      session = await withTimeout(setUp, operationTimeoutMs, clock, late);
    } catch (error) {
      connection.destroy(asError(error));
      throw isReceiverError(error) ? error : explain(node, error);
    }
    const sinceMs = clock.monotonic();
    if (this.#failures > 0) logger.info({ node }, "RabbitMQ is available again");
    this.#node = node;
    this.#session = session;
    this.#setupError = undefined;
    if (!this.#isClosed) this.#state = "ready";
    this.#endAttempt();
    const error = await lost.promise;
    this.#session = undefined;
    if (!this.#isClosed) this.#state = "connecting";
    this.#blockedSinceMs = undefined;
    this.#unavailableSinceMs = clock.monotonic();
    this.#work.onLost(session, error);
    if (this.#isClosed) {
      await settledWithin(connection.close(), operationTimeoutMs, clock);
      connection.destroy(error);
      return;
    }
    connection.destroy(error);
    this.#lostCount += 1;
    this.#lastError = error;
    logger.warn({ err: error, node }, "the connection to RabbitMQ was lost");
    const wasStable = clock.monotonic() - sinceMs >= stableMs;
    this.#failures = wasStable ? 0 : this.#failures + 1;
  }

  async #open(url: string, lost: Deferred<Error>): Promise<AmqpConnection> {
    const { connect, clock, operationTimeoutMs, heartbeatSeconds, socketOptions } = this.#settings;
    const late = () =>
      new ReceiverError(
        "BROKER_UNAVAILABLE",
        `rabbitmq: ${nodeOf(url)} accepted no connection within operationTimeoutMs (${operationTimeoutMs})`,
      );
    const connecting = connect(url, { timeoutMs: operationTimeoutMs, heartbeatSeconds, socketOptions });
    const connection = await withTimeout(connecting, operationTimeoutMs, clock, late).catch((error) => {
      connecting.then(
        (unused) => unused.destroy(asError(error)),
        () => {},
      );
      throw error;
    });
    connection.on("error", (error) => lost.resolve(error));
    connection.on("close", (error) => lost.resolve(error ?? new Error("the connection was closed")));
    connection.on("blocked", (reason) => {
      if (this.#lost !== lost) return;
      this.#blockedSinceMs ??= clock.monotonic();
      this.#settings.logger.warn({ reason }, "RabbitMQ is short of resources and reads nothing");
    });
    connection.on("unblocked", () => {
      if (this.#lost === lost) this.#blockedSinceMs = undefined;
    });
    return connection;
  }

  #endAttempt(): void {
    this.#attempt.resolve();
    this.#attempt = deferred();
  }
}

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));

/** Host and port: a URL contains a password. */
function nodeOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    // It is rejected when it is used.
    return "";
  }
}
